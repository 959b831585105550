"""Serving a client over this process's stdin and stdout."""

import asyncio
import contextlib
from collections import Counter
from typing import Any

import msgspec

from transcript_mcp.sdk.content import Wire
from transcript_mcp.sdk.dispatch import PARSE_ERROR
from transcript_mcp.sdk.server import Server
from transcript_mcp.sdk.session import Session
from transcript_mcp.sdk.shortcut import Handled, Shortcut
from transcript_mcp.sdk.streams import Lines, Outlet, claimed_streams, signals_set

__all__ = ["serve_stdio"]

_GRACE = 0.5
"""Seconds that running requests get after stdin has ended."""


async def serve_stdio(server: Server) -> None:
    """Serve until stdin ends, stdout is closed, or SIGTERM or SIGINT arrives; then returns within a second."""
    stop = asyncio.Event()
    with claimed_streams() as (source, sink), signals_set(stop):
        await _Connection(server, source, sink).serve(stop)


class _Connection:
    """Reads the client's messages: those that need no SDK run as tasks here, the others go to the SDK."""

    def __init__(self, server: Server, source: int, sink: int) -> None:
        self._source = source
        self._outlet = Outlet(sink)
        self._shortcut = Shortcut(server, self._say)
        self._session = Session(server, self._expect, self._tell)
        self._quick: set[asyncio.Task[None]] = set()
        self._deaf = asyncio.Event()
        self._asked: Counter[Any] = Counter()  # by id, which clients may use twice
        self._answered = asyncio.Event()

    async def serve(self, stop: asyncio.Event) -> None:
        reading = asyncio.create_task(self._read())
        ends = [asyncio.create_task(event.wait()) for event in (stop, self._deaf, self._session.ended)]
        await asyncio.wait((reading, *ends), return_when=asyncio.FIRST_COMPLETED)
        for task in (left := [reading, *ends, *self._quick]):
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await self._shortcut.close()
        await self._session.end()
        if not reading.cancelled() and (error := reading.exception()) and not self._session.ended.is_set():
            raise error

    async def _read(self) -> None:
        async for line in Lines(self._source):
            if (taken := self._shortcut.take(line)) is not None:
                self._begin(taken)
                continue
            try:
                for said in (*self._shortcut.unheard(), line):
                    await self._session.hear(said)
            except ValueError:
                await self._say(PARSE_ERROR)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._all_answered(), _GRACE)

    def _begin(self, taken: Handled) -> None:
        if taken.answer is None:
            return
        self._expect(taken.id)
        task = asyncio.create_task(self._answer(taken))
        self._quick.add(task)
        task.add_done_callback(self._quick.discard)

    async def _answer(self, taken: Handled) -> None:
        assert taken.answer is not None
        await self._say(await taken.answer())
        self._count(taken.id)

    async def _say(self, message: Wire) -> None:
        try:
            await self._outlet.write(msgspec.json.encode(message) + b"\n")
        except OSError:
            self._deaf.set()  # stdout is closed: the client is gone

    async def _tell(self, line: bytes, answered: Any, well: bool) -> None:
        """Write a line of the SDK."""
        if not await self._shortcut.answered(answered, well=well):
            await self._outlet.write(line + b"\n")
        self._count(answered)

    def _expect(self, asked: Any) -> None:
        self._asked[asked] += 1

    def _count(self, answered: Any) -> None:
        self._asked -= Counter((answered,))  # subtraction also drops entries at 0
        self._answered.set()

    async def _all_answered(self) -> None:
        while self._asked:
            self._answered.clear()
            await self._answered.wait()
