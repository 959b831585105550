"""Checks the Host and Origin headers of requests to the hub.

Any web page can make a visitor's browser send requests to this machine, and by DNS rebinding even read the answers. So
both headers are checked before anything else of a request.
"""

import ipaddress
import re
from collections.abc import Iterable
from typing import Final

from transcript_mcp.door.errors import RequestError

__all__ = ["Addresses", "is_loopback"]

_THIS_MACHINE: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_HOST: Final = re.compile(r"(\[(?P<number>[0-9a-f:.]+)\]|(?P<name>[^\s\[\]@:/?#\\]+))(:[0-9]{1,5})?")


class Addresses:
    """The names of one hub. ``host``: where it listens. ``hosts`` (``name`` or ``name:port``) and ``origins``: accepted
    besides its own.
    """

    def __init__(self, host: str, hosts: Iterable[str] = (), origins: Iterable[str] = ()) -> None:
        self._local_only: bool = is_loopback(host)
        self._hosts: frozenset[str] = frozenset(name.lower() for name in (host.strip("[]"), *hosts))
        self._origins: frozenset[str] = frozenset(origin.lower().rstrip("/") for origin in origins)

    def require(self, host: str | None, origin: str | None) -> None:
        """Raise RequestError for a request with a wrong Host, or from a page of another site."""
        if not self._knows_host(host):
            raise RequestError(
                421,
                "wrong_host",
                "The hub does not accept the host name that this request was sent to.",
                "Use 127.0.0.1 or localhost, or add the name to hub.allowed_hosts.",
            )
        if origin is not None and not self._knows_origin(origin, host or ""):
            raise RequestError(
                403,
                "wrong_origin",
                "Web pages from other sites may not call the hub.",
                "If the page is yours, add its origin to hub.allowed_origins.",
            )

    def _knows_host(self, host: str | None) -> bool:
        if not host:
            return False
        host = host.lower()
        name = _name_of(host)
        if not name:
            return False
        if name in _THIS_MACHINE or host in self._hosts or name in self._hosts:
            return True
        # DNS rebinding needs a name, so an IP address in Host was typed by somebody who meant this hub.
        return not self._local_only and _is_number(name)

    def _knows_origin(self, origin: str, host: str) -> bool:
        origin = origin.lower().rstrip("/")
        scheme, _, address = origin.partition("://")
        return origin in self._origins or (scheme in ("http", "https") and address == host.lower())


def is_loopback(host: str) -> bool:
    """True for an address that only this machine can reach."""
    name = host.strip("[]").lower()
    return name == "localhost" or (_is_number(name) and ipaddress.ip_address(name).is_loopback)


def _name_of(host: str) -> str:
    """The name in ``name:port``, ``[::1]:port`` or either without a port; empty when it is none of these."""
    if _is_number(host):
        return host
    written = _HOST.fullmatch(host)
    return (written["number"] or written["name"]) if written else ""


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
