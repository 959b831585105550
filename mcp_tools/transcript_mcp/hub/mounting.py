"""One MCP server at one address of the hub: sessions for clients, plain answers for curl."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from aiohttp import web

from transcript_mcp.hub.bridge import Bridge, asgi_scope
from transcript_mcp.hub.guarding import error_response
from transcript_mcp.hub.observing import CALLER
from transcript_mcp.hub.plain import answer_plainly, is_plain
from transcript_mcp.sdk import Server, Watch, http_app

__all__ = ["Mount"]

_PARSE_ERROR: Final = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}}


class Mount:
    """Handles the requests to one address. ``names`` are the servers behind it, for who may use them;
    ``watch`` is told what they do."""

    def __init__(self, server: Server, names: list[str], max_body: int, watch: Watch) -> None:
        self._names = names
        self._sessions = http_app(server, max_body=max_body, watch=watch)
        self._plain = http_app(server, stateless=True, json=True, max_body=max_body, watch=watch)
        self._bridge = Bridge(self._sessions, _identity)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Requests are answered inside of this."""
        async with self._sessions.running(), self._plain.running():
            try:
                yield
            finally:
                await self._bridge.close()

    async def close(self) -> None:
        """End open streams, so that the process need not wait for them."""
        await self._bridge.close()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """An aiohttp handler."""
        if not request[CALLER].may_use(self._names):
            hint = f"It opens /mcp/filebox only, not {request.path}."
            return error_response(403, "not_for_this_token", "This token stands for a mailbox agent.", hint)
        if request.method != "POST":
            return await self._bridge.handle(request)
        if request.content_type != "application/json":
            hint = "With curl: -H 'Content-Type: application/json'."
            return error_response(415, "not_json", "A call is JSON and says so.", hint)
        body = await request.read()
        try:
            message = json.loads(body)
        except (ValueError, RecursionError):
            return web.json_response(_PARSE_ERROR, status=400)
        if not is_plain(request.headers, message):
            return await self._bridge.handle(request, body)
        scope = asgi_scope(request, _identity(request))
        status, headers, answer = await answer_plainly(self._plain, scope, body)
        return web.Response(
            status=status, body=answer, content_type=headers.get("content-type", "application/json").partition(";")[0]
        )


def _identity(request: web.Request) -> str | None:
    return request[CALLER].identity
