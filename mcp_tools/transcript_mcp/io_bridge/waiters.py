"""The calls that wait at one queue: first come, first served; disconnected clients get nothing."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transcript_mcp.io_bridge.values import Item
    from transcript_mcp.room import Addressee

__all__ = ["Queue", "Waiter"]


def _future() -> "asyncio.Future[Item | None]":
    return asyncio.get_running_loop().create_future()


@dataclass(eq=False)
class Waiter:
    """One call that waits for an item. ``is_gone`` tells whether its client has disconnected.

    ``agent``: who also waits for notes that people write to it; None for a call that takes only items.
    """

    is_gone: Callable[[], bool]
    agent: "Addressee | None" = None
    got: "asyncio.Future[Item | None]" = field(default_factory=_future, init=False)

    @property
    def can_take(self) -> bool:
        """False once it has a result, was cancelled, or its client has disconnected."""
        return not self.got.done() and not self.is_gone()


@dataclass(eq=False)
class Queue:
    """The waiters at one direction of one session. For one event loop."""

    waiters: deque[Waiter] = field(default_factory=deque)
    lookers: set[asyncio.Event] = field(default_factory=set)
    """Set when something may have changed, for callers that only peek."""
    serving: asyncio.Task[None] | None = None
    again: bool = False

    @property
    def is_idle(self) -> bool:
        """True when nobody waits and nothing is being handed out."""
        return not self.waiters and not self.lookers and self.serving is None

    def first(self) -> Waiter | None:
        """The next waiter. Dismisses those in front of it whose clients have disconnected."""
        while self.waiters:
            if self.waiters[0].can_take:
                return self.waiters[0]
            self.dismiss(self.waiters[0])
        return None

    def dismiss_gone(self) -> None:
        """Dismiss all waiters whose clients have disconnected."""
        for waiter in [each for each in self.waiters if not each.can_take]:
            self.dismiss(waiter)

    def dismiss(self, waiter: Waiter) -> None:
        """Remove a waiter; if it has no result yet, it gets None."""
        if waiter in self.waiters:
            self.waiters.remove(waiter)
        if not waiter.got.done():
            waiter.got.set_result(None)
