"""What a store of queues has to do; ``tests/contract/io_bridge`` holds every backend to it."""

from collections.abc import Sequence
from typing import Protocol

from transcript_mcp.io_bridge.values import Direction, Item, Put, Queued, SessionState

__all__ = ["QueueStore"]


class QueueStore(Protocol):
    """Durable queues of sessions, first in, first out. What ``put`` has accepted survives the end of any process.

    An item that was taken belongs to the process that took it until that gives it back, or ends: then it is free for
    the next one, unless it was delivered. Arguments are clean: ``rules`` has looked at them. Every method may raise
    StoreError kinds; then nothing was changed.
    """

    async def put(
        self, session: str, direction: Direction, text: str, key: str | None = None, *, confirms: bool = False
    ) -> Put:
        """Append an item. With a ``key`` that this direction of the session knows, nothing is appended.

        With ``confirms`` the session's inputs are confirmed with it, as by ``confirm`` with ``given_back``: both happen
        or neither. Raises QueueFullError when the session, or the store, holds as much as it may.
        """
        ...

    async def take(self, session: str, direction: Direction) -> Item | None:
        """The oldest item that nobody has, for this process alone; None when there is none."""
        ...

    async def peek(self, session: str, direction: Direction) -> Item | None:
        """What ``take`` would give, and it stays."""
        ...

    async def give_back(self, seqs: Sequence[int]) -> None:
        """Items that this process took are free again, each at its old place."""
        ...

    def note(self, seq: int) -> None:
        """An item that this process took has reached whoever asked: outlives this process from now on.

        ``delivered`` or ``remove`` follow. Quick, on the event loop; never raises.
        """
        ...

    async def delivered(self, seqs: Sequence[int]) -> None:
        """Items that this process took have reached whoever asked; they can be confirmed now."""
        ...

    async def remove(self, seqs: Sequence[int]) -> None:
        """Items are done with; their text is erased."""
        ...

    async def confirm(self, session: str, *, given_back: bool) -> int:
        """Remove the session's delivered inputs and tell how many there were.

        With ``given_back`` also those that were delivered and given back meanwhile, as nobody confirmed them in time.
        """
        ...

    async def adopt(self) -> tuple[list[Item], int]:
        """Take over what processes held that have ended: what they delivered (without the texts) is this process's now.

        What they did not deliver is free again; the number says how much that was.
        """
        ...

    async def changed(self) -> bool:
        """Whether another process has changed something since the last call; the first call is False."""
        ...

    async def sessions(self, limit: int) -> list[SessionState]:
        """The sessions, the most recently active first."""
        ...

    async def queue(self, session: str, limit: int, characters: int) -> list[Queued]:
        """What a session holds, oldest first; ``characters`` of each text at the most."""
        ...

    async def sweep(self) -> int:
        """Remove sessions in which nothing happened for too long; how many."""
        ...

    def close(self) -> None:
        """Release the files. What this process holds is free for others. Any thread."""
        ...
