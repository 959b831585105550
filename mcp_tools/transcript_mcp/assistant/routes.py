"""What the hub serves of this room beside MCP."""

from collections.abc import Iterable

from aiohttp import web

from transcript_mcp.assistant.connect import Calls
from transcript_mcp.assistant.schema import PACKAGE
from transcript_mcp.assistant.screens import Screens
from transcript_mcp.assistant.service import Assistant
from transcript_mcp.assistant.sockets import Sockets
from transcript_mcp.door.identity import Tokens

__all__ = ["routes"]


def routes(assistant: Assistant, tokens: Tokens) -> Iterable[web.AbstractRouteDef]:
    """Connect's calls and ``/ws``. Tokens are looked at here, where they stand: in the payloads."""
    calls, sockets = Calls(assistant, tokens), Sockets(Screens(assistant, tokens))
    return [
        web.route("*", f"/{{service:{PACKAGE}\\.[A-Za-z]+}}/{{method}}", calls.handle),
        web.get("/ws", sockets.handle),
        web.get("/health", _healthy),
    ]


async def _healthy(_request: web.Request) -> web.Response:
    """As programs of this protocol ask."""
    return web.Response(text="OK")
