"""What a record consists of: the transcripts, and everything else that the processes sharing them need."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from nanobot_transcript.coordination.contract import Budget, Lease, Marks, Processes, Signals
from nanobot_transcript.errors import ConfigError
from nanobot_transcript.findings import Finding
from nanobot_transcript.store.front import GroupTranscriptStore
from nanobot_transcript.store.members import MemberDirectory

if TYPE_CHECKING:
    from nanobot_transcript.outbox.contract import Postbox
    from nanobot_transcript.relevance.decision_log import DecisionLog
    from nanobot_transcript.sql.location import Shelf

__all__ = ["ADDRESSES", "Record", "Usage"]

ADDRESSES: Final = ("postgresql://", "postgres://")
"""How the address of a database begins (in any case); every other place is a folder."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a part takes up: ``where`` it is, as people write it, its bytes, and how many items it has."""

    part: str
    where: str
    bytes: int
    count: int


class Record(ABC):
    """Nine parts, each behind its own contract. Any number of processes open the same record.

    Opening creates nothing. For any thread; each part's contract says how code on an event loop calls it.
    """

    place: str
    """Where it is, as people write it."""
    store: GroupTranscriptStore
    """The transcripts; ``AsyncGroupTranscriptStore.over`` is the front for event loops."""
    members: MemberDirectory
    """Who is who."""
    leases: Lease
    """Who may do something now."""
    budgets: Budget
    """How often all processes together may do something."""
    marks: Marks
    """How far somebody has come."""
    processes: Processes
    """Which processes are alive."""

    @property
    @abstractmethod
    def signals(self) -> Signals:
        """Hints that something has changed: ``messages``, ``members``, ``decisions``, ``posts``."""

    @property
    @abstractmethod
    def outbox(self) -> "Postbox":
        """Posts waiting to be sent into groups."""

    @property
    @abstractmethod
    def decisions(self) -> "DecisionLog":
        """What each bot decided about each message."""

    @abstractmethod
    def shelf(self, folder: Path) -> "Shelf":
        """Where another room keeps its own data: files in ``folder``; tables in the record's database, if it is one,
        else in ``folder`` too.
        """

    @abstractmethod
    def usage(self) -> list[Usage]:
        """The size of ``transcripts``, ``outbox``, ``decisions``, and, under other names, of whatever else takes up
        space.
        """

    @abstractmethod
    def require(self, *, exists: bool = False, written: bool = False) -> None:
        """Raise StoreUnavailableError when it cannot be read, when it does not exist but must (``exists``), or when it
        must be ``written`` and cannot be. Leaves nothing behind.
        """

    @abstractmethod
    def check(self) -> list[Finding]:
        """What is right and wrong with the place of the record, for the person who runs it. Leaves nothing behind."""

    @abstractmethod
    def close(self) -> None:
        """Release what is open; a part opens again when it is used again. May be called any number of times, and does
        not affect other processes.
        """

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

    @staticmethod
    def open(place: str | Path | None = None, **options: Any) -> "Record":
        """The record in a folder, by default ``~/.nanobot/transcripts``, or at the address of a database.

        For a folder, ``options`` are those of ``GroupTranscriptStore``, and ``posting``, the ``OutboxLimits`` of its
        outbox; for ``postgresql://…`` those of ``PostgresRecord``. Raises ConfigError for an address that cannot be
        parsed, or when its driver is not installed.
        """
        if isinstance(place, str) and place.lower().startswith(ADDRESSES):
            return _at(place, options)
        from nanobot_transcript.record.files import FilesRecord

        return FilesRecord(place, **options)


def _at(address: str, options: dict[str, Any]) -> Record:
    try:
        from nanobot_transcript.record.postgres.record import PostgresRecord
    except ImportError as error:
        raise ConfigError(
            f"A record in PostgreSQL needs a driver that is not installed: {error}.",
            hint="pip install 'nanobot-transcript[postgres]', or from a clone: pip install '.[postgres]'.",
        ) from error
    return PostgresRecord(address, **options)
