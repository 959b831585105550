"""Where programs on this machine find a hub, whatever address it listens on."""

from typing import Final

from nanobot_transcript.errors import HubUnreachableError

__all__ = ["is_everywhere", "no_hub_at", "url_of"]

_REACHED_AT: Final = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}
"""Addresses that stand for all of a machine (a server can listen on them, no client can connect to them), and the one
that a program on the same machine connects to."""


def is_everywhere(host: str) -> bool:
    """True for an address that stands for all of a machine."""
    return host.strip("[]") in _REACHED_AT


def url_of(host: str, port: int) -> str:
    """``http://HOST:PORT`` of a hub that listens on ``host``; an IPv6 address may have brackets or not."""
    name = host.strip("[]")
    name = _REACHED_AT.get(name, name)
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def no_hub_at(url: str, places: str) -> HubUnreachableError:
    """The error when no hub answers there; ``places`` names what the person can correct to point elsewhere."""
    return HubUnreachableError(
        f"No hub answers at {url}.", hint=f"Start it with `nanobot-transcript serve`, or correct {places}."
    )
