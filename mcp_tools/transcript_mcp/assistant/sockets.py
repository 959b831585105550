"""``/ws``: a client's screen over a WebSocket, binary frames in both directions."""

import asyncio
import resource
from typing import Final

from aiohttp import WSCloseCode, WSMsgType, web

from transcript_mcp.assistant import proto, wire
from transcript_mcp.assistant.aside import Aside
from transcript_mcp.assistant.gate import Gate
from transcript_mcp.assistant.limits import LARGEST, MOST_VALUES, SMALL
from transcript_mcp.assistant.outlet import Outlet
from transcript_mcp.assistant.screens import REPLIES, Screen, Screens

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
        gate = Gate(request.transport, SMALL)
        self._open += 1
        try:
            await socket.prepare(request)
            await self._serve(socket, gate)
        finally:
            self._open -= 1
        return socket

    async def _serve(self, socket: web.WebSocketResponse, gate: Gate) -> None:
        outlet = Outlet(socket)
        screen = self._screens.connect(outlet.put, outlet.ready)
        writing = asyncio.create_task(outlet.run())
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
