"""What processes need in order to agree: exclusive rights for a while, shared allowances, notes that survive a restart,
signals of change, and which processes are alive.

These are small protocols. ``files`` is one backend, PostgreSQL another; ``tests/contract`` holds both to the same
behaviour.
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
"""Seconds; the window of hourly budgets."""

LONGEST_TTL: Final = 7 * 86_400.0
"""Seconds; the longest ``ttl`` of a lease."""

LONGEST_HOLDER: Final = 300
"""Characters of a holder's name that a lease keeps."""

_ID: Final = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Grant:
    """A granted lease.

    ``token`` grows with every grant of a name and never repeats, so a later holder can be told from an earlier one.
    ``expires_at`` is in seconds since 1970. ``succeeds`` is the previous holder if its lease ran out without being
    released, as far as known: it may have died in the middle of its work.
    """

    name: str
    holder: str
    token: int
    expires_at: float
    succeeds: str | None = None


class Lease(Protocol):
    """The exclusive right to do something, for a limited time; ``AsyncLease`` is the front for event loops.

    A name is any string, a ``ttl`` above 0 and at most a week; else ConfigError. All calls raise StoreError kinds when
    the backend cannot be asked.
    """

    @property
    def blocking(self) -> bool:
        """True when a call may wait for a network; else it is quick, or waits a moment for a lock here."""
        ...

    def acquire(self, name: str, holder: str, ttl: float) -> Grant | None:
        """The lease for ``ttl`` seconds; None while anybody holds it, including the same ``holder``."""
        ...

    def renew(self, grant: Grant, ttl: float) -> Grant | None:
        """The same lease with the same token for ``ttl`` seconds from now; None when the holder no longer has it.

        A lease that ran out and that nobody has taken is given back to its holder.
        """
        ...

    def release(self, grant: Grant) -> None:
        """Give the lease back. Does nothing when the holder no longer has it."""
        ...

    def current(self, name: str) -> Grant | None:
        """Who holds the lease now; None when nobody does."""
        ...


class Budget(Protocol):
    """A limited number of calls per time, shared by all processes; ``AsyncBudget`` is the front for event loops."""

    @property
    def blocking(self) -> bool:
        """True when a call may wait for a network; else it is quick, or waits a moment for a lock here."""
        ...

    def take(self, name: str, cost: int = 1, *, limit: int, window: float) -> bool:
        """True when ``cost`` more stay within ``limit`` in the last ``window`` seconds; only then are they counted.

        No window of this length, wherever it begins, has more than ``limit`` grants, unless the clock is changed.
        Callers that share a name must give the same window. Raises ConfigError for a ``cost`` below 0 and a ``window``
        that is not above 0.
        """
        ...

    def used(self, name: str, *, window: float) -> int:
        """How much of the last ``window`` seconds is used; takes nothing. Raises ConfigError as ``take`` does."""
        ...


class Marks(Protocol):
    """How far somebody has come, and other notes that must survive a restart: small documents by kind and name.

    A name is any sequence of strings; different sequences are different names. One process writes a document, and reads
    what it wrote. Plain calls. All raise StoreError kinds when the backend cannot be asked.
    """

    @property
    def blocking(self) -> bool:
        """True when a call may wait for a network; else it is quick, or waits a moment for a lock here."""
        ...

    def get(self, kind: str, *name: str) -> dict[str, Any] | None:
        """The document; None when there is none that this version understands."""
        ...

    def put(self, kind: str, document: dict[str, Any], *name: str) -> None:
        """Save a document of JSON values; one that a newer version has written is left alone."""
        ...

    def has(self, kind: str, *name: str) -> bool:
        """True when there is anything under this name."""
        ...

    def each(self, kind: str) -> Iterator[dict[str, Any]]:
        """All documents of a kind, in no order."""
        ...

    def prune(self, kind: str, keep: int) -> int:
        """Remove all but the ``keep`` newest of a kind; returns how many. Among marks written within one step of a
        clock, any may count as the newest.
        """
        ...


class KeptMark(NamedTuple):
    """A mark as every backend stores it: only the digest of its name (``digest_of``). ``document`` is None when a newer
    version has written it.
    """

    kind: str
    digest: str
    document: dict[str, Any] | None


class Ear(Protocol):
    """A listener to signals. For one event loop."""

    async def wait(self, timeout: float) -> frozenset[str]:  # noqa: ASYNC109 - its end is no error
        """The names signalled since the last call, or since listening began: as soon as there is one; empty after
        ``timeout`` seconds.
        """
        ...


class Signals(Protocol):
    """Hints that something has changed. A hint only means "look again": it may come twice, or for nothing.

    A process that starts listening before it looks misses no change after its look, by whichever process.
    """

    def listen(self, *names: str) -> AbstractContextManager[Ear]:
        """Listen to these names for as long as the ``with`` lasts. For event loops."""
        ...

    def tell(self, name: str) -> None:
        """Wake listeners of a name. Never raises and never waits; for any thread."""
        ...


class Processes(Protocol):
    """Which processes are alive. An id stands for a process from ``join`` until it ends, however it ends."""

    def join(self) -> str:
        """This process's id, once others can see that it is alive. Raises StoreError kinds."""
        ...

    def alive(self, other: str) -> bool:
        """False once the process behind an id has ended, or when there never was one. Raises StoreError kinds."""
        ...

    def leave(self) -> None:
        """Be seen as ended from now on; the next ``join`` gives another id."""
        ...


def digest_of(kind: str, name: Sequence[str]) -> str:
    """The digest (32 hex digits) under which a mark is stored, because a name may be private, such as that of a private
    chat.

    Different names of a kind have different digests.
    """
    # A part may contain the separator, so escape it; digests of all other names stay what they always were.
    told = "\0".join(part.replace("\1", "\1\1").replace("\0", "\1\2") for part in name) if name else "\1"
    salted = f"private:{told}" if kind == "private" else told
    return hashlib.sha256(salted.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def is_id(text: str) -> bool:
    """True for 32 hex digits: the id of a process, or the digest of a mark's name."""
    return _ID.fullmatch(text) is not None


def new_holder(agent: str) -> str:
    """A name for this process to hold leases under; no other process, and no later one, has the same."""
    return f"{agent}#{getpid()}-{secrets.token_hex(4)}"


def agent_of(holder: str) -> str:
    """The agent in whose process a holder was made.

    >>> agent_of("Alpha#12-0a1b2c3d")
    'Alpha'
    """
    return holder.rpartition("#")[0] or holder
