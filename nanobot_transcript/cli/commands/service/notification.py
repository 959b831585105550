"""Tells systemd, if it started this process, that the service is ready (``sd_notify``)."""

import contextlib
import os
import socket

__all__ = ["tell_ready"]


def tell_ready() -> None:
    """Send ``READY=1`` to the socket in ``NOTIFY_SOCKET``; until then the service counts as starting. Never raises."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):  # a socket in the abstract namespace
        address = f"\0{address[1:]}"
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
        notified.connect(address)
        notified.send(b"READY=1")
