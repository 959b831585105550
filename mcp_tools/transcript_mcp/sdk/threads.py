"""Runs plain functions beside the event loop, in threads that never keep the process from ending.

The event loop's own executor is waited for at the end of the process; a function that hangs on a lock or a disk would
keep a client waiting that has long gone. These threads are daemons.
"""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

__all__ = ["in_thread", "refused_exit"]

_Result = TypeVar("_Result")

_MOST = 32
"""Functions that run at the same time; more wait for their turn."""


class _Pool:
    def __init__(self) -> None:
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._unclaimed = 0  # idle threads less jobs that wait for one

    def submit(self, job: Callable[[], None]) -> None:
        with self._lock:
            self._unclaimed -= 1
            if self._unclaimed < 0 and self._threads < _MOST:
                self._threads += 1
                self._unclaimed += 1
                threading.Thread(target=self._work, name=f"tool-{self._threads}", daemon=True).start()
        self._jobs.put(job)

    def _work(self) -> None:
        while True:
            self._jobs.get()()
            with self._lock:
                self._unclaimed += 1


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

    _POOL.submit(work)
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
