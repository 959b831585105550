"""Runs plain functions beside the event loop, in threads that never keep the process from ending.

The event loop's own executor is waited for at the end of the process; a function that hangs on a lock or a disk would
keep a client waiting that has long gone. These threads are daemons.

One thread works for as long as it keeps up: threads side by side take the interpreter from each other at every system
call, and so does a loop that is woken for each result. Results are handed over together, when nothing more is to be
done or after a moment; a function that waits for a lock or a disk holds up nobody for longer than that.
"""

import asyncio
import contextlib
import contextvars
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

__all__ = ["in_thread", "refused_exit"]

_Result = TypeVar("_Result")

_MOST: Final = 32
"""Functions that run at the same time; more wait for their turn."""

_A_MOMENT: Final = 0.003
"""Seconds that a result waits for the next ones at most, and a function for a thread that is at another."""


class _Threads:
    """The threads of the process."""

    def __init__(self) -> None:
        self._jobs: Final = SimpleQueue[Callable[[], None]]()
        self._lock: Final = threading.Lock()
        self._threads = self._idle = 0
        self.begun = 0
        """Jobs, ever."""

    @property
    def is_behind(self) -> bool:
        """True when a job waits for a thread."""
        return not self._jobs.empty()

    def submit(self, job: Callable[[], None]) -> None:
        self._jobs.put(job)
        if not self._threads:
            self.call_another()

    def call_another(self) -> None:
        with self._lock:
            if self._threads < _MOST and not self._idle:
                self._threads += 1
                self._idle += 1
                threading.Thread(target=self._work, name="tool", daemon=True).start()

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            with self._lock:
                self._idle -= 1
                self.begun += 1
            job()
            del job  # it holds the arguments and the result
            with self._lock:
                if self._idle:  # another one waits for work
                    self._threads -= 1
                    return
                self._idle += 1


_THREADS: Final = _Threads()


class _Results:
    """What the functions of one event loop came to."""

    def __init__(self) -> None:
        self._done: Final = deque[Callable[[], None]]()
        self._is_looking = False
        self._begun = 0

    def expect(self, loop: asyncio.AbstractEventLoop) -> None:
        """Look for results every moment while functions wait for a thread. In the loop."""
        if not self._is_looking:
            self._is_looking = True
            self._begun = _THREADS.begun
            loop.call_later(_A_MOMENT, self._look, loop)

    def put(self, loop: asyncio.AbstractEventLoop, result: Callable[[], None]) -> None:
        """From a thread."""
        self._done.append(result)
        if not (self._is_looking and _THREADS.is_behind):
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(self._hand_over)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._is_looking = _THREADS.is_behind
        self._hand_over()  # after the line above, since a thread that found us looking calls nobody
        if self._is_looking:
            if _THREADS.begun == self._begun:
                _THREADS.call_another()
            self._begun = _THREADS.begun
            loop.call_later(_A_MOMENT, self._look, loop)

    def _hand_over(self) -> None:
        while self._done:
            self._done.popleft()()


_RESULTS: Final = WeakKeyDictionary[asyncio.AbstractEventLoop, _Results]()


async def in_thread(function: Callable[..., _Result], /, *arguments: Any, **named: Any) -> _Result:
    """Like ``asyncio.to_thread``; when cancelled, the function goes on and its result is dropped.

    A function that asks for the process to end has no right to: that becomes a RuntimeError.
    """
    loop = asyncio.get_running_loop()
    results = _RESULTS.setdefault(loop, _Results())
    future: asyncio.Future[_Result] = loop.create_future()
    call = partial(contextvars.copy_context().run, function, *arguments, **named)

    def work() -> None:
        try:
            outcome = partial(_set_result, future, call())
        except BaseException as error:  # noqa: BLE001 - handed to whoever awaits
            outcome = partial(_set_error, future, error)
        results.put(loop, outcome)

    _THREADS.submit(work)
    results.expect(loop)
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
