"""``/ws``: a client's screen over a WebSocket, binary frames in both directions."""

import asyncio
import resource
from typing import Final

from aiohttp import WSCloseCode, WSMsgType, web

from transcript_mcp.assistant.protocol import proto, wire
from transcript_mcp.assistant.protocol.limits import LARGEST, MOST_VALUES, SMALL
from transcript_mcp.assistant.protocol.offload import Aside
from transcript_mcp.assistant.protocol.screens import REPLIES, Screen, Screens

__all__ = ["Sockets"]

_HEARTBEAT: Final = 54.0
_PATIENCE: Final = 10.0
"""Seconds until a socket without a login is closed."""

_CLOSING: Final = 1.0
"""Seconds that a client has to say goodbye."""

_AT_ONCE: Final = 64
"""Replies of one client that are written down at the same time."""

_MOST_SOCKETS: Final = 1000
_MOST_STRANGERS: Final = 64

_MOST_WAITING: Final = 10_000
"""Frames that wait for a client that does not read; it is cut off then, and catches up when it comes again."""

_MOST_BYTES: Final = 2 * LARGEST
_LITTLE_WAITING: Final = 1024 * 1024


class Sockets:
    """Serves the sockets of one hub.

    ``patience`` is how many seconds a socket may go without a login. Half of the files that this process may have open
    are left to all others whom the hub serves.
    """

    def __init__(self, screens: Screens, *, patience: float = _PATIENCE) -> None:
        files = _files()
        self._screens = screens
        self._patience = patience
        self._most = min(_MOST_SOCKETS, files // 2)
        self._most_strangers = min(_MOST_STRANGERS, files // 8)
        self._open = 0
        self._strangers: dict[Screen, asyncio.Timeout] = {}
        """Who has not logged in, the oldest first."""
        self._aside = Aside()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """An aiohttp handler."""
        # Nothing is packed: what is short on the line stays so in memory.
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
                    if message.type is WSMsgType.BINARY:  # text means nothing here
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
            await replies.done()  # what was said before the line was cut counts
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)

    def _awaits_login(self, screen: Screen, patience: asyncio.Timeout) -> None:
        """Where too many do, the one that has had the most time goes: whoever has a token logs in at once."""
        if len(self._strangers) >= self._most_strangers:
            self._strangers.pop(next(iter(self._strangers))).reschedule(asyncio.get_running_loop().time())
        self._strangers[screen] = patience

    async def _take(self, screen: Screen, data: bytes, replies: "_UnderWay") -> None:
        """One frame. Raises UnreadableError."""
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
    """What a connection may send before it is known whose it is.

    Stands before who serves a connection, and lets ``most`` bytes through; the others wait in the socket.

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


class FrameQueue:
    """Frames on their way to one client. A client that does not read holds up nobody else.

    Takes frames without waiting. ``ready`` is for those who have many, and can wait.
    """

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
        if self._bytes > _LITTLE_WAITING:
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
            if self._bytes <= _LITTLE_WAITING:
                self._ready.set()


class _UnderWay:
    """Those of one client that are being written down. Those of a burst need not wait for each other."""

    def __init__(self) -> None:
        self._sizes: dict[asyncio.Task[None], list[int]] = {}

    async def room(self, size: int) -> None:
        """Wait until one more, of so many bytes, may begin."""
        while self._sizes and self._is_full(size):
            await asyncio.wait(self._sizes, return_when=asyncio.FIRST_COMPLETED)

    def add(self, size: int, task: "asyncio.Task[None] | None") -> None:
        """One that has begun; the same task may stand for several."""
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
    """How many files and sockets this process may have open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft if soft != resource.RLIM_INFINITY else 1_000_000
