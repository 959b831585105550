"""Adds to the session managers of SDK 1.26 to 1.28 what that of 1.29 has.

A session can be used only by the caller who opened it, and ends when it is idle; bodies have a size limit. A call
without a session ends when it is cancelled.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.datastructures import Headers
from starlette.responses import JSONResponse

from transcript_mcp.sdk.backend import HttpOptions, Receive, Scope, Send
from transcript_mcp.sdk.calls import CALLER

__all__ = ["OlderManager"]

_SESSION: Final = "mcp-session-id"
_INVALID_REQUEST: Final = -32600


@dataclass
class _Session:
    owner: str | None
    in_flight: int = 0
    ending: asyncio.TimerHandle | None = None


class OlderManager:
    """Wraps the SDK's session manager."""

    def __init__(self, make: Callable[[], StreamableHTTPSessionManager], options: HttpOptions) -> None:
        self._make = make
        self._manager = make()
        self._options = options
        self._sessions: dict[str, _Session] = {}
        self._endings: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Sessions live inside this block. Can be entered once, as in the SDK."""
        async with self._manager.run():
            try:
                yield
            finally:
                for session in self._sessions.values():
                    if session.ending is not None:
                        session.ending.cancel()
                self._sessions.clear()

    async def handle_request(self, scope: Scope, receive: Receive, send: Send, /) -> None:
        """One ASGI request."""
        body = await _read(receive, self._options.max_body) if scope["method"] == "POST" else b""
        if body is None:
            await _refuse(413, "Request body too large", scope, receive, send)
            return
        arriving = _Replayed(body, receive) if scope["method"] == "POST" else receive
        named = None if self._options.stateless else Headers(scope=scope).get(_SESSION)
        if self._options.stateless:
            # A manager for each call: these versions leave a cancelled call's tasks running until their manager ends.
            manager = self._make()
            async with manager.run():
                await manager.handle_request(scope, arriving, send)
        elif named is None:
            await self._open(scope, arriving, send)
        else:
            await self._go_on(named, scope, arriving, send)

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> None:
        opened: list[tuple[int, str | None]] = []

        async def watched(message: Any) -> None:
            if message["type"] == "http.response.start":
                name = Headers(raw=list(message["headers"])).get(_SESSION)
                opened.append((message["status"], name))
                if name is not None and message["status"] < 400:
                    self._sessions[name] = _Session(scope.get(CALLER))
            await send(message)

        try:
            await self._manager.handle_request(scope, receive, watched)
        finally:
            for status, name in opened:
                if name is not None and status < 400:
                    self._rest(name)
                elif name is not None:
                    await self._end(name)

    async def _go_on(self, name: str, scope: Scope, receive: Receive, send: Send) -> None:
        session = self._sessions.get(name)
        if session is None or session.owner != scope.get(CALLER):
            # The same answer for a foreign session as for none: somebody who guesses ids must not learn of a hit.
            await _refuse(404, "Session not found", scope, receive, send)
            return
        session.in_flight += 1
        if session.ending is not None:
            session.ending.cancel()
        try:
            await self._manager.handle_request(scope, receive, send)
        finally:
            session.in_flight -= 1
            if scope["method"] == "DELETE":
                self._forget(name)
            else:
                self._rest(name)

    def _rest(self, name: str) -> None:
        """Start the idle timer, unless another request of the session is still running."""
        session = self._sessions.get(name)
        if session is not None and not session.in_flight:
            loop = asyncio.get_running_loop()
            session.ending = loop.call_later(self._options.idle_timeout, self._end_later, name)

    def _end_later(self, name: str) -> None:
        self._sessions.pop(name, None)
        ending = asyncio.get_running_loop().create_task(self._end(name))
        self._endings.add(ending)
        ending.add_done_callback(self._endings.discard)

    async def _end(self, name: str) -> None:
        """End a session as its client would, with a DELETE."""
        headers = [(_SESSION.encode(), name.encode()), (b"accept", b"application/json, text/event-stream")]
        scope = {"type": "http", "method": "DELETE", "path": "/", "query_string": b"", "headers": headers}
        await self._manager.handle_request(scope, _Replayed(b"", _never), _nobody)
        self._forget(name)

    def _forget(self, name: str) -> None:
        self._sessions.pop(name, None)
        # These versions never drop an ended session by themselves.
        self._manager._server_instances.pop(name, None)  # pyright: ignore[reportPrivateUsage]


@dataclass(eq=False)
class _Replayed:
    """An ASGI ``receive`` that repeats a body that was already read, then passes on what follows."""

    body: bytes | None
    receive: Receive

    async def __call__(self) -> Any:
        body, self.body = self.body, None
        if body is not None:
            return {"type": "http.request", "body": body, "more_body": False}
        return await self.receive()


async def _read(receive: Receive, most: int) -> bytes | None:
    """The body, None when it is larger than ``most`` bytes."""
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > most:
            return None
        if message["type"] != "http.request" or not message.get("more_body", False):
            return b"".join(pieces)


async def _refuse(status: int, sentence: str, scope: Scope, receive: Receive, send: Send) -> None:
    error = {"jsonrpc": "2.0", "id": "server-error", "error": {"code": _INVALID_REQUEST, "message": sentence}}
    await JSONResponse(error, status_code=status)(scope, receive, send)


async def _never() -> Any:
    return {"type": "http.disconnect"}


async def _nobody(_message: Any) -> None:
    return None
