"""Serving over streamable HTTP: an ASGI app for one server, to be mounted by the hub."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from transcript_mcp.sdk.backend import HttpManager, HttpOptions, Receive, Scope, Send, backend
from transcript_mcp.sdk.calls import CALLER
from transcript_mcp.sdk.dispatch import Dispatch
from transcript_mcp.sdk.server import Server
from transcript_mcp.sdk.watch import Watch

if TYPE_CHECKING:
    from transcript_mcp.door.identity import Caller

__all__ = ["HttpApp", "http_app"]


@dataclass(eq=False)
class HttpApp:
    """Call it with ASGI requests within ``running()``; the path does not matter.

    Put the authenticated ``Caller`` into the scope under ``CALLER``; then only the caller who opened a session can use
    it.
    """

    server: Server
    options: HttpOptions
    watch: Watch | None = None
    _manager: HttpManager | None = field(default=None, init=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if self._manager is None:
            raise RuntimeError("requests are answered inside of running() only")
        caller: Caller | None = scope.get(CALLER)
        if caller is not None and caller.text is not None:
            scope["user"] = backend().user(caller.text)
        await self._manager.handle_request(scope, receive, send)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Sessions live inside this block. It may be entered again after it ended."""
        ready, stop = asyncio.Event(), asyncio.Event()
        # In a task of its own: the SDK's task group must be left by the task that entered it, but fixtures and
        # aiohttp's hooks may enter and leave in different tasks.
        running = asyncio.create_task(self._run(ready, stop))
        starting = asyncio.create_task(ready.wait())
        await asyncio.wait((running, starting), return_when=asyncio.FIRST_COMPLETED)
        starting.cancel()
        try:
            if not running.done():
                yield
        finally:
            stop.set()
            await running

    async def _run(self, ready: asyncio.Event, stop: asyncio.Event) -> None:
        manager = backend().http_manager(Dispatch(self.server, self.watch), self.options)
        async with manager.run():
            self._manager = manager
            ready.set()
            try:
                await stop.wait()
            finally:
                self._manager = None


def http_app(
    server: Server,
    *,
    stateless: bool = False,
    json: bool = False,
    max_body: int = HttpOptions.max_body,
    idle_timeout: float = HttpOptions.idle_timeout,
    allowed_hosts: Sequence[str] = (),
    allowed_origins: Sequence[str] = (),
    watch: Watch | None = None,
) -> HttpApp:
    """The server as an ASGI app.

    With ``stateless`` there are no sessions and so no updates. With ``json`` answers are single JSON documents instead
    of event streams, so nothing else can be sent while a tool is running. Bodies above ``max_body`` bytes are refused;
    a session ends after ``idle_timeout`` seconds without a request. ``allowed_hosts`` turns on the check of the Host
    and Origin headers (``name:*`` for any port), for apps that are not behind the hub, which has its own. ``watch``
    hears of each tool call and each reading of a resource.
    """
    hosts, origins = tuple(allowed_hosts), tuple(allowed_origins)
    return HttpApp(server, HttpOptions(stateless, json, max_body, idle_timeout, hosts, origins), watch)
