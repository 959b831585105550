"""Ports for programs that are told theirs before they listen: to be started anew there, or as a page prints it."""

import random
import socket
from contextlib import suppress
from pathlib import Path

__all__ = ["free_port"]

_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_BELOW = range(10_000, int(_RANGE.read_text().split()[0]) if _RANGE.exists() else 32_768)
"""Below those that the system gives to outgoing connections, and to whoever asks for any."""

_DICE = random.SystemRandom()
"""Not the one that a test may have seeded: its neighbour in another process would throw the same."""


def free_port() -> int:
    """A port of this machine on which nobody listens."""
    while True:
        port = _DICE.choice(_BELOW)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
