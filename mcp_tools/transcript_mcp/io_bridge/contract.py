"""The contract of a store of queues; ``tests/contract/io_bridge`` tests every backend against it."""

from collections.abc import Sequence
from typing import Protocol

from transcript_mcp.io_bridge.values import Direction, Item, Put, Queued, SessionState

__all__ = ["QueueStore"]


class QueueStore(Protocol):
    """Durable queues of sessions, first in, first out. What ``put`` has accepted survives the end of any process.

    A taken item belongs to the process that took it until that gives it back or ends; then it is free again, unless it
    was delivered. Arguments were checked by ``rules``. Every method may raise StoreError; then nothing has changed.
    """

    async def put(
        self, session: str, direction: Direction, text: str, key: str | None = None, *, confirms: bool = False
    ) -> Put:
        """Append an item. If the ``key`` was used before in this direction of the session, nothing is appended.

        With ``confirms`` the session's inputs are confirmed in the same transaction, as by ``confirm`` with
        ``given_back``. Raises QueueFullError when the session or the store is full.
        """
        ...

    async def take(self, session: str, direction: Direction) -> Item | None:
        """Take the oldest free item for this process; None when there is none."""
        ...

    async def peek(self, session: str, direction: Direction) -> Item | None:
        """The item that ``take`` would return, without taking it."""
        ...

    async def give_back(self, seqs: Sequence[int]) -> None:
        """Free items that this process took, each in its old place."""
        ...

    def note(self, seq: int) -> None:
        """Note that an item has arrived, so that this is known even if this process is killed now.

        ``delivered`` or ``remove`` follows. Quick, for the event loop; never raises.
        """
        ...

    async def delivered(self, seqs: Sequence[int]) -> None:
        """Mark items of this process as delivered; they can be confirmed now."""
        ...

    async def remove(self, seqs: Sequence[int]) -> None:
        """Remove items and erase their text."""
        ...

    async def confirm(self, session: str, *, given_back: bool) -> int:
        """Remove the session's delivered inputs. Returns their number.

        With ``given_back`` this includes inputs that were delivered and then freed, not being confirmed in time.
        """
        ...

    async def adopt(self) -> tuple[list[Item], int]:
        """Take over from processes that have ended. Returns the items that they had delivered (without texts), which
        now belong to this process, and the number of other items, which are free again.
        """
        ...

    async def changed(self) -> bool:
        """Whether another process has changed something since the last call; the first call is False."""
        ...

    async def sessions(self, limit: int) -> list[SessionState]:
        """The sessions, the most recently active first."""
        ...

    async def queue(self, session: str, limit: int, characters: int) -> list[Queued]:
        """The items of a session, oldest first, with at most ``characters`` of each text."""
        ...

    async def sweep(self) -> int:
        """Remove sessions that were unused for too long. Returns their number."""
        ...

    def close(self) -> None:
        """Close the files. Items of this process become free for others. Any thread."""
        ...
