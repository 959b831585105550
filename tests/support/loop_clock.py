"""The clock by which the running loop's timers go, in a test's hands: nobody waits for real, nobody is too slow."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from support.waiting import PATIENCE

__all__ = ["later", "no_time_passes", "outlast"]


class _Ahead:
    """A clock that is ahead of another by so many seconds."""

    def __init__(self, before: Callable[[], float]) -> None:
        self._before = before
        self.seconds = 0.0

    def __call__(self) -> float:
        return self._before() + self.seconds


def later(seconds: float) -> None:
    """Put the clock forward: what was to happen within so many seconds happens in the loop's next turn."""
    loop: Any = asyncio.get_running_loop()
    if not isinstance(loop.time, _Ahead):
        loop.time = _Ahead(loop.time)
    loop.time.seconds += seconds


async def outlast(task: "asyncio.Future[Any]", seconds: float) -> None:
    """Let so many seconds pass, and again, until the task is done: for where nobody tells from when on they count.

    Raises TimeoutError when patience is over.
    """
    give_up = time.monotonic() + PATIENCE
    while not task.done():
        if time.monotonic() > give_up:
            raise TimeoutError(f"{seconds:g} s have passed again and again, and it is not done")
        later(seconds)
        await asyncio.wait({task}, timeout=0.02)


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
