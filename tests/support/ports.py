"""Ports for programs that are told theirs before they listen: to be started anew there, or as a page prints it."""

import fcntl
import os
import socket
from contextlib import suppress
from pathlib import Path
from tempfile import gettempdir

__all__ = ["free_port"]

_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_BELOW = range(10_000, int(_RANGE.read_text().split()[0]) if _RANGE.exists() else 32_768)
"""Below those that the system gives to outgoing connections, and to whoever asks for any."""

_LAST = Path(gettempdir(), f"nanobot-transcript-tests-port-{os.getuid()}")
"""The last one that any process of tests was given."""


def free_port() -> int:
    """A port of this machine on which nobody listens, and which no other test is about to listen on."""
    while True:
        port = _next()
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def _next() -> int:
    """One after the other, so that a port comes again only when all others were given out."""
    with _LAST.open("a+", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        last = file.read()
        port = int(last) + 1 if last.isdecimal() else _BELOW.start
        port = port if port in _BELOW else _BELOW.start
        file.truncate(0)
        file.write(str(port))
    return port
