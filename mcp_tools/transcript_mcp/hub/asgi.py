"""Runs an ASGI app inside an aiohttp application, with bodies streamed in both directions.

Made for the MCP servers of ``transcript_mcp.sdk``. A client that disconnects in the middle of an answer is normal and
logs no traceback. When the application stops, open event streams end at once and running calls get half a second.
"""

import asyncio
import logging
from collections.abc import MutableMapping
from typing import Any

from aiohttp import web
from multidict import CIMultiDict

from transcript_mcp import sdk
from transcript_mcp.door.delivery import CLIENT_GONE, HttpReceiver
from transcript_mcp.door.guard import CALLER, shown_path
from transcript_mcp.door.waits import Waits
from transcript_mcp.sdk import HttpApp
from transcript_mcp.sdk.calls import RECEIVER

__all__ = ["GRACE", "AsgiApp", "asgi_scope"]

_log = logging.getLogger(__name__)

GRACE = 0.5
"""Seconds that running calls have when the application stops."""

_COLLECT = 0.005
"""Seconds for which an answer is collected. One that is complete by then is sent in one piece, with a length, which
saves a chunked response for most calls; everything else is streamed.
"""

_Message = MutableMapping[str, Any]


class AsgiApp:
    """Handles aiohttp's requests with an ASGI app."""

    def __init__(self, http: HttpApp) -> None:
        self._http = http
        self._open: dict[asyncio.Task[Any], _Exchange] = {}
        self._waits = Waits()

    async def handle(self, request: web.Request, body: bytes | None = None) -> web.StreamResponse:
        """An aiohttp handler. ``body`` is the request's body where it was read already."""
        with HttpReceiver(request) as receiver:
            return await self._exchange(request, body, receiver)

    async def _exchange(self, request: web.Request, body: bytes | None, receiver: HttpReceiver) -> web.StreamResponse:
        exchange = _Exchange(request, body, receiver, self._waits)
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = exchange
        scope = {**asgi_scope(request), RECEIVER: receiver}
        answering = asyncio.ensure_future(self._http(scope, exchange.receive, exchange.send))
        try:
            done, _ = await asyncio.wait((answering,), timeout=_COLLECT)
            if not done:
                await exchange.stream()
            await answering
        except ConnectionError:
            _log.debug("The client of %s disconnected", shown_path(request))
        finally:
            # aiohttp may cancel this handler; the app's task would go on without a reader, so it is ended here.
            answering.cancel()
            await asyncio.gather(answering, return_exceptions=True)
            del self._open[task]
        response = exchange.response()
        return await receiver.sent(response) if isinstance(response, web.Response) else response

    async def close(self) -> None:
        """End what is open: streams at once, calls after a moment."""
        for exchange in self._open.values():
            if exchange.is_standing:
                exchange.leave()
        if self._open:
            _, unfinished = await asyncio.wait(list(self._open), timeout=GRACE)
            for task in unfinished:
                task.cancel()


class _Exchange:
    """One request and its answer, as the two functions ``receive`` and ``send`` of ASGI."""

    def __init__(self, request: web.Request, body: bytes | None, receiver: HttpReceiver, waits: Waits) -> None:
        self._request = request
        self._waits = waits
        self._receiver = receiver
        self._body = body
        self._collecting = True
        self._collected: list[_Message] = []
        self._streamed: web.StreamResponse | None = None
        self._body_read = False
        self._left = asyncio.Event()

    @property
    def is_standing(self) -> bool:
        """True for the event stream that a client keeps open to receive notifications."""
        return self._request.method == "GET"

    def leave(self) -> None:
        """Tell the app that the client has gone."""
        self._left.set()

    async def receive(self) -> _Message:
        """The body in pieces, then ``http.disconnect`` once the client has left."""
        if not self._body_read and self._body is not None:
            self._body_read = True
            return {"type": "http.request", "body": self._body, "more_body": False}
        if not self._body_read:
            chunk = await self._request.content.readany()
            self._body_read = self._request.content.at_eof()
            return {"type": "http.request", "body": chunk, "more_body": not self._body_read}
        with self._waits.on_end(self._request, self.leave):
            await self._left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: _Message) -> None:
        """The answer in pieces. Ignored once the client has left, as ASGI asks."""
        if self._collecting:
            self._collected.append(message)
            return
        try:
            await self._pass_on(message)
        except ConnectionError:
            self.leave()

    async def stream(self) -> None:
        """Send what was collected, and from now on each piece as it comes."""
        while self._collected:
            await self._pass_on(self._collected.pop(0))
        self._collecting = False

    def response(self) -> web.StreamResponse:
        """The response for aiohttp: the one that was streamed, else all that was collected."""
        if self._streamed is not None:
            return self._streamed
        if not self._collected:
            return web.Response(status=CLIENT_GONE)  # for the log and metrics; the client is not there to see it
        start, *pieces = self._collected
        body = b"".join(piece.get("body", b"") for piece in pieces)
        return web.Response(status=start["status"], headers=_headers(start), body=body)

    async def _pass_on(self, message: _Message) -> None:
        if message["type"] == "http.response.start":
            self._streamed = web.StreamResponse(status=message["status"], headers=_headers(message))
            await self._streamed.prepare(self._request)
        elif message["type"] == "http.response.body":
            assert self._streamed is not None
            if body := message.get("body", b""):
                await self._streamed.write(body)
                self._receiver.written()
            if not message.get("more_body", False):
                await self._streamed.write_eof()


def _headers(start: _Message) -> CIMultiDict[str]:
    return CIMultiDict((name.decode("latin-1"), value.decode("latin-1")) for name, value in start["headers"])


def asgi_scope(request: web.Request) -> _Message:
    """The request as an ASGI scope, with the caller in it."""
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": f"{request.version.major}.{request.version.minor}",
        "method": request.method,
        "scheme": request.scheme,
        "path": request.path,
        "raw_path": request.rel_url.raw_path.encode("ascii"),
        "query_string": request.rel_url.raw_query_string.encode("ascii"),
        "root_path": "",
        "headers": [_spelled(name.lower(), value) for name, value in request.raw_headers],
        "client": _address(request, "peername"),
        "server": _address(request, "sockname"),
        sdk.CALLER: request[CALLER],
    }


def _spelled(name: bytes, value: bytes) -> tuple[bytes, bytes]:
    """A header for the SDK, which compares content types in lower case only."""
    return (name, value.lower()) if name == b"content-type" else (name, value)


def _address(request: web.Request, name: str) -> tuple[str, int] | None:
    transport = request.transport
    address = transport.get_extra_info(name) if transport is not None else None
    return (address[0], address[1]) if isinstance(address, tuple) else None
