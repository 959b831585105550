"""``/ws``: connects a client's screen to a WebSocket with binary frames."""

import asyncio
import resource
from typing import Final

from aiohttp import WSCloseCode, WSMsgType, web

from transcript_mcp.assistant.protocol import proto, wire
from transcript_mcp.assistant.protocol.limits import LARGEST, MOST_VALUES, SMALL
from transcript_mcp.assistant.protocol.offload import Offload
from transcript_mcp.assistant.protocol.screens import REPLIES, Screen, Screens

__all__ = ["Sockets"]

_HEARTBEAT: Final = 54.0
_PATIENCE: Final = 10.0
"""Seconds until a socket without a login is closed."""

_CLOSING: Final = 1.0
"""Seconds that a client gets for the closing handshake."""

_AT_ONCE: Final = 64
"""Replies of one client that may be in progress at the same time."""

_MOST_SOCKETS: Final = 1000
_MOST_STRANGERS: Final = 64

_MOST_WAITING: Final = 10_000
"""Frames that may wait for a client that does not read; then it is disconnected, and catches up after its next login.
"""

_MOST_BYTES: Final = 2 * LARGEST
_LITTLE_WAITING: Final = 1024 * 1024


class Sockets:
    """Serves the sockets of one hub.

    ``patience``: seconds that a socket may stay open without a login. At most half of this process's file descriptors
    are used, so that the hub can serve others, too.
    """

    def __init__(self, screens: Screens, *, patience: float = _PATIENCE) -> None:
        files = _files()
        self._screens = screens
        self._patience = patience
        self._most = min(_MOST_SOCKETS, files // 2)
        self._most_strangers = min(_MOST_STRANGERS, files // 8)
        self._open = 0
        self._strangers: dict[Screen, asyncio.Timeout] = {}
        """Screens that have not logged in yet, the oldest first."""
        self._aside = Offload()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """An aiohttp handler."""
        # Without compression, the size of a frame on the wire bounds its size in memory.
        socket = web.WebSocketResponse(heartbeat=_HEARTBEAT, max_msg_size=LARGEST, compress=False, timeout=_CLOSING)
        if not socket.can_prepare(request):
            return web.Response(status=426, headers={"Upgrade": "websocket"}, text="This is a WebSocket.\n")
        if self._open >= self._most or request.transport is None:
            return web.Response(status=503, headers={"Retry-After": "10"}, text="Too many sockets are open.\n")
        gate = ByteGate(request.transport, SMALL)
        self._open += 1
        try:
            await socket.prepare(request)
            await self._serve(socket, gate)
        finally:
            self._open -= 1
        return socket

    async def _serve(self, socket: web.WebSocketResponse, gate: "ByteGate") -> None:
        queue = FrameQueue(socket)
        screen = self._screens.connect(queue.put, queue.ready)
        writing = asyncio.create_task(queue.run())
        replies = _UnderWay()
        try:
            async with asyncio.timeout(self._patience) as patience:
                self._awaits_login(screen, patience)
                async for message in socket:
                    if message.type is WSMsgType.BINARY:  # the protocol has no text frames
                        await self._take(screen, message.data, replies)
                    if screen.scopes is not None and self._strangers.pop(screen, None):
                        patience.reschedule(None)
                        gate.open()
        except TimeoutError:
            await socket.close(code=WSCloseCode.POLICY_VIOLATION, message=b"log in at once")
        except wire.UnreadableError:
            await socket.close(code=WSCloseCode.INVALID_TEXT, message=b"not a WebsocketMessage")
        finally:
            self._strangers.pop(screen, None)
            self._screens.leave(screen)
            await replies.done()  # a reply counts even if its client disconnects right after it
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)

    def _awaits_login(self, screen: Screen, patience: asyncio.Timeout) -> None:
        """Give the screen time for a login. If too many wait, drop the oldest: clients with a token log in at once."""
        if len(self._strangers) >= self._most_strangers:
            self._strangers.pop(next(iter(self._strangers))).reschedule(asyncio.get_running_loop().time())
        self._strangers[screen] = patience

    async def _take(self, screen: Screen, data: bytes, replies: "_UnderWay") -> None:
        """Handle one frame. Raises UnreadableError."""
        most = MOST_VALUES if len(data) > SMALL else None
        try:
            frame = await self._aside(len(data), wire.decoded, proto.WebsocketMessage, data, most)
        except wire.TooManyValuesError as error:
            self._screens.refuse(screen, f"{error}.")
            return
        if frame.Cmd in REPLIES:
            await replies.room(len(data))
            replies.add(len(data), await self._screens.reply(screen, frame))
        else:
            await self._screens.handle(screen, frame)


class ByteGate(asyncio.Protocol):
    """Limits what a connection may send before its login.

    It takes the place of aiohttp's protocol object on the transport, passes ``most`` bytes on to it, and then stops
    reading, so that the rest waits in the socket. aiohttp's own limit on frames is fixed when the WebSocket opens, and
    has to allow the large frames that are legal after the login.
    """

    def __init__(self, transport: asyncio.Transport, most: int) -> None:
        self._transport = transport
        self._behind: Final = transport.get_protocol()
        self._left = most
        self._kept: list[bytes] = []
        transport.set_protocol(self)

    def open(self) -> None:
        """Pass everything on, and give the transport back to aiohttp."""
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


class FrameQueue:
    """Frames that wait to be sent to one client, so that a client that does not read holds up nobody else.

    ``put`` never waits. Whoever has many frames awaits ``ready`` between them.
    """

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self._socket = socket
        self._frames: asyncio.Queue[bytes] = asyncio.Queue()
        self._bytes = 0
        self._full = asyncio.Event()
        self._ready = asyncio.Event()
        self._ready.set()

    def put(self, frame: bytes) -> None:
        """Queue a frame. When the queue is full, the client is disconnected instead."""
        if self._frames.qsize() >= _MOST_WAITING or (self._bytes and self._bytes + len(frame) > _MOST_BYTES):
            self._full.set()
            return
        self._bytes += len(frame)
        self._frames.put_nowait(frame)
        if self._bytes > _LITTLE_WAITING:
            self._ready.clear()

    async def ready(self) -> None:
        """Wait until the client has read nearly all frames."""
        await self._ready.wait()

    async def run(self) -> None:
        """Send until the client disconnects or the queue is full."""
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
                return  # the client has disconnected
            self._bytes -= len(frame)
            if self._bytes <= _LITTLE_WAITING:
                self._ready.set()


class _UnderWay:
    """One client's replies in progress. Several are handled at once, up to a limit on their number and bytes."""

    def __init__(self) -> None:
        self._sizes: dict[asyncio.Task[None], list[int]] = {}

    async def room(self, size: int) -> None:
        """Wait until another reply of ``size`` bytes may begin."""
        while self._sizes and self._is_full(size):
            await asyncio.wait(self._sizes, return_when=asyncio.FIRST_COMPLETED)

    def add(self, size: int, task: "asyncio.Task[None] | None") -> None:
        """Count a reply that has begun; one task may handle several."""
        if task is not None and task not in self._sizes:
            self._sizes[task] = []
            task.add_done_callback(self._sizes.pop)
        if task is not None:
            self._sizes[task].append(size)

    async def done(self) -> None:
        if self._sizes:
            await asyncio.wait(self._sizes)

    def _is_full(self, size: int) -> bool:
        sizes = [each for sizes in self._sizes.values() for each in sizes]
        return len(sizes) >= _AT_ONCE or sum(sizes) + size > LARGEST


def _files() -> int:
    """The limit on this process's open file descriptors."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft if soft != resource.RLIM_INFINITY else 1_000_000
