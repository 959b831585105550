"""The clock by which the running loop's timers go, in a test's hands: nobody waits for real, nobody is too slow."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["later", "no_time_passes"]


def later(seconds: float) -> None:
    """Put the clock forward: what was to happen within so many seconds happens in the loop's next turn."""
    loop: Any = asyncio.get_running_loop()
    before = loop.time
    loop.time = lambda: before() + seconds


@contextmanager
def no_time_passes() -> Iterator[None]:
    """No timer runs out in the block, not even a test's own: only what happens wakes anybody."""
    loop: Any = asyncio.get_running_loop()
    running, stopped = loop.time, loop.time()
    loop.time = lambda: stopped
    try:
        yield
    finally:
        loop.time = running
