"""Runs plain functions beside the event loop, in threads that never keep the process from ending.

The event loop's own executor is waited for at the end of the process; a function that hangs on a lock or a disk would
keep a client waiting that has long gone. These threads are daemons.

Functions that run side by side take the interpreter from each other at every system call, so that short ones are done
sooner one after the other. One thread works, therefore, and others help only while functions wait and none is begun.
"""

import asyncio
import contextvars
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeVar
from weakref import WeakSet

__all__ = ["in_thread", "refused_exit"]

_Result = TypeVar("_Result")

_MOST: Final = 32
"""Functions that run at the same time; more wait for their turn."""

_HELD_UP: Final = 0.002
"""Seconds without a beginning after which another thread helps."""


class _Pool:
    def __init__(self) -> None:
        self._jobs: deque[Callable[[], None]] = deque()
        self._changed = threading.Condition()
        self._threads = 0
        self._idle = 0
        self._called = 0  # threads that shall work and do not yet
        self._busy = 0
        self._begun = 0  # how many jobs were begun so far
        self._watching: WeakSet[asyncio.AbstractEventLoop] = WeakSet()

    def submit(self, job: Callable[[], None], loop: asyncio.AbstractEventLoop) -> None:
        with self._changed:
            self._jobs.append(job)
            if self._busy + self._called == 0:
                self._call()
            elif loop not in self._watching:
                self._watching.add(loop)
                loop.call_later(_HELD_UP, self._watch, loop, self._begun)

    def _watch(self, loop: asyncio.AbstractEventLoop, begun: int) -> None:
        with self._changed:
            if not self._jobs:
                self._watching.discard(loop)
                return
            if self._begun == begun:
                self._call()
            loop.call_later(_HELD_UP, self._watch, loop, self._begun)

    def _call(self) -> None:
        if self._idle > self._called:
            self._changed.notify()
        elif self._threads < _MOST:
            self._threads += 1
            threading.Thread(target=self._work, name=f"tool-{self._threads}", daemon=True).start()
        else:
            return
        self._called += 1

    def _work(self) -> None:
        while True:
            with self._changed:
                self._idle += 1
                self._changed.wait_for(lambda: self._called)
                self._idle -= 1
                self._called -= 1
                self._busy += 1
            begun = -1
            while (job := self._next(begun)) is not None:
                begun, work = job
                work()

    def _next(self, last: int) -> tuple[int, Callable[[], None]] | None:
        """The next job and its number, for a thread whose last one had the number ``last``. None sends it to rest: when
        nothing waits, or when somebody who began later than it goes on.
        """
        with self._changed:
            if not self._jobs or (self._busy > 1 and 0 <= last != self._begun):
                self._busy -= 1
                return None
            self._begun += 1
            return self._begun, self._jobs.popleft()


_POOL = _Pool()


async def in_thread(function: Callable[..., _Result], /, *arguments: Any, **named: Any) -> _Result:
    """Like ``asyncio.to_thread``; when cancelled, the function goes on and its result is dropped.

    A function that asks for the process to end has no right to: that becomes a RuntimeError.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_Result] = loop.create_future()
    call = partial(contextvars.copy_context().run, function, *arguments, **named)

    def work() -> None:
        try:
            outcome = partial(_set_result, future, call())
        except BaseException as error:  # noqa: BLE001 - handed to whoever awaits
            outcome = partial(_set_error, future, error)
        try:
            loop.call_soon_threadsafe(outcome)
        except RuntimeError:  # the loop is closed: nobody waits any more
            return

    _POOL.submit(work, loop)
    return await future


def refused_exit(error: BaseException) -> RuntimeError:
    """What is raised instead of a SystemExit or KeyboardInterrupt."""
    refusal = RuntimeError(f"{type(error).__name__} of a function that must not end the process")
    refusal.__cause__ = error
    return refusal


def _set_result(future: "asyncio.Future[Any]", result: Any) -> None:
    if not future.done():
        future.set_result(result)


def _set_error(future: "asyncio.Future[Any]", error: BaseException) -> None:
    if isinstance(error, StopIteration):  # a future cannot carry it
        error = RuntimeError("StopIteration")
    if isinstance(error, (SystemExit, KeyboardInterrupt)):  # would end the event loop, and all clients with it
        error = refused_exit(error)
    if not future.done():
        future.set_exception(error)
