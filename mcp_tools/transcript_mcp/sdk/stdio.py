"""Serving a client over this process's stdin and stdout."""

import asyncio
import contextlib
from collections import Counter
from typing import Any

from transcript_mcp.sdk.backend import backend
from transcript_mcp.sdk.content import Wire
from transcript_mcp.sdk.dispatch import Dispatch
from transcript_mcp.sdk.server import Server
from transcript_mcp.sdk.shortcut import Shortcut
from transcript_mcp.sdk.streams import Lines, Outlet, claimed_streams, signals_set

__all__ = ["serve_stdio"]

_GRACE = 0.5
"""Seconds that requests may take which were asked before stdin ended."""

_WINDING_UP = 0.25
"""Seconds that the SDK has to end what it holds."""


async def serve_stdio(server: Server) -> None:
    """Serve until stdin ends, stdout is closed, or SIGTERM or SIGINT comes; returns within a second of that."""
    stop = asyncio.Event()
    with claimed_streams() as (source, sink), signals_set(stop):
        await _Connection(server, source, sink).serve(stop)


class _Connection:
    """Three tasks: one feeds the SDK, one writes what it says, and the SDK's own between them.

    Calls that need nothing of the SDK go past it, each a task of its own.
    """

    def __init__(self, server: Server, source: int, sink: int) -> None:
        # Imported here, because whoever imports this module may never serve.
        import anyio

        self._sdk = backend()
        self._dispatch = Dispatch(server)
        self._shortcut = Shortcut(server)
        self._calls: set[asyncio.Task[None]] = set()
        self._deaf = asyncio.Event()
        self._source = source
        self._outlet = Outlet(sink)
        self._to_server, self._from_client = anyio.create_memory_object_stream[Any](0)
        self._to_client, self._from_server = anyio.create_memory_object_stream[Any](0)
        self._asked: Counter[Any] = Counter()  # by id, which clients may use twice
        self._answered = asyncio.Event()

    async def serve(self, stop: asyncio.Event) -> None:
        serving = asyncio.create_task(self._sdk.serve(self._dispatch, self._from_client, self._to_client))
        reading, writing = asyncio.create_task(self._read()), asyncio.create_task(self._write())
        ends = [asyncio.create_task(event.wait()) for event in (stop, self._deaf)]
        await asyncio.wait((serving, reading, writing, *ends), return_when=asyncio.FIRST_COMPLETED)
        failure = serving.exception() if serving.done() else None
        reading.cancel()  # closes the SDK's stream: it winds up as it does when a client leaves
        await asyncio.wait((serving, writing), timeout=_WINDING_UP)
        for task in (left := [serving, writing, *ends, *self._calls]):
            task.cancel()
        await asyncio.gather(reading, *left, return_exceptions=True)
        if failure is not None:
            raise failure

    async def _read(self) -> None:
        async with self._to_server:
            async for line in Lines(self._source):
                if (call := self._shortcut.call(line)) is not None:
                    self._begin(call)
                    continue
                try:
                    message = self._sdk.decode(line)
                except ValueError:
                    await self._outlet.write(_PARSE_ERROR)
                    continue
                if (request := self._sdk.request_id(message)) is not None:
                    self._asked[request] += 1
                await self._to_server.send(message)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._all_answered(), _GRACE)

    async def _write(self) -> None:
        async with self._from_server:
            async for message in self._from_server:
                await self._outlet.write(self._sdk.encode(message) + b"\n")
                answered = self._sdk.answered_id(message)
                self._shortcut.answered(answered)
                self._count(answered)

    def _begin(self, call: Wire) -> None:
        self._asked[call["id"]] += 1
        task = asyncio.create_task(self._answer(call))
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)

    async def _answer(self, call: Wire) -> None:
        try:
            await self._outlet.write(await self._shortcut.answer(call))
        except OSError:
            self._deaf.set()  # nobody reads what is said here
        self._count(call["id"])

    def _count(self, answered: Any) -> None:
        self._asked -= Counter((answered,))  # keeps none at 0
        self._answered.set()

    async def _all_answered(self) -> None:
        while self._asked:
            self._answered.clear()
            await self._answered.wait()


_PARSE_ERROR = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}\n'
