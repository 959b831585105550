"""Who waits at one queue: first come, first served, and nothing for those who have left."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transcript_mcp.io_bridge.values import Item
    from transcript_mcp.room import Addressee

__all__ = ["Queue", "Waiter"]


class Waiter:
    """One call that waits for an item. ``is_gone`` says whether its client has left.

    ``agent`` is who it is that waits for what people write to it, too; None: for items alone.
    """

    def __init__(self, is_gone: Callable[[], bool], agent: "Addressee | None" = None) -> None:
        self.agent: Addressee | None = agent
        self.is_gone: Callable[[], bool] = is_gone
        self.got: asyncio.Future[Item | None] = asyncio.get_running_loop().create_future()

    @property
    def can_take(self) -> bool:
        """False once it has got something, was cancelled, or its client has left."""
        return not self.got.done() and not self.is_gone()


class Queue:
    """The waiters at one direction of one session. For one event loop."""

    def __init__(self) -> None:
        self.waiters: deque[Waiter] = deque()
        self.lookers: set[asyncio.Event] = set()
        """Set when something may have changed, for who only looks."""
        self.serving: asyncio.Task[None] | None = None
        self.again: bool = False

    @property
    def is_idle(self) -> bool:
        """True when nobody waits and nothing is being handed out."""
        return not self.waiters and not self.lookers and self.serving is None

    def first(self) -> Waiter | None:
        """Who comes next; who has left goes empty-handed."""
        while self.waiters:
            if self.waiters[0].can_take:
                return self.waiters[0]
            self.dismiss(self.waiters[0])
        return None

    def dismiss_gone(self) -> None:
        """Let go of everybody whose client has left."""
        for waiter in [each for each in self.waiters if not each.can_take]:
            self.dismiss(waiter)

    def dismiss(self, waiter: Waiter) -> None:
        """Strike somebody off the list; who still waits goes empty-handed."""
        if waiter in self.waiters:
            self.waiters.remove(waiter)
        if not waiter.got.done():
            waiter.got.set_result(None)
