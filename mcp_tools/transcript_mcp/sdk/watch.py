"""Telling somebody what becomes of the work: each call of a tool, each reading of a resource, and how long it took."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, Protocol, TypeAlias

__all__ = ["Kind", "Watch", "Work", "WorkOutcome", "watched"]

Kind: TypeAlias = Literal["tool", "resource"]
WorkOutcome: TypeAlias = Literal["ok", "refused", "failed", "unfinished"]
"""``refused``: answered with an error that says what to do otherwise. ``failed``: the server's own fault.
``unfinished``: cancelled, or it has to ask its client first."""


class Watch(Protocol):
    """Called on the event loop after each piece of work."""

    def __call__(self, kind: Kind, name: str | None, outcome: WorkOutcome, seconds: float, /) -> None:
        """``name`` is that of the tool, or the URI with which the resource or template was registered; None for what
        was asked for and is not there."""
        ...


class Work:
    """What becomes of one piece of work; whoever does it may say so."""

    __slots__ = ("outcome",)

    def __init__(self) -> None:
        self.outcome: WorkOutcome = "unfinished"


@contextmanager
def watched(watch: Watch | None, kind: Kind, name: str | None) -> Iterator[Work]:
    """Times what happens inside and tells the ``watch``. The outcome is ``unfinished`` unless it was set."""
    work, began = Work(), time.perf_counter()
    try:
        yield work
    finally:
        if watch is not None:
            watch(kind, name, work.outcome, time.perf_counter() - began)
