"""What a store backend must do, and the values that cross the border.

The fronts in ``front.py`` check and shape arguments; a backend gets clean values. ``tests/contract`` holds every
backend to the same behaviour.
"""

from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from nanobot_transcript.entry import Entry, RecentMessage

__all__ = [
    "DEFAULT_SEGMENT_BYTES",
    "Changes",
    "Chat",
    "FarBackend",
    "Hit",
    "Line",
    "MaintenanceReport",
    "Page",
    "Progress",
    "Retention",
    "Standing",
    "StoreBackend",
    "VerifyReport",
]

DEFAULT_SEGMENT_BYTES: Final = 64 << 20
"""Size at which a chat's active segment is closed and a new one begun."""

Progress = Callable[[int, int | None], None]
"""Called with (done, total); total is None while unknown."""


class Page(NamedTuple):
    """Entries, oldest first, and the cursor from which reading goes on."""

    entries: list[Entry]
    cursor: str


class Hit(NamedTuple):
    """One search result."""

    session_key: str
    entry: Entry


class Chat(NamedTuple):
    """One transcript of the store: its size in bytes and the time of its last write (ms)."""

    session_key: str
    bytes: int
    last_write_ms: int


class Line(NamedTuple):
    """A line of a transcript as it was written, ops included, and the cursor behind it.

    ``entry`` is None for a line that no reader is shown; ``flaw`` says why: a second ``copy``, ``torn`` or ``foreign``.
    """

    cursor: str
    entry: Entry | None
    flaw: str = ""


class Standing(NamedTuple):
    """How far a transcript goes: the cursor of its end, its bytes, its last write and its last purge (ms, 0 = never).

    A chat that was purged and has nothing else has no bytes; one that cannot be read now has no cursor.
    """

    session_key: str
    end: str
    bytes: int
    last_write_ms: float
    purged_ms: float


@dataclass(frozen=True, slots=True)
class Changes:
    """What happened to messages behind a cursor: ids of the recalled or redacted ones (all ids of a message sent in
    parts), and of the edited ones. ``erased`` means that text may be gone without a line that says which, so look up
    every message again.
    """

    hidden: AbstractSet[str] = frozenset()
    edited: AbstractSet[str] = frozenset()
    erased: bool = False


@dataclass(frozen=True, slots=True)
class Retention:
    """How much of a transcript is kept. Whole closed segments are dropped, never part of one. None = no limit."""

    max_age_days: float | None = None
    max_bytes: int | None = None
    max_entries: int | None = None


@dataclass(slots=True)
class VerifyReport:
    """What a full reading of one transcript found; ``healed`` lists what was repaired, ``unmended`` what was not.

    ``read_only``: the place may not be written, so nothing was changed.
    """

    session_key: str
    segments: int = 0
    bytes: int = 0
    lines: int = 0
    entries: int = 0
    ops: int = 0
    duplicates: int = 0
    torn_lines: int = 0
    foreign_lines: int = 0
    read_only: bool = False
    healed: list[str] = field(default_factory=list)
    unmended: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """True when nothing is left to repair. Torn lines do not count: they were never acknowledged."""
        return not (self.duplicates or self.foreign_lines or self.unmended)


@dataclass(slots=True)
class MaintenanceReport:
    """What maintenance did to one transcript."""

    session_key: str
    erased_entries: int = 0
    dropped_segments: int = 0
    dropped_bytes: int = 0


class StoreBackend(Protocol):
    """A place where transcripts are kept. All methods may be called from any thread and any process.

    Positions are opaque cursors that stay valid across rotation, compaction and purge.
    """

    @property
    def place(self) -> str:
        """Where it is, as people write it."""
        ...

    @property
    def blocking(self) -> bool:
        """True when reads may wait for a disk or a network, so that event loops must use a thread."""
        ...

    @property
    def append_blocks(self) -> bool:
        """The same for ``append``, and for ``apply`` of an edit or a recall. Whatever erases text, as a redact, may
        wait.
        """
        ...

    def append(self, session_key: str, entry: Entry, max_wait: float | None = None) -> bool:
        """Record an entry. False when one of its ids was there already. ``max_wait`` bounds the wait for a lock (s)."""
        ...

    def apply(self, session_key: str, op: Entry, max_wait: float | None = None) -> bool:
        """Record an ``op`` line. False for a recall or redact of a target that was recalled or redacted before, for an
        edit of one, and for an edit whose ``mark`` is there already.
        """
        ...

    def flush(self, session_key: str, timeout: float) -> bool:
        """Wait until other processes can read what this process has acknowledged as recorded. False when ``timeout``
        seconds were not enough; True at once where they can read it as soon as ``append`` returns.
        """
        ...

    def get_recent(self, session_key: str, max_messages: int) -> list[RecentMessage]:
        """The newest messages, oldest first, edits applied, recalled ones left out."""
        ...

    def recent(self, session_key: str, limit: int) -> Page:
        """Like ``get_recent`` with full entries; the cursor is the end of the transcript."""
        ...

    def read(self, session_key: str, after: str | None, limit: int) -> Page:
        """Entries in file order from a cursor (None = the beginning), folded; the page's cursor goes on."""
        ...

    def read_back(self, session_key: str, before: str | None, limit: int) -> Page:
        """The last entries in file order before a cursor (None = the end), oldest first, folded; the page's cursor is
        the place before them. Fewer than ``limit`` only at the beginning of the transcript.
        """
        ...

    def end(self, session_key: str) -> str:
        """The cursor behind the last entry."""
        ...

    def follow(self, session_key: str, after: str | None) -> AsyncGenerator[Entry, None]:
        """Entries as they come, ``op`` lines included, without end: from ``after``, or from the moment in which the
        first one is asked for. The call itself does not wait; InvalidCursorError comes with the first entry.
        """
        ...

    def get(self, session_key: str, message_id: str) -> Entry | None:
        """One message by id, folded; None when unknown, recalled, or beyond the index's horizon."""
        ...

    def get_many(self, session_key: str, message_ids: Iterable[str]) -> dict[str, Entry]:
        """The messages that ``get`` would find, keyed by the ids that were asked for."""
        ...

    def changes(self, session_key: str, after: str) -> Changes:
        """What was recalled, erased or edited behind a cursor. Cheap when nothing was."""
        ...

    def search(self, query: str, session_key: str | None, limit: int) -> list[Hit]:
        """Messages whose text contains ``query`` literally, newest first."""
        ...

    def chats(self) -> list[Chat]:
        """All transcripts, by session key."""
        ...

    def scan(self, session_key: str) -> Iterator[Entry]:
        """Every entry, folded, in file order; for export and statistics."""
        ...

    def purge(
        self, session_key: str | None, *, senders: frozenset[str], before_ms: float | None
    ) -> list[MaintenanceReport]:
        """Erase text now: a whole chat, everything of one person, everything older than a time; filters combine.

        ``senders`` are all ids of the person; empty means everybody.
        """
        ...

    def purged_at(self, session_key: str) -> float:
        """When something of a chat was last purged (ms), 0 when never: older messages must not be recorded again by
        themselves.
        """
        ...

    def maintain(self, session_keys: Sequence[str] | None, retention: Retention) -> list[MaintenanceReport]:
        """Erase recalled and redacted text and drop what retention no longer keeps."""
        ...

    def verify(self, session_key: str) -> VerifyReport:
        """Read everything, heal what can be healed and report; where the place may not be written, only read."""
        ...

    def close(self) -> None:
        """Release files; the store opens them again when it is used again."""
        ...


class FarBackend(StoreBackend, Protocol):
    """A backend over a network. A spool hands on to it what this process has already acknowledged as recorded.

    Every call raises StoreUnavailableError when the other side cannot be reached or does not answer.
    """

    @property
    def address(self) -> str:
        """Where it is, without asking it: the same for everybody who names it the same way, whatever user they log in
        as. It tells records apart as long as ``identity`` is not known.
        """
        ...

    def identity(self) -> str:
        """Tells this record from all others for good: the same under another address, after a failover and after a
        restore, and a new one for a record that was created again. It keeps a spool from being emptied into the wrong
        record.
        """
        ...

    def write_many(self, session_key: str, lines: Sequence[Entry], clock_ms: float) -> list[bool]:
        """Record lines of one chat in this order, messages and ``op`` lines mixed: all of them, or none. Returns for
        each what ``append`` or ``apply`` would have, and does what they do: a sender's own words replace what was
        overheard.

        The same lines may come again when the answer to the first call was lost, and are not written twice. So each
        line has something to be recognised by: a message an id, a recall its target, an edit its ``mark`` or the fact
        that it is its sender's own report. Answers for repeated lines may be False.

        Each line has ``rts``, the time of receipt (ms) by a clock that says ``clock_ms`` now. Clocks of hosts differ,
        so only the age of a line counts, reckoned back from the beginning of the call, before any lock is waited for.
        Lines received before a purge must not undo it: ``Purged.left_of`` decides what stays of each, and an edit whose
        message is not on record is dropped. A line of which nothing is left is answered False.

        Raises InvalidEntryError when one of the lines can never be recorded; then none is.
        """
        ...
