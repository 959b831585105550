"""Records the outcome of deliveries: an item was delivered and waits to be confirmed, or goes back into its queue."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from nanobot_transcript.errors import StoreError
from transcript_mcp.io_bridge.contract import QueueStore
from transcript_mcp.io_bridge.values import Item

__all__ = ["ItemDeliveries", "Start"]

logger = logging.getLogger(__name__)

_AGAIN: Final = 5.0
_PATIENCE: Final = 1.0

Start: TypeAlias = Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"]
"""Starts a background task."""


@dataclass(eq=False)
class ItemDeliveries:
    """Writes outcomes to the store. ``freed`` is called when an item is free again, ``changed`` after each change.

    ``lease``: seconds after which an unconfirmed input is freed.
    """

    store: QueueStore
    lease: float
    start: Start
    freed: Callable[[Item], None]
    changed: Callable[[str], None]
    _leases: dict[str, dict[int, asyncio.TimerHandle]] = field(default_factory=dict, init=False)
    _under_way: dict[str, set[asyncio.Task[None]]] = field(default_factory=dict, init=False)
    _closed: bool = field(default=False, init=False)

    def settle(self, item: Item, arrived: bool) -> None:
        """Record whether an item has arrived, in the background."""
        if arrived:
            self.store.note(item.seq)
        if not arrived:
            work = self._free(item)
        elif item.direction == "in":
            work = self._delivered(item)
        else:
            work = self._removed(item)
        task = self.start(work)
        self._under_way.setdefault(item.session, set()).add(task)
        task.add_done_callback(lambda done: self._on_task_done(item.session, done))

    async def settled(self, session: str) -> None:
        """Wait until a session's outcomes are written, but only for a moment."""
        if under_way := self._under_way.get(session):
            await asyncio.wait(list(under_way), timeout=_PATIENCE)

    def lend(self, item: Item) -> None:
        """Start the lease of a delivered input."""
        timer = asyncio.get_running_loop().call_later(self.lease, self._expired, item)
        self._leases.setdefault(item.session, {})[item.seq] = timer

    def confirmed(self, session: str) -> None:
        """End the leases of a session's inputs: they were confirmed."""
        for timer in self._leases.pop(session, {}).values():
            timer.cancel()

    def close(self) -> None:
        """Stop retrying writes that fail."""
        self._closed = True

    async def _delivered(self, item: Item) -> None:
        await self._surely(lambda: self.store.delivered([item.seq]))
        self.lend(item)
        self.changed(item.session)

    async def _removed(self, item: Item) -> None:
        await self._surely(lambda: self.store.remove([item.seq]))
        self.changed(item.session)

    async def _free(self, item: Item) -> None:
        await self._surely(lambda: self.store.give_back([item.seq]))
        self.freed(item)
        self.changed(item.session)

    def _expired(self, item: Item) -> None:
        leases = self._leases.get(item.session, {})
        leases.pop(item.seq, None)
        if not leases:
            self._leases.pop(item.session, None)
        self.start(self._free(item))

    async def _surely(self, change: Callable[[], Awaitable[None]]) -> None:
        """Retry until the change is written: the delivery itself cannot be undone."""
        while not self._closed:
            try:
                await change()
            except StoreError as error:
                logger.warning("A delivery cannot be saved yet: %s", error)
                await asyncio.sleep(_AGAIN)
            else:
                return

    def _on_task_done(self, session: str, task: "asyncio.Task[None]") -> None:
        under_way = self._under_way.get(session, set())
        under_way.discard(task)
        if not under_way:
            self._under_way.pop(session, None)
