"""What a record consists of: the transcripts, and what the processes that share them need in order to agree."""

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
"""What a place that is no folder begins with, in small letters or in capitals."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a part takes: ``where`` it lies, for a person, its bytes, and the number of what is there."""

    part: str
    where: str
    bytes: int
    count: int


class Record(ABC):
    """Nine parts, each behind a contract of its own. Any number of processes open the same record.

    Opening creates nothing. For any thread; how code on an event loop calls a part, its contract says.
    """

    place: str
    """Where it lies, for a person."""
    store: GroupTranscriptStore
    """The transcripts; ``AsyncGroupTranscriptStore.over`` is its door for event loops."""
    members: MemberDirectory
    """Who is who."""
    leases: Lease
    """Who may do something now."""
    budgets: Budget
    """How often all together may do something."""
    marks: Marks
    """Where somebody has come to."""
    processes: Processes
    """Who lives."""

    @property
    @abstractmethod
    def signals(self) -> Signals:
        """Hints that something has changed: ``messages``, ``members``, ``decisions``, ``posts``."""

    @property
    @abstractmethod
    def outbox(self) -> "Postbox":
        """Posts on their way into groups."""

    @property
    @abstractmethod
    def decisions(self) -> "DecisionLog":
        """What each bot decided about each message."""

    @abstractmethod
    def shelf(self, folder: Path) -> "Shelf":
        """Where a room beside the record keeps what is its own: in ``folder``, and its tables where the record lies, if
        that is a database.
        """

    @abstractmethod
    def usage(self) -> list[Usage]:
        """How much lies where: ``transcripts``, ``outbox``, ``decisions``, and by other names what else takes room."""

    @abstractmethod
    def require(self, *, exists: bool = False, written: bool = False) -> None:
        """Raise StoreUnavailableError when it cannot be read; when there is none yet and there has to be one
        (``exists``); when it is to be ``written`` and cannot be. Leaves nothing behind.
        """

    @abstractmethod
    def check(self) -> list[Finding]:
        """What is well, and what is wrong, with where it lies: for the person who runs it. Leaves nothing behind."""

    @abstractmethod
    def close(self) -> None:
        """Release what is open; a part opens again when it is used again. Any number of times, and nothing happens to
        what others have open.
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

        ``options`` for a folder are those of ``GroupTranscriptStore``, and ``posting``, the ``OutboxLimits`` of its
        outbox; for ``postgresql://…`` those of ``PostgresRecord``. Raises ConfigError for an address that cannot be
        understood, or when the driver for it is not installed.
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
