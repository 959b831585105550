"""Waiting for a file lock, with a time limit.

The lock of a transcript is ``flock`` on its active segment. That must never change: the kernel frees it when its holder
dies, and every version honours it.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from nanobot_transcript.errors import StoreBusyError
from nanobot_transcript.files.descriptors import open_append, to_read

__all__ = ["acquire", "exclusive", "is_held"]

_QUICK_LOOKS: Final = 20
_YIELDS: Final = 200
_FIRST_PAUSE: Final = 20e-6
_LONGEST_PAUSE: Final = 1e-3


def acquire(descriptor: int, timeout: float) -> bool:
    """Take the lock; False when somebody else still holds it after ``timeout`` seconds."""
    return _try(descriptor) or _wait(descriptor, timeout)


def _wait(descriptor: int, timeout: float) -> bool:
    # An append holds the lock for microseconds, less than going to sleep takes: try a few times first.
    for _ in range(_QUICK_LOOKS):
        if _try(descriptor):
            return True
    deadline = time.monotonic() + timeout
    # The holder may have lost its processor: let it run. A waiter that slept here would find the lock taken again by
    # others, and one append in fifty would take milliseconds.
    for _ in range(_YIELDS):
        if time.monotonic() >= deadline:  # on a busy machine each round may take a while
            return False
        os.sched_yield()
        if _try(descriptor):
            return True
    pause = _FIRST_PAUSE
    while time.monotonic() + pause < deadline:
        time.sleep(pause)
        if _try(descriptor):
            return True
        pause = min(pause * 1.5, _LONGEST_PAUSE)
    return False


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_held(path: str | os.PathLike[str]) -> bool:
    """True while a process holds the lock file; False when there is none. Raises OSError."""
    try:
        descriptor = to_read(os.fspath(path))
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


@contextmanager
def exclusive(path: str, timeout: float, what: str) -> Iterator[None]:
    """Hold the lock file ``path`` for work off the append path. Raises StoreBusyError after ``timeout`` seconds."""
    descriptor = open_append(path)
    try:
        if not acquire(descriptor, timeout):
            raise StoreBusyError(f"Another process is busy with {what}.", hint="Try again in a moment.")
        yield
    finally:
        os.close(descriptor)
