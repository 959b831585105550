"""How much a thread works, counted in calls: the same on every machine, however busy it is."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

__all__ = ["Work", "counted_work"]


class Work:
    """What this thread called, and how often; functions of Python and of C."""

    def __init__(self) -> None:
        self._calls: Counter[object] = Counter()

    @property
    def calls(self) -> int:
        """All of them."""
        return self._calls.total()

    def of(self, function: Callable[..., Any]) -> int:
        """Those of one function of Python."""
        return self._calls[function.__code__]

    def named(self, name: str) -> int:
        """Those of functions of C with this name, such as ``load_verify_locations``."""
        return self._calls[name]

    def note(self, frame: FrameType, event: str, argument: Any) -> None:
        """What the interpreter tells."""
        if event == "call":
            self._calls[frame.f_code] += 1
        elif event == "c_call":
            self._calls[argument.__name__] += 1


@contextmanager
def counted_work() -> Iterator[Work]:
    """Count what this thread does inside the block, on an event loop also what others do on it. Not nested."""
    work = Work()
    sys.setprofile(work.note)
    try:
        yield work
    finally:
        sys.setprofile(None)
