"""Serving a client over this process's stdin and stdout.

Nothing but JSON-RPC may stand on stdout, whoever prints: while a server is served, stdout leads to stderr and stdin is
empty for everybody else. stdin is read by a daemon thread, so that neither a signal nor the end has to wait for it.
"""

import asyncio
import contextlib
import os
import select
import signal
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

from transcript_mcp.sdk.backend import backend
from transcript_mcp.sdk.dispatch import Dispatch
from transcript_mcp.sdk.server import Server
from transcript_mcp.sdk.threads import in_thread

__all__ = ["serve_stdio"]

_GRACE = 0.5
"""Seconds that requests may take which were asked before stdin ended."""

_WINDING_UP = 0.25
"""Seconds that the SDK has to end what it holds."""

_ATOMIC = 4096
"""Bytes that a pipe takes without blocking once it is writable."""


_LONGEST = 64 * 1024 * 1024
"""Bytes of one message; a longer one is refused, not kept."""

_AHEAD = 1000
"""Messages that are read before the ones in front of them are dealt with."""


async def serve_stdio(server: Server) -> None:
    """Serve until stdin ends, stdout is closed, or SIGTERM or SIGINT comes; returns within a second of that."""
    stop = asyncio.Event()
    with _claimed_streams() as (source, sink), _signals_set(stop):
        await _Connection(server, source, sink).serve(stop)


class _Connection:
    """Three tasks: one feeds the SDK, one writes what it says, and the SDK's own between them."""

    def __init__(self, server: Server, source: int, sink: int) -> None:
        # Imported here, because whoever imports this module may never serve.
        import anyio

        self._sdk = backend()
        self._dispatch = Dispatch(server)
        self._source = source
        self._outlet = _Outlet(sink)
        self._to_server, self._from_client = anyio.create_memory_object_stream[Any](0)
        self._to_client, self._from_server = anyio.create_memory_object_stream[Any](0)
        self._asked: set[Any] = set()
        self._answered = asyncio.Event()

    async def serve(self, stop: asyncio.Event) -> None:
        serving = asyncio.create_task(self._sdk.serve(self._dispatch, self._from_client, self._to_client))
        reading, writing = asyncio.create_task(self._read()), asyncio.create_task(self._write())
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait((serving, reading, writing, stopping), return_when=asyncio.FIRST_COMPLETED)
        failure = serving.exception() if serving.done() else None
        reading.cancel()  # closes the SDK's stream: it winds up as it does when a client leaves
        await asyncio.wait((serving, writing), timeout=_WINDING_UP)
        for task in (serving, writing, stopping):
            task.cancel()
        await asyncio.gather(serving, reading, writing, stopping, return_exceptions=True)
        if failure is not None:
            raise failure

    async def _read(self) -> None:
        async with self._to_server:
            async for line in _Lines(self._source):
                try:
                    message = self._sdk.decode(line)
                except ValueError:
                    await self._outlet.write(_PARSE_ERROR)
                    continue
                if (request := self._sdk.request_id(message)) is not None:
                    self._asked.add(request)
                await self._to_server.send(message)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._all_answered(), _GRACE)

    async def _write(self) -> None:
        async with self._from_server:
            async for message in self._from_server:
                await self._outlet.write(self._sdk.encode(message) + b"\n")
                self._asked.discard(self._sdk.answered_id(message))
                self._answered.set()

    async def _all_answered(self) -> None:
        while self._asked:
            self._answered.clear()
            await self._answered.wait()


_PARSE_ERROR = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}\n'


class _Lines:
    """The lines of a descriptor, as they come; an empty one stands for a line that is too long."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._room = threading.Semaphore(_AHEAD)
        threading.Thread(target=self._read, name="stdin", daemon=True).start()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (line := await self._queue.get()) is not None:
            self._room.release()
            yield line

    def _read(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens any more
            for line in self._split():
                self._room.acquire()
                self._loop.call_soon_threadsafe(self._queue.put_nowait, line)
            self._loop.call_soon_threadsafe(self._queue.put_nowait, None)

    def _split(self) -> Iterator[bytes]:
        pieces: list[bytes] = []
        size = 0
        while chunk := self._chunk():
            *complete, rest = chunk.split(b"\n")
            for piece in complete:
                line = b"".join([*pieces, piece]) if size <= _LONGEST else b""
                if line.strip() or size > _LONGEST:
                    yield line
                pieces, size = [], 0
            size += len(rest)
            pieces = [*pieces, rest] if size <= _LONGEST else []
        if last := b"".join(pieces).strip():
            yield last

    def _chunk(self) -> bytes:
        try:
            return os.read(self._descriptor, 1 << 16)
        except OSError:
            return b""


class _Outlet:
    """Writes to a descriptor without ever blocking the event loop."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLOUT)
        self._turn = asyncio.Lock()

    async def write(self, data: bytes) -> None:
        async with self._turn:
            if len(data) <= _ATOMIC and self._poll.poll(0):
                self._write_all(data)
            else:
                await in_thread(self._write_all, data)

    def _write_all(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]


@contextlib.contextmanager
def _claimed_streams() -> Iterator[tuple[int, int]]:
    """Private copies of stdin and stdout, which meanwhile lead nowhere and to stderr."""
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        os.dup2(nothing, 0)
        os.dup2(2, 1)
        yield source, sink
    finally:
        os.dup2(source, 0)
        os.dup2(sink, 1)
        os.close(nothing)
        os.close(sink)  # not the source: the reading thread may still wait on it, and its number would be used again


@contextlib.contextmanager
def _signals_set(stop: asyncio.Event) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    try:
        yield
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
