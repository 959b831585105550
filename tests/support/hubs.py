"""A hub on a free port of this machine, with small servers in it."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Annotated, Any, Self

from aiohttp import web
from pydantic import Field
from support.waiting import PATIENCE

from nanobot_transcript.errors import ConfigError
from transcript_mcp.sdk import Context, Server

__all__ = ["Served", "listening", "mailbox_server", "small_server"]


def small_server(name: str = "small") -> Server:
    """Tools that say who asks, fail, and take their time; a resource."""
    server = Server(name, version="1.0")

    @server.tool
    def whoami(ctx: Context) -> dict[str, Any]:
        """Who asks."""
        return {"caller": ctx.caller, "name": "蓝湖"}

    @server.tool
    def refuse() -> str:
        """Fails as the product does."""
        raise ConfigError("There is no such thing.", hint="Make one.")

    @server.tool
    async def wait(seconds: Annotated[float, Field(description="How long.")], ctx: Context) -> str:
        """Takes its time."""
        await ctx.progress(0, seconds)
        await asyncio.sleep(seconds)
        return "done"

    def inbox(
        agent: Annotated[str, Field(description="Whose.")],
        limit: Annotated[int, Field(description="How many.")] = 1,
    ) -> dict[str, Any]:
        """An inbox."""
        return {"agent": agent, "limit": limit}

    server.template("resource://inbox/{agent}{?limit}", inbox, mime_type="application/json")
    return server


def mailbox_server() -> Server:
    """Stands for the mailboxes, which some tokens open alone."""
    server = Server("filebox", version="1.0")

    @server.tool
    def mine(ctx: Context) -> dict[str, Any]:
        """Whose mailbox it is."""
        return {"caller": ctx.caller}

    return server


@asynccontextmanager
async def listening(app: web.Application, port: int = 0, *, grace: float = 1.0) -> AsyncIterator[str]:
    """The address of an application that listens, on a free port unless one is given.

    ``grace`` are the seconds that requests under way have at the end.
    """
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=grace)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


class Served:
    """A hub in a thread of its own, for tests whose calls wait in theirs; ``address`` is where it listens."""

    def __init__(self, serve: AbstractAsyncContextManager[str]) -> None:
        self.address = ""
        self._serve = serve
        self._loop = asyncio.new_event_loop()
        self._ready, self._end = threading.Event(), asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._work(),))

    async def _work(self) -> None:
        async with self._serve as self.address:
            self._ready.set()
            await self._end.wait()

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(PATIENCE)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(PATIENCE)
        self._loop.close()
