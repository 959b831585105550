"""One MCP server at one address of the hub: sessions for MCP clients, single answers for curl."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from aiohttp import web

from transcript_mcp.door.bodies import whole_body
from transcript_mcp.door.delivery import HttpReceiver
from transcript_mcp.door.errors import RequestError
from transcript_mcp.door.guard import CALLER
from transcript_mcp.door.waits import StoppingError, Waits
from transcript_mcp.hub.asgi import GRACE, AsgiApp, asgi_scope
from transcript_mcp.hub.plain_calls import (
    VERSION,
    answer_plainly,
    begins_session,
    fields_on_top,
    is_plain,
    json_bytes,
    parsed,
)
from transcript_mcp.hub.sessions import McpSessions
from transcript_mcp.sdk import Server, Watch, http_app
from transcript_mcp.sdk.calls import RECEIVER
from transcript_mcp.sdk.direct import Direct, is_tool_call
from transcript_mcp.sdk.dispatch import PARSE_ERROR

__all__ = ["Mount"]


class Mount:
    """Handles the requests to one address. ``names`` are the servers behind it, ``watch`` hears of each call,
    ``sessions`` limits how many sessions may be open.
    """

    def __init__(self, server: Server, names: list[str], max_body: int, watch: Watch, sessions: McpSessions) -> None:
        self.names = names
        self._open = sessions
        self._sessions = http_app(server, max_body=max_body, watch=watch)
        self._plain = http_app(server, stateless=True, json=True, max_body=max_body, watch=watch)
        self._direct = Direct(server, watch)
        self._bridge = AsgiApp(self._sessions)
        self._arriving, self._calls = Waits(), Waits()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Requests are answered inside of this."""
        async with self._sessions.running(), self._plain.running():
            try:
                yield
            finally:
                await self._bridge.close()

    async def close(self) -> None:
        """End open requests, so that the process can stop."""
        await asyncio.gather(self._bridge.close(), self._arriving.close(0), self._calls.close(GRACE))

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """An aiohttp handler."""
        if request.method != "POST":
            return await self._open.go_on(request, partial(self._bridge.handle, request))
        if request.content_type.lower() != "application/json":
            hint = "With curl: -H 'Content-Type: application/json'."
            raise RequestError(415, "not_json", "A call must be JSON, with that Content-Type.", hint)
        try:
            return await self._answer(request, await self._arriving.until(request, whole_body(request)))
        except StoppingError as error:
            raise RequestError(503, "stopping", "The hub is stopping.", "Call again when it is running.") from error

    async def _answer(self, request: web.Request, body: bytes) -> web.StreamResponse:
        try:
            message = parsed(body)
        except (ValueError, RecursionError):
            return web.json_response(PARSE_ERROR, status=400)
        if not is_plain(request.headers, message):
            answering = partial(self._bridge.handle, request, body)
            begins = begins_session(request.headers, message)
            return await (self._open.begin(answering) if begins else self._open.go_on(request, answering))
        with HttpReceiver(request) as receiver:
            answering = self._plainly(request, message, body, receiver)
            return await receiver.sent(await self._calls.until(request, answering))

    async def _plainly(self, request: web.Request, message: Any, body: bytes, receiver: HttpReceiver) -> web.Response:
        if VERSION not in request.headers and is_tool_call(message):
            document = await self._direct.answer(message, request[CALLER], receiver)
            return web.Response(body=json_bytes(fields_on_top(document)), content_type="application/json")
        scope = {**asgi_scope(request), RECEIVER: receiver}
        status, headers, answer = await answer_plainly(self._plain, scope, body)
        kind = headers.get("content-type", "application/json").partition(";")[0]
        return web.Response(status=status, body=answer, content_type=kind)
