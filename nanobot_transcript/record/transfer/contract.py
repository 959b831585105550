"""What a place must offer so that a record can be moved into or out of it."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, Protocol

from nanobot_transcript.coordination.contract import KeptMark
from nanobot_transcript.entry import Entry
from nanobot_transcript.record.contract import Record
from nanobot_transcript.record.transfer.waypoint import MOVED, Waypoint, said_as
from nanobot_transcript.sql.contract import Database
from nanobot_transcript.store.contract import Line, Standing
from nanobot_transcript.store.lines.ids import ids_of
from nanobot_transcript.store.lines.ops import is_op

__all__ = ["DecisionRecords", "MarkRows", "Spelled", "Transcripts", "TransferPlace"]


class Spelled(NamedTuple):
    """A line, the cursor behind it in its source, and its bytes as our stores encode it."""

    cursor: str
    entry: Entry
    body: bytes


class Transcripts(Protocol):
    """Transcripts as a whole. Plain calls; they raise StoreError kinds."""

    def standings(self) -> Iterator[Standing]:
        """How far each transcript goes, including chats of which only a purge is known."""
        ...

    def end(self, session_key: str) -> str:
        """The cursor behind the last line."""
        ...

    def start(self, session_key: str) -> str:
        """The cursor in front of the first line."""
        ...

    def lines(self, session_key: str, after: str | None, upto: str | None = None) -> Iterator[Line]:
        """Every line behind a cursor, up to another one."""
        ...

    def bodies(self, session_key: str, after: str) -> Iterator[tuple[str, bytes]]:
        """The undecoded bytes of every line behind a cursor, without line ends, with the cursor behind each."""
        ...

    def line_at(self, session_key: str, cursor: str) -> Entry | None:
        """The line that ends at a cursor; None when it is gone. Raises InvalidCursorError when the cursor cannot be of
        this transcript.
        """
        ...

    def hidden(self, session_key: str) -> set[str]:
        """Every id of the messages that were recalled or redacted."""
        ...

    def knows(self, session_key: str, message_id: str, key: str) -> bool:
        """True when the index has a line about a message under this key."""
        ...

    def note_purge(self, session_key: str, moment_ms: float) -> None:
        """Note that something was purged at a moment, unless a later purge is known."""
        ...


class MarkRows(Protocol):
    """Marks by the digests of their names."""

    def kept(self) -> Iterator[KeptMark]:
        """Every mark except those of kind ``moved``; the one that was put last comes last."""
        ...

    def keep(self, mark: KeptMark) -> None:
        """Put a mark."""
        ...

    def find(self, kind: str, digest: str) -> dict[str, Any] | None:
        """The document of a mark; None when there is none that this version understands."""
        ...

    def each(self, kind: str) -> Iterator[dict[str, Any]]:
        """All documents of a kind."""
        ...


class DecisionRecords(Protocol):
    """Decisions as they are stored."""

    def chats(self) -> list[str]:
        """The session keys of all chats with decisions."""
        ...

    def records(self, session_key: str) -> list[dict[str, Any]]:
        """All records of a chat, oldest first."""
        ...

    def fitting(self, records: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        """The newest records of a chat that there is room for."""
        ...

    def add(self, session_key: str, records: Sequence[dict[str, Any]]) -> None:
        """Add decisions of another record."""
        ...


class TransferPlace(ABC):
    """One of the two places of a move. ``identity`` is the same for the same place in every process."""

    record: Record
    identity: str
    transcripts: Transcripts
    marks: MarkRows
    decisions: DecisionRecords
    posts: Database
    """The tables of the outbox."""
    atomic: bool
    """True when a waypoint and the lines before it are saved together or not at all."""

    def __init__(self) -> None:
        self.standing: Counter[str] = Counter()
        """Lines of the current chat that may or may not be among those already moved, counted by ``said_as``."""

    def waypoints(self, origin: str) -> dict[str, Waypoint]:
        """How far each chat has been moved from there."""
        found = (Waypoint.of(document) for document in self.marks.each(MOVED))
        return {waypoint.chat: waypoint for waypoint in found if waypoint is not None and waypoint.origin == origin}

    def keep(self, waypoint: Waypoint) -> None:
        """Save how far a chat has been moved."""
        self.marks.keep(waypoint.as_mark())

    def nameless(self) -> list[str]:
        """Files that look like transcripts but have lost their session key."""
        return []

    @abstractmethod
    def append(self, lines: Sequence[Spelled], at: Waypoint, written_ms: float) -> tuple[int, Waypoint]:
        """Append lines unchanged, and save the waypoint behind them; the last one was written at ``written_ms``.

        Returns for how many there was room at once; 0 when somebody else has written behind the waypoint.
        """

    @abstractmethod
    def merge(self, lines: Sequence[Spelled], at: Waypoint) -> tuple[int, Waypoint]:
        """Record the lines that are not there, as any writer would, and save the waypoint behind them.

        Returns how many were not there.
        """

    def behind(self, session_key: str, after: str, upto: str | None = None) -> list[Entry]:
        """The lines behind a cursor."""
        lines = self.transcripts.lines(session_key, after, upto)
        return [line.entry for line in lines if line.entry is not None]

    def not_there(self, lines: Sequence[Spelled]) -> list[Entry]:
        """The lines that are not among ``standing``. Messages with an id are left to the store's duplicate check."""
        return [line.entry for line in lines if not self._stands(line.entry)]

    def _stands(self, entry: Entry) -> bool:
        has_id = not is_op(entry) and ids_of(entry)
        if has_id or not self.standing[told := said_as(entry)]:
            return False
        self.standing[told] -= 1
        return True

    def alone(self, part: str) -> AbstractContextManager[object]:
        """Keep other processes from moving this part here. Raises StoreBusyError while one does."""
        return nullcontext()

    @abstractmethod
    def settle(self) -> None:
        """Make sure that everything brought is on the disk, as far as the place decides that."""

    @abstractmethod
    def close(self) -> None:
        """Allow others to move into the place; the record stays open."""
