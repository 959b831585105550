"""Ports for programs that are told theirs before they listen: to be started anew there, or as a page prints it."""

import random
import socket
from contextlib import suppress

__all__ = ["free_port"]

_BELOW = range(20_000, 32_000)
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
