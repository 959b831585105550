"""Serving over streamable HTTP: an ASGI app for one server, to be mounted by the hub."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from transcript_mcp.sdk.backend import HttpManager, HttpOptions, Receive, Scope, Send, backend
from transcript_mcp.sdk.calls import CALLER
from transcript_mcp.sdk.dispatch import Dispatch
from transcript_mcp.sdk.server import Server
from transcript_mcp.sdk.watch import Watch

if TYPE_CHECKING:
    from transcript_mcp.door.identity import Caller

__all__ = ["HttpApp", "http_app"]


class HttpApp:
    """Call it with ASGI requests inside of ``running()``; what path they came by does not matter.

    Put the ``Caller`` that asks into the scope under ``CALLER``; a session then belongs to the one who opened it.
    """

    def __init__(self, server: Server, options: HttpOptions, watch: Watch | None = None) -> None:
        self.server = server
        self._options = options
        self._watch = watch
        self._manager: HttpManager | None = None

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
        """Sessions live as long as this. It may be entered again after it ended."""
        ready, stop = asyncio.Event(), asyncio.Event()
        # A task of its own: the SDK wants to be left by the task that entered, and callers may be fixtures or hooks.
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
        manager = backend().http_manager(Dispatch(self.server, self._watch), self._options)
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

    With ``stateless`` every request stands for itself, without a session and so without updates. With ``json`` answers
    are single JSON documents instead of event streams, and nothing else can be sent while a tool works. Bodies above
    ``max_body`` bytes are refused; a session that nothing was heard of for ``idle_timeout`` seconds ends.
    ``allowed_hosts`` switches on the check of the Host and Origin headers (``name:*`` for any port) for apps that are
    not behind the hub, which checks them itself. ``watch`` is told of each tool that was called and each resource that
    was read.
    """
    hosts, origins = tuple(allowed_hosts), tuple(allowed_origins)
    return HttpApp(server, HttpOptions(stateless, json, max_body, idle_timeout, hosts, origins), watch)
