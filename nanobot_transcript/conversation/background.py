"""Work that must not hold up a message: learning names, and the store's maintenance once an hour."""

import logging
import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

__all__ = ["Background"]

logger = logging.getLogger(__name__)

_WAITING: Final = 10_000

_Job = tuple[Callable[..., object], tuple[Any, ...]]


class Background:
    """One daemon thread. ``periodic`` runs ``first`` seconds after the start, then every ``every`` seconds."""

    def __init__(self, periodic: Callable[[], object], *, first: float = 90.0, every: float = 3600.0) -> None:
        self._periodic: Callable[[], object] = periodic
        self._every: float = every
        self._due: float = time.monotonic() + first
        self._jobs: queue.Queue[_Job] = queue.Queue(_WAITING)
        self._thread: threading.Thread | None = None
        self._closed: bool = False
        self._mutex: threading.Lock = threading.Lock()

    def start(self) -> None:
        """Start the thread, once; not after ``close``."""
        with self._mutex:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="group-transcript", daemon=True)
                self._thread.start()

    def submit(self, function: Callable[..., object], *args: Any) -> None:
        """Run it soon, in order. It is skipped when far too much is waiting (the record does not depend on it), and
        after ``close``.
        """
        if self._closed:
            return
        try:
            self._jobs.put_nowait((function, args))
        except queue.Full:
            logger.debug("background work is too slow; skipped %s", function)

    def drain(self, timeout: float) -> bool:
        """Wait until everything submitted so far is done; False when ``timeout`` seconds were not enough."""
        if self._closed:
            return self.close(timeout)
        done = threading.Event()
        self.submit(done.set)
        return done.wait(timeout)

    def close(self, timeout: float) -> bool:
        """Finish what was submitted so far, and nothing after it; False when ``timeout`` seconds were not enough."""
        with self._mutex:
            self._closed = True
            thread = self._thread
        if thread is None:
            return self._jobs.empty()
        with suppress(queue.Full):  # a full queue means that the thread is awake
            self._jobs.put_nowait((_wake, ()))
        if thread is not threading.current_thread():
            thread.join(timeout)
        return not thread.is_alive()

    def _run(self) -> None:
        while (job := self._next()) is not None:
            _do(*job)
            del job

    def _next(self) -> _Job | None:
        """The next work; None when nothing is left and nothing can follow."""
        try:
            return self._jobs.get(timeout=0.0 if self._closed else max(0.0, self._due - time.monotonic()))
        except queue.Empty:
            if self._closed:
                return None
        self._due = time.monotonic() + self._every
        return self._periodic, ()


def _wake() -> None:
    """Ends the wait for work."""


def _do(function: Callable[..., object], args: tuple[Any, ...]) -> None:
    try:
        function(*args)
    except Exception:
        logger.exception("Background work failed")
