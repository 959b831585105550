"""What becomes of an item after it was handed out: written down, lent until it is confirmed, or put back."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, TypeAlias

from nanobot_transcript.errors import StoreError
from transcript_mcp.io_bridge.contract import QueueStore
from transcript_mcp.io_bridge.values import Item

__all__ = ["Settling", "Start"]

logger = logging.getLogger(__name__)

_AGAIN: Final = 5.0
_PATIENCE: Final = 1.0

Start: TypeAlias = Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"]
"""Runs something beside all else."""


class Settling:
    """Keeps the store informed. ``freed`` is called when an item can be had again, ``changed`` when its state did.

    ``lease`` is in seconds: an input that nobody confirms within it is freed.
    """

    def __init__(
        self,
        store: QueueStore,
        lease: float,
        start: Start,
        freed: Callable[[Item], None],
        changed: Callable[[str], None],
    ) -> None:
        self._store = store
        self._lease = lease
        self._start = start
        self._freed = freed
        self._changed = changed
        self._leases: dict[str, dict[int, asyncio.TimerHandle]] = {}
        self._under_way: dict[str, set[asyncio.Task[None]]] = {}
        self._closed = False

    def settle(self, item: Item, arrived: bool) -> None:
        """An item has reached whoever asked, or it has not."""
        if arrived:
            self._store.note(item.seq)
        if not arrived:
            work = self._free(item)
        elif item.direction == "in":
            work = self._delivered(item)
        else:
            work = self._removed(item)
        task = self._start(work)
        self._under_way.setdefault(item.session, set()).add(task)
        task.add_done_callback(lambda done: self._done(item.session, done))

    async def settled(self, session: str) -> None:
        """Wait a moment until what has arrived in a session is written down."""
        if under_way := self._under_way.get(session):
            await asyncio.wait(list(under_way), timeout=_PATIENCE)

    def lend(self, item: Item) -> None:
        """Free an input that was delivered, unless it is confirmed in time."""
        timer = asyncio.get_running_loop().call_later(self._lease, self._expired, item)
        self._leases.setdefault(item.session, {})[item.seq] = timer

    def confirmed(self, session: str) -> None:
        """A session has confirmed what was delivered to it."""
        for timer in self._leases.pop(session, {}).values():
            timer.cancel()

    def close(self) -> None:
        """Give up on what cannot be written down."""
        self._closed = True

    async def _delivered(self, item: Item) -> None:
        await self._surely(lambda: self._store.delivered([item.seq]))
        self.lend(item)
        self._changed(item.session)

    async def _removed(self, item: Item) -> None:
        await self._surely(lambda: self._store.remove([item.seq]))
        self._changed(item.session)

    async def _free(self, item: Item) -> None:
        await self._surely(lambda: self._store.give_back([item.seq]))
        self._freed(item)
        self._changed(item.session)

    def _expired(self, item: Item) -> None:
        leases = self._leases.get(item.session, {})
        leases.pop(item.seq, None)
        if not leases:
            self._leases.pop(item.session, None)
        self._start(self._free(item))

    async def _surely(self, change: Callable[[], Awaitable[None]]) -> None:
        """What has happened already has to be written down, as soon as the store lets us."""
        while not self._closed:
            try:
                await change()
            except StoreError as error:
                logger.warning("A delivery cannot be saved yet: %s", error)
                await asyncio.sleep(_AGAIN)
            else:
                return

    def _done(self, session: str, task: "asyncio.Task[None]") -> None:
        under_way = self._under_way.get(session, set())
        under_way.discard(task)
        if not under_way:
            self._under_way.pop(session, None)
