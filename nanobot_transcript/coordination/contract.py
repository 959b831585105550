"""What processes need in order to agree: the sole right to do something for a while, a shared allowance, what is to be
known after a restart, that something has changed, and who still lives.

These are small protocols. ``files`` is one backend; ``tests/contract`` holds every backend to the same behaviour, so
that a networked one can stand beside it.
"""

import hashlib
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from os import getpid
from typing import Any, Final, NamedTuple, Protocol

__all__ = [
    "HOUR",
    "LONGEST_HOLDER",
    "LONGEST_TTL",
    "Budget",
    "Ear",
    "Grant",
    "KeptMark",
    "Lease",
    "Marks",
    "Processes",
    "Signals",
    "agent_of",
    "digest_of",
    "is_id",
    "new_holder",
]

HOUR: Final = 3600.0
"""The window, in seconds, of budgets that are given by the hour."""

LONGEST_TTL: Final = 7 * 86_400.0
"""Seconds for which a lease can be asked for."""

LONGEST_HOLDER: Final = 300
"""Characters of a holder's name that a lease keeps."""

_ID: Final = re.compile(r"[0-9a-f]{32}")


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
    """The sole right to do something, for a limited time; ``AsyncLease`` is the door for event loops.

    A name is any string, a ``ttl`` above 0 and at most a week; ConfigError for any other one. All calls raise
    StoreError kinds when the backend cannot be asked.
    """

    @property
    def blocking(self) -> bool:
        """True when a call may wait for a network; else it is quick, or waits a moment for a lock here."""
        ...

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
    """A number of calls within a time that all processes share; ``AsyncBudget`` is the door for event loops."""

    @property
    def blocking(self) -> bool:
        """True when a call may wait for a network; else it is quick, or waits a moment for a lock here."""
        ...

    def take(self, name: str, cost: int = 1, *, limit: int, window: float) -> bool:
        """True when ``cost`` more stay within ``limit`` in the last ``window`` seconds; only then they are counted.

        There is no window of this length, wherever it begins, in which more than ``limit`` were granted; but for the
        steps of a clock. Callers that share a name give the same window. Raises ConfigError for a ``cost`` below 0 and
        a ``window`` that is not above 0.
        """
        ...

    def used(self, name: str, *, window: float) -> int:
        """How many of the last ``window`` seconds count now; takes nothing. Raises ConfigError as ``take`` does."""
        ...


class Marks(Protocol):
    """Where somebody has come to, and what else is to be known after a restart: small documents by kind and name.

    A name is any strings, and no two names are one. One process writes a document, and reads what it wrote. Plain
    calls. All raise StoreError kinds when the backend cannot be asked.
    """

    @property
    def blocking(self) -> bool:
        """True when a call may wait for a network; else it is quick, or waits a moment for a lock here."""
        ...

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
        """Remove all but the ``keep`` of a kind that were put last; returns how many. Of those that were put within
        one step of a clock, any may count as the last.
        """
        ...


class KeptMark(NamedTuple):
    """A mark as every backend keeps it: of its name there is a digest alone (``digest_of``). ``document`` is None where
    a newer version has written it.
    """

    kind: str
    digest: str
    document: dict[str, Any] | None


class Ear(Protocol):
    """What listens to signals. For one event loop."""

    async def wait(self, timeout: float) -> frozenset[str]:  # noqa: ASYNC109 - its end is no error
        """The names that were told since the last call, or since it began to listen: as soon as there is one, and none
        after ``timeout`` seconds.
        """
        ...


class Signals(Protocol):
    """Hints that something has changed. A hint says to look again and no more: it may come twice, or for nothing.

    Who listens before it looks misses nothing that was told after its look, by whichever process.
    """

    def listen(self, *names: str) -> AbstractContextManager[Ear]:
        """Listen to these names for as long as the ``with`` lasts. For event loops."""
        ...

    def tell(self, name: str) -> None:
        """Wake whoever listens to a name. Never raises and never waits; for any thread."""
        ...


class Processes(Protocol):
    """Which processes live. An id stands for a process from ``join`` until that ends, however it ends."""

    def join(self) -> str:
        """This process's id, once others can see that it lives. Raises StoreError kinds."""
        ...

    def alive(self, other: str) -> bool:
        """False once the process behind an id has ended, or when there never was one. Raises StoreError kinds."""
        ...

    def leave(self) -> None:
        """Be seen as ended from now on; the next ``join`` gives another id."""
        ...


def digest_of(kind: str, name: Sequence[str]) -> str:
    """What a mark is called where its name is not to be read, such as that of a private chat: 32 hex digits.

    No two names of a kind are one.
    """
    # A part may hold what parts are joined with; then they are told apart, and all other names stay as they were.
    told = "\0".join(part.replace("\1", "\1\1").replace("\0", "\1\2") for part in name) if name else "\1"
    salted = f"private:{told}" if kind == "private" else told
    return hashlib.sha256(salted.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def is_id(text: str) -> bool:
    """True for 32 hex digits: the id of a process, or the digest of a mark's name."""
    return _ID.fullmatch(text) is not None


def new_holder(agent: str) -> str:
    """A name for this process to hold leases under: no other process and no later one has the same."""
    return f"{agent}#{getpid()}-{secrets.token_hex(4)}"


def agent_of(holder: str) -> str:
    """The agent in whose process a holder was made.

    >>> agent_of("Alpha#12-0a1b2c3d")
    'Alpha'
    """
    return holder.rpartition("#")[0] or holder
