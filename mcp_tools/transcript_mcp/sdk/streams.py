"""This process's stdin and stdout as streams of JSON-RPC messages, one per line.

Only JSON-RPC may appear on stdout, even if some library prints: while the streams are claimed, file descriptor 1 is
stderr and 0 is empty for everybody else. A daemon thread reads stdin, so that neither a signal nor the exit has to wait
for a blocking read.
"""

import asyncio
import contextlib
import os
import select
import signal
import threading
from collections.abc import AsyncIterator, Iterator

from nanobot_transcript.threads import in_thread

__all__ = ["Lines", "Outlet", "claimed_streams", "signals_set"]

_ATOMIC = 4096
"""Bytes that a pipe takes without blocking once ``poll`` calls it writable (PIPE_BUF on Linux)."""

_LONGEST = 64 * 1024 * 1024
"""Bytes of one message; a longer one is dropped and answered with an error."""

_AHEAD = 1000
"""Messages that may be read ahead of those being handled."""


class Lines:
    """The lines of a file descriptor; an empty one stands for a line that was too long."""

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
        with contextlib.suppress(RuntimeError):  # the event loop is closed
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


class Outlet:
    """Writes to a file descriptor without blocking the event loop."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLOUT)
        self._turn = asyncio.Lock()

    async def write(self, data: bytes) -> None:
        """Write all of it, after earlier writes."""
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
def claimed_streams() -> Iterator[tuple[int, int]]:
    """Private copies of stdin and stdout; within the block, 0 is /dev/null and 1 is stderr."""
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
        # The source stays open: the thread may still be reading it, and a closed number could be reused by another
        # file.
        os.close(sink)


@contextlib.contextmanager
def signals_set(stop: asyncio.Event) -> Iterator[None]:
    """Within the block, SIGTERM and SIGINT set ``stop``."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    try:
        yield
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
