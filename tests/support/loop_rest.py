"""How long an event loop is kept from everything else."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

__all__ = ["Silence", "silence"]


@dataclass
class Silence:
    """``longest``: seconds of this process's CPU time, in any thread, that passed between two turns of the loop.

    CPU time, so that other processes on a busy machine do not count.
    """

    longest: float = 0.0


@asynccontextmanager
async def silence() -> AsyncIterator[Silence]:
    """Watch the running loop inside the block."""
    watched = Silence()

    async def watch() -> None:
        last = time.process_time()
        while True:
            await asyncio.sleep(0)
            now = time.process_time()
            watched.longest = max(watched.longest, now - last)
            last = now

    watching = asyncio.create_task(watch())
    try:
        await asyncio.sleep(0)
        yield watched
        await asyncio.sleep(0)
    finally:
        watching.cancel()
