"""A server for the tests of the MCP SDK's room, in a process of its own.

python tests/support/mcp_server.py             over stdio
python tests/support/mcp_server.py http        on a free port, which it prints; ends on SIGTERM and SIGINT
"""

# ruff: noqa: T201 - printing is what is tested

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from transcript_mcp.door.identity import Caller
from transcript_mcp.sdk import Context, HttpApp, Server, http_app, serve_stdio

if TYPE_CHECKING:
    from aiohttp import web

__all__ = ["build", "mount", "serve"]

_PATIENCE = 180.0  # as in support.waiting, which a script beside it cannot import

Word = Annotated[str, Field(description="Any text.")]
Uri = Annotated[str, Field(description="A resource's URI.")]


def build() -> Server:
    """Tools that behave and tools that do not."""
    server = Server("test-server", version="1.2.3", title="Test", instructions="For tests.")
    cancelled: list[str] = []
    server.tool(echo, read_only=True)
    server.tool(numbers, structured=True)
    server.tool(noise)
    server.tool(read_stdin)
    server.tool(hang)
    server.tool(ask)
    server.tool(sample)
    server.tool(work)
    server.tool(who)

    @server.tool
    async def wait(name: Word, ctx: Context) -> str:
        """Waits until it is cancelled, and remembers the name."""
        await ctx.progress(0, 1, "waiting")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(name)
            raise
        return ""

    @server.tool
    async def was_cancelled() -> list[str]:
        """The names that wait remembered."""
        return cancelled

    @server.tool
    def touch(uri: Uri) -> str:
        """Tells subscribers that a resource changed."""
        server.updated(uri)
        return "told"

    @server.tool
    def grow() -> str:
        """Tells all clients that the lists changed."""
        server.lists_changed()
        return "told"

    def chat(name: Word, limit: Annotated[int, Field(description="How many.")] = 20) -> dict[str, Any]:
        """A chat."""
        return {"name": name, "limit": limit}

    def greet(name: Word) -> str:
        """Greets somebody."""
        return f"Say hello to {name}."

    server.template("chat://{name}{?limit}", chat, mime_type="application/json")
    server.resource("chat://all", chats)
    server.prompt(greet)
    server.completion("greet", "name", lambda begun, others: [each for each in ("ada", "bo") if each.startswith(begun)])
    return server


def echo(text: Word) -> str:
    """Says it again."""
    return text


def numbers(count: Annotated[int, Field(description="How many.", le=9)]) -> list[int]:
    """Counts."""
    return list(range(count))


def noise() -> str:
    """Prints in every way there is."""
    print("printed")
    sys.stdout.flush()
    os.write(1, b"written\n")
    subprocess.run(["echo", "from a child"], check=True)
    return "quiet"


def read_stdin() -> str:
    """What a child finds on its stdin."""
    return repr(subprocess.run(["cat"], capture_output=True, timeout=_PATIENCE, check=True).stdout)


def hang() -> str:
    """Never ends."""
    threading.Event().wait()
    return ""


async def ask(ctx: Context) -> str:
    """Asks the person twice."""
    schema = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
    first = await ctx.elicit("First?", schema)
    second = await ctx.elicit("Second?", schema)
    return f"{first.action} {first.content.get('word')} {second.action} {second.content.get('word')}"


async def sample(ctx: Context) -> str:
    """Asks the model."""
    return await ctx.sample("Say something.", system="Be brief.", max_tokens=7)


async def work(ctx: Context) -> str:
    """Tells how it goes."""
    await ctx.progress(1, 2, "half")
    await ctx.log("debug", "details")
    await ctx.log("warning", "careful")
    return "done"


async def who(ctx: Context) -> str:
    """Tells who asks."""
    return f"{ctx.caller} with {ctx.client_name}"


def chats() -> str:
    """All chats."""
    return "one\ntwo"


def mount(
    app: "web.Application",
    http: HttpApp,
    *paths: str,
    caller: "Callable[[web.Request], Caller]" = lambda _request: Caller(),
) -> None:
    """Serve an MCP server under these paths through the hub's bridge alone, without what guards the hub."""
    from transcript_mcp.door.guard import CALLER
    from transcript_mcp.hub.asgi import AsgiApp

    bridge = AsgiApp(http)

    async def handle(request: "web.Request") -> "web.StreamResponse":
        request[CALLER] = caller(request)
        return await bridge.handle(request)

    async def run(_app: "web.Application") -> AsyncIterator[None]:
        async with http.running():
            yield

    async def close(_app: "web.Application") -> None:
        await bridge.close()

    app.cleanup_ctx.append(run)
    app.on_shutdown.append(close)
    for path in paths:
        app.router.add_route("*", path, handle)


async def serve() -> None:
    """On a free port, until a signal comes. The caller is whom the header names."""
    from aiohttp import web  # not needed over stdio

    def named(request: web.Request) -> Caller:
        name = request.headers.get("X-Caller")
        return Caller("program", name) if name else Caller()

    app = web.Application()
    mount(app, http_app(build()), "/mcp", caller=named)
    mount(app, http_app(build(), stateless=True, json=True), "/plain")
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (2, 15):
        loop.add_signal_handler(number, stop.set)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await stop.wait()
    began = time.monotonic()
    await runner.cleanup()
    print(f"stopped after {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    asyncio.run(serve() if "http" in sys.argv else serve_stdio(build()))
