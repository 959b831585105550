"""What processes need in order to agree: the sole right to do something for a while, a shared allowance, and what is to
be known after a restart.

These are small protocols. ``files`` is one backend; ``tests/contract`` holds every backend to the same behaviour, so
that a networked one can stand beside it.
"""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from os import getpid
from typing import Any, Protocol

__all__ = ["Budget", "Grant", "Lease", "Marks", "agent_of", "new_holder"]


@dataclass(frozen=True, slots=True)
class Grant:
    """A lease that was granted.

    ``token`` grows with every grant of a name and never repeats, so that a later holder is told from an earlier one.
    ``expires_at`` is in seconds since 1970. ``succeeds`` is the holder whose lease ran out before this grant without
    having been released, as far as that is still known: it may have died in the middle of its work.
    """

    name: str
    holder: str
    token: int
    expires_at: float
    succeeds: str | None = None


class Lease(Protocol):
    """The sole right to do something, for a limited time. Plain calls of less than a millisecond.

    A name is any string. All calls raise StoreError kinds when the backend cannot be asked.
    """

    def acquire(self, name: str, holder: str, ttl: float) -> Grant | None:
        """The lease for ``ttl`` seconds; None while anybody holds it, the same ``holder`` included."""
        ...

    def renew(self, grant: Grant, ttl: float) -> Grant | None:
        """The same lease with the same token for ``ttl`` seconds from now; None when it is not the holder's any more.

        A lease that ran out and that nobody has taken is given back to its holder.
        """
        ...

    def release(self, grant: Grant) -> None:
        """Give the lease back. Nothing happens when it is not the holder's any more."""
        ...

    def current(self, name: str) -> Grant | None:
        """Who holds the lease now; None when nobody does."""
        ...


class Budget(Protocol):
    """A number of calls within a time that all processes share. Plain calls of less than a millisecond."""

    def take(self, name: str, cost: int = 1, *, limit: int, window: float) -> bool:
        """True when ``cost`` more stay within ``limit`` in the last ``window`` seconds; only then they are counted.

        There is no window of this length in which more than ``limit`` were granted. Callers that share a name give
        the same window.
        """
        ...


class Marks(Protocol):
    """Where somebody has come to, and what else is to be known after a restart: small documents by kind and name.

    A name is any strings. One process writes a document, and reads what it wrote. Plain calls. All raise StoreError
    kinds when the backend cannot be asked.
    """

    def get(self, kind: str, *name: str) -> dict[str, Any] | None:
        """The document; None when there is none that this version understands."""
        ...

    def put(self, kind: str, document: dict[str, Any], *name: str) -> None:
        """Keep a document of JSON values; one that a newer version has written stays as it is."""
        ...

    def has(self, kind: str, *name: str) -> bool:
        """True when there is anything under this name."""
        ...

    def each(self, kind: str) -> Iterator[dict[str, Any]]:
        """All documents of a kind, in no order."""
        ...

    def prune(self, kind: str, keep: int) -> int:
        """Remove all but the ``keep`` of a kind that were put last; returns how many."""
        ...


def new_holder(agent: str) -> str:
    """A name for this process to hold leases under: no other process and no later one has the same."""
    return f"{agent}#{getpid()}-{secrets.token_hex(4)}"


def agent_of(holder: str) -> str:
    """The agent in whose process a holder was made.

    >>> agent_of("Alpha#12-0a1b2c3d")
    'Alpha'
    """
    return holder.rpartition("#")[0] or holder
