"""``/ws``: a client's screen over a WebSocket, binary frames in both directions."""

import asyncio
from typing import Final

from aiohttp import WSCloseCode, WSMsgType, web

from transcript_mcp.assistant import wire
from transcript_mcp.assistant.screens import REPLIES, Screens
from transcript_mcp.assistant.sizes import LARGEST

__all__ = ["Sockets"]

_HEARTBEAT: Final = 54.0
_MOST_WAITING: Final = 10_000
"""Frames that wait for a client that does not read; it is cut off then, and catches up when it comes again."""

_MOST_BYTES: Final = 2 * LARGEST
_AT_ONCE: Final = 64
"""Replies of one client that are written down at the same time."""


class Sockets:
    """Serves the sockets of one hub."""

    def __init__(self, screens: Screens) -> None:
        self._screens = screens

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """An aiohttp handler."""
        socket = web.WebSocketResponse(heartbeat=_HEARTBEAT, max_msg_size=LARGEST)
        if not socket.can_prepare(request):
            return web.Response(status=426, headers={"Upgrade": "websocket"}, text="This is a WebSocket.\n")
        await socket.prepare(request)
        outlet = _Outlet(socket)
        screen = self._screens.connect(outlet.put)
        writing = asyncio.create_task(outlet.run())
        replies: set[asyncio.Task[None]] = set()
        try:
            async for message in socket:
                if message.type is not WSMsgType.BINARY:
                    continue  # text means nothing here
                try:
                    frame = wire.decoded("WebsocketMessage", message.data)
                except wire.UnreadableError:
                    await socket.close(code=WSCloseCode.INVALID_TEXT, message=b"not a WebsocketMessage")
                    break
                if frame.Cmd not in REPLIES:
                    await self._screens.handle(screen, frame)
                    continue
                # Replies need not wait for each other: those of a burst are written to the disk together.
                if len(replies) >= _AT_ONCE:
                    await asyncio.wait(replies, return_when=asyncio.FIRST_COMPLETED)
                task = asyncio.create_task(self._screens.handle(screen, frame))
                replies.add(task)
                task.add_done_callback(replies.discard)
        finally:
            self._screens.leave(screen)
            if replies:
                await asyncio.wait(replies)  # what was said before the line was cut counts
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
        return socket


class _Outlet:
    """Frames on their way to one client. A client that does not read holds up nobody else."""

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self._socket = socket
        self._frames: asyncio.Queue[bytes] = asyncio.Queue()
        self._bytes = 0
        self._full = asyncio.Event()

    def put(self, frame: bytes) -> None:
        if self._frames.qsize() >= _MOST_WAITING or (self._bytes and self._bytes + len(frame) > _MOST_BYTES):
            self._full.set()
        else:
            self._bytes += len(frame)
            self._frames.put_nowait(frame)

    async def run(self) -> None:
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
