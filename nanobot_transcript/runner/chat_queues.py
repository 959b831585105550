"""Work in order per chat, several chats at a time, up to a limit."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

__all__ = ["Lanes"]

logger = logging.getLogger(__name__)

_T = TypeVar("_T")


class Lanes(Generic[_T]):
    """A lane per key: its items are handled one after the other; at most ``parallel`` lanes work at a time.

    At most ``backlog`` items wait in a lane; one more pushes out the oldest. An exception of the handler is logged and
    ends only that item.
    """

    def __init__(self, handle: Callable[[_T], Awaitable[None]], *, parallel: int = 8, backlog: int = 200) -> None:
        self._handle: Callable[[_T], Awaitable[None]] = handle
        self._backlog: int = backlog
        self._slots: asyncio.Semaphore = asyncio.Semaphore(parallel)
        self._waiting: dict[str, deque[_T]] = {}
        self._workers: set[asyncio.Task[None]] = set()

    @property
    def busy(self) -> bool:
        """True while something is being handled or waiting."""
        return bool(self._workers)

    def put(self, key: str, item: _T) -> _T | None:
        """Add an item to its lane; returns the one that was pushed out."""
        lane = self._waiting.get(key)
        if lane is None:
            lane = self._waiting[key] = deque()
            worker = asyncio.get_running_loop().create_task(self._work(key, lane))
            self._workers.add(worker)
            worker.add_done_callback(self._workers.discard)
        lane.append(item)
        return lane.popleft() if len(lane) > self._backlog else None

    async def finish(self, grace: float | None = None) -> bool:
        """Wait until every lane is empty, at most ``grace`` seconds (None: as long as it takes), then cancel.

        True when nothing had to be cancelled.
        """
        if not self._workers:
            return True
        _, late = await asyncio.wait(self._workers, timeout=grace)
        for worker in late:
            worker.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        return not late

    def clear(self) -> list[_T]:
        """Remove and return the items that nobody has started on."""
        dropped = [item for lane in self._waiting.values() for item in lane]
        for lane in self._waiting.values():
            lane.clear()
        return dropped

    async def _work(self, key: str, lane: deque[_T]) -> None:
        try:
            while lane:
                async with self._slots:
                    if lane:  # it may have been emptied by ``clear``
                        await self._handled(lane.popleft())
        finally:
            self._waiting.pop(key, None)

    async def _handled(self, item: _T) -> None:
        try:
            await self._handle(item)
        except Exception:
            logger.exception("Handling a message failed")
