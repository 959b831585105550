"""The servers that ``mcp_calls`` measures: ours, and one built with the SDK's own high-level class.

    python -m benchmarks.mcp_servers ours|sdk stdio|http

Each offers one tool that does nothing. Over HTTP the first line of stdout is the port.
"""

import asyncio
import socket
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transcript_mcp.sdk import Server

__all__: list[str] = []


def main(kind: str, place: str) -> None:
    {"ours": ours, "sdk": sdk}[kind](place)


def ours(place: str) -> None:
    from transcript_mcp.sdk import Server, serve_stdio

    async def nothing() -> str:
        """Does nothing."""
        return ""

    server = Server("bench", version="1.0")
    server.tool(nothing)
    asyncio.run(serve_stdio(server) if place == "stdio" else _bridged(server))


async def _bridged(server: "Server") -> None:
    from aiohttp import web

    from transcript_mcp.door.guard import CALLER
    from transcript_mcp.door.identity import Caller
    from transcript_mcp.hub.asgi import AsgiApp
    from transcript_mcp.sdk import http_app

    http, app = http_app(server), web.Application()
    bridge = AsgiApp(http)

    async def handle(request: web.Request) -> web.StreamResponse:
        request[CALLER] = Caller()  # nothing guards this one
        return await bridge.handle(request)

    app.router.add_route("*", "/mcp", handle)
    runner = web.AppRunner(app, access_log=None)
    async with http.running():
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        print(runner.addresses[0][1], flush=True)
        await asyncio.Event().wait()


def sdk(place: str) -> None:
    from mcp.server.fastmcp import FastMCP

    server = FastMCP("bench", log_level="ERROR")

    @server.tool()
    async def nothing() -> str:
        """Does nothing."""
        return ""

    if place == "stdio":
        server.run()
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        server.settings.port = free.getsockname()[1]
    print(server.settings.port, flush=True)
    server.run("streamable-http")


if __name__ == "__main__":
    main(*sys.argv[1:])
