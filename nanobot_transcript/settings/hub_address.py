"""Where programs on this machine find a hub, whatever address it was told to listen at."""

from typing import Final

from nanobot_transcript.errors import HubUnreachableError

__all__ = ["is_everywhere", "no_hub_at", "url_of"]

_CALLED: Final = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}
"""What stands for all addresses of a machine, and the one of them that a program on it calls."""


def is_everywhere(host: str) -> bool:
    """True for an address that stands for all of a machine."""
    return host.strip("[]") in _CALLED


def url_of(host: str, port: int) -> str:
    """``http://HOST:PORT`` of a hub that listens at ``host``; a number of IPv6 comes with or without brackets."""
    name = host.strip("[]")
    name = _CALLED.get(name, name)
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def no_hub_at(url: str, places: str) -> HubUnreachableError:
    """What to say when no hub answers there; ``places`` is what may lead elsewhere, for a person."""
    return HubUnreachableError(
        f"No hub answers at {url}.", hint=f"Start it with `nanobot-transcript serve`, or correct {places}."
    )
