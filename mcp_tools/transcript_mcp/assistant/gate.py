"""What a connection may send before it is known whose it is."""

import asyncio
from typing import Final

__all__ = ["Gate"]


class Gate(asyncio.Protocol):
    """Stands before who serves a connection, and lets ``most`` bytes through; the others wait in the socket.

    A WebSocket may have frames of any length later, and nothing in its server says how long they may be until then.
    """

    def __init__(self, transport: asyncio.Transport, most: int) -> None:
        self._transport = transport
        self._behind: Final = transport.get_protocol()
        self._left = most
        self._kept: list[bytes] = []
        transport.set_protocol(self)

    def open(self) -> None:
        """Let everything through, and stand aside."""
        self._transport.set_protocol(self._behind)
        self._transport.resume_reading()
        for data in self._kept:
            self._received(data)
        self._kept.clear()

    def data_received(self, data: bytes) -> None:
        through, kept = data[: self._left], data[self._left :]
        self._left -= len(through)
        if through:
            self._received(through)
        if kept:
            self._kept.append(kept)
            self._transport.pause_reading()

    def eof_received(self) -> bool | None:
        return self._behind.eof_received() if isinstance(self._behind, asyncio.Protocol) else None

    def connection_lost(self, exc: Exception | None) -> None:
        self._behind.connection_lost(exc)

    def pause_writing(self) -> None:
        self._behind.pause_writing()

    def resume_writing(self) -> None:
        self._behind.resume_writing()

    def _received(self, data: bytes) -> None:
        if isinstance(self._behind, asyncio.Protocol):
            self._behind.data_received(data)
