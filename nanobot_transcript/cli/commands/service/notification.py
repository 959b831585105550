"""Telling systemd, where it has started this process, that the work has begun."""

import contextlib
import os
import socket

__all__ = ["tell_ready"]


def tell_ready() -> None:
    """Say so to the socket of ``NOTIFY_SOCKET``: until then a service is starting. Never raises."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):  # a name that is no file
        address = f"\0{address[1:]}"
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
        notified.connect(address)
        notified.send(b"READY=1")
