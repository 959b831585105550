"""Runs plain functions beside the event loop, in threads that never keep the process from ending.

The event loop's own executor is joined at the end of the process, so a function that hangs on a lock or a disk would
keep a client waiting that has long gone. These threads are daemons.

One thread works as long as it keeps up, because threads side by side take the interpreter from each other at every
system call, and so does a loop that is woken for each result. While functions wait for a lock or a disk, more threads
are started after a moment, twice as many each time. Results are handed over together, when nothing more is to be done
or at the loop's next look.
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
from weakref import WeakValueDictionary

__all__ = ["in_thread", "refused_exit"]

_Result = TypeVar("_Result")

_MOST: Final = 32
"""Functions that run at the same time; further ones queue."""

_A_MOMENT: Final = 0.003
"""Seconds between two looks for results by a loop with queued functions."""


class _Threads:
    """The threads of the process."""

    def __init__(self) -> None:
        self._jobs: Final = SimpleQueue[Callable[[], None]]()
        self._lock: Final = threading.Lock()
        self._threads = self._idle = 0
        self.begun = 0
        """Jobs started so far."""

    @property
    def is_behind(self) -> bool:
        """True when a job waits for a thread."""
        return not self._jobs.empty()

    def submit(self, job: Callable[[], None]) -> None:
        """Queue a job. Raises RuntimeError when the system cannot start even one thread."""
        with self._lock:
            if not self._threads:
                self._start()
        self._jobs.put(job)

    def relieve(self, begun: int) -> None:
        """Start more threads if each has started at most one job since ``begun`` had that value."""
        with self._lock:
            if self._idle or self.begun - begun > self._threads:
                return
            for _ in range(min(self._threads, self._jobs.qsize(), _MOST - self._threads)):
                try:
                    self._start()
                except (RuntimeError, MemoryError):  # no further threads now: the existing ones continue
                    return

    def _start(self) -> None:
        threading.Thread(target=self._work, name="tool", daemon=True).start()
        self._threads += 1
        self._idle += 1

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            with self._lock:
                self._idle -= 1
                self.begun += 1
            job()
            del job  # release its arguments and result
            with self._lock:
                if self._idle:  # another one is idle already
                    self._threads -= 1
                    return
                self._idle += 1


_THREADS: Final = _Threads()


class _Results:
    """The results of one event loop's functions. Only those functions and the looks keep it alive."""

    def __init__(self) -> None:
        self._done: Final = deque[Callable[[], None]]()
        self._is_looking = False
        self._begun = 0

    def expect(self, loop: asyncio.AbstractEventLoop) -> None:
        """Look for results every moment while functions are queued. Call it in the loop."""
        if not self._is_looking:
            self._is_looking = True
            self._look_later(loop)

    def put(self, loop: asyncio.AbstractEventLoop, result: Callable[[], None]) -> None:
        """Add a result, from a thread."""
        self._done.append(result)
        if not (self._is_looking and _THREADS.is_behind):
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody is waiting
                loop.call_soon_threadsafe(self._hand_over)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        begun = self._begun
        self._is_looking = _THREADS.is_behind
        if self._is_looking:
            self._look_later(loop)
            _THREADS.relieve(begun)
        self._hand_over()  # last, because a thread that finds nobody looking calls back itself

    def _look_later(self, loop: asyncio.AbstractEventLoop) -> None:
        self._begun = _THREADS.begun
        loop.call_later(_A_MOMENT, self._look, loop)

    def _hand_over(self) -> None:
        while self._done:
            self._done.popleft()()


_RESULTS: Final = WeakValueDictionary[int, _Results]()
"""By id() of the loop, which cannot be reused: whatever keeps the results alive keeps the loop alive, too."""


async def in_thread(function: Callable[..., _Result], /, *arguments: Any, **named: Any) -> _Result:
    """Like ``asyncio.to_thread``. When it is cancelled, the function still runs, now or when its turn comes, and its
    result is dropped.

    A function must not end the process: SystemExit and KeyboardInterrupt become a RuntimeError.
    """
    loop = asyncio.get_running_loop()
    results = _RESULTS.get(id(loop)) or _RESULTS.setdefault(id(loop), _Results())
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
    """The error raised instead of a SystemExit or KeyboardInterrupt."""
    refusal = RuntimeError(f"{type(error).__name__} of a function that must not end the process")
    refusal.__cause__ = error
    return refusal


def _set_result(future: "asyncio.Future[Any]", result: Any) -> None:
    if not future.done():
        future.set_result(result)


def _set_error(future: "asyncio.Future[Any]", error: BaseException) -> None:
    if isinstance(error, StopIteration):  # a future cannot hold it
        error = RuntimeError("StopIteration")
    if isinstance(error, (SystemExit, KeyboardInterrupt)):  # would end the event loop, and all clients with it
        error = refused_exit(error)
    if not future.done():
        future.set_exception(error)
