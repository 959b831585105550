"""Frames on their way to one client. A client that does not read holds up nobody else."""

import asyncio
from typing import Final

from aiohttp import WSCloseCode, web

from transcript_mcp.assistant.limits import LARGEST

__all__ = ["Outlet"]

_MOST_WAITING: Final = 10_000
"""Frames that wait for a client that does not read; it is cut off then, and catches up when it comes again."""

_MOST_BYTES: Final = 2 * LARGEST
_LITTLE: Final = 1024 * 1024


class Outlet:
    """Takes frames without waiting. ``ready`` is for those who have many, and can wait."""

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self._socket = socket
        self._frames: asyncio.Queue[bytes] = asyncio.Queue()
        self._bytes = 0
        self._full = asyncio.Event()
        self._ready = asyncio.Event()
        self._ready.set()

    def put(self, frame: bytes) -> None:
        """Send it after those before it."""
        if self._frames.qsize() >= _MOST_WAITING or (self._bytes and self._bytes + len(frame) > _MOST_BYTES):
            self._full.set()
            return
        self._bytes += len(frame)
        self._frames.put_nowait(frame)
        if self._bytes > _LITTLE:
            self._ready.clear()

    async def ready(self) -> None:
        """Until the client has read nearly all that was put."""
        await self._ready.wait()

    async def run(self) -> None:
        """Send, until the client has gone or has read too little."""
        sending, full = asyncio.create_task(self._send()), asyncio.create_task(self._full.wait())
        try:
            await asyncio.wait((sending, full), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, full):
                task.cancel()
            await asyncio.gather(sending, full, return_exceptions=True)
        await self._socket.close(code=WSCloseCode.TRY_AGAIN_LATER)

    async def _send(self) -> None:
        while True:
            frame = await self._frames.get()
            try:
                await self._socket.send_bytes(frame)
            except (ConnectionError, RuntimeError):
                return  # the client has gone
            self._bytes -= len(frame)
            if self._bytes <= _LITTLE:
                self._ready.set()
