"""Reports each tool call and each reading of a resource with its outcome and duration."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, Protocol, TypeAlias

__all__ = ["Kind", "Watch", "Work", "WorkOutcome", "watched"]

Kind: TypeAlias = Literal["tool", "resource"]
WorkOutcome: TypeAlias = Literal["ok", "refused", "failed", "unfinished"]
"""``refused``: answered with an error that says what to change. ``failed``: the server's own fault.
``unfinished``: cancelled, or it has to ask its client first."""


class Watch(Protocol):
    """Called on the event loop after each call or reading."""

    def __call__(self, kind: Kind, name: str | None, outcome: WorkOutcome, seconds: float, /) -> None:
        """``name``: the tool's name, or the URI under which the resource or template was registered; None for an
        unknown one."""
        ...


class Work:
    """One call or reading; whoever does it sets the outcome."""

    __slots__ = ("outcome",)

    def __init__(self) -> None:
        self.outcome: WorkOutcome = "unfinished"


@contextmanager
def watched(watch: Watch | None, kind: Kind, name: str | None) -> Iterator[Work]:
    """Times the block and calls ``watch``. The outcome is ``unfinished`` unless it was set."""
    work, began = Work(), time.perf_counter()
    try:
        yield work
    finally:
        if watch is not None:
            watch(kind, name, work.outcome, time.perf_counter() - began)
