"""Moving a whole record: chat by chat, then its other parts. If it is interrupted, the next run continues."""

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from nanobot_transcript.errors import ConfigError, StoreError, StoreFullError
from nanobot_transcript.record.contract import Record
from nanobot_transcript.record.files import FilesRecord
from nanobot_transcript.record.transfer.carrier import Carrier, ChatReport, tell
from nanobot_transcript.record.transfer.comparison import compare, seen_by_readers
from nanobot_transcript.record.transfer.contract import TransferPlace
from nanobot_transcript.record.transfer.cursors import Cursors
from nanobot_transcript.record.transfer.folder import FolderPlace
from nanobot_transcript.record.transfer.kept_tables import POSTS, KeptTables, TablesPart
from nanobot_transcript.record.transfer.parts import DecisionsPart, MarksPart, MembersPart, PartReport, RecordPart
from nanobot_transcript.record.transfer.waypoint import Waypoint
from nanobot_transcript.store.contract import Standing

__all__ = ["MoveReport", "Progress", "check", "move", "place_of"]


@dataclass(slots=True)
class Progress:
    """How far a move has come."""

    chats: int = 0
    chats_in_all: int = 0
    lines: int = 0
    bytes: int = 0
    bytes_in_all: int = 0


Advance: TypeAlias = Callable[[Progress], None]


@dataclass(slots=True)
class MoveReport:
    """What became of each chat and each part. ``nameless`` are files that have lost their session key."""

    source: str
    target: str
    chats: list[ChatReport] = field(default_factory=list[ChatReport])
    parts: list[PartReport] = field(default_factory=list[PartReport])
    nameless: list[str] = field(default_factory=list[str])
    seconds: float = 0

    @property
    def is_fine(self) -> bool:
        """True when the target has everything of the source."""
        return all(one.is_fine for one in (*self.chats, *self.parts)) and not self.nameless


def move(
    source: Record,
    target: Record,
    advance: Advance = lambda progress: None,
    *,
    spool_dir: Path | None = None,
    tables: Sequence[KeptTables] = (),
) -> MoveReport:
    """Move everything of ``source`` that ``target`` does not have yet, and compare. ``tables`` are those besides the
    outbox's.

    Bots may write in both meanwhile. Leases, budgets, processes and signals are momentary and are not moved.
    ``advance`` is called repeatedly with the progress. Raises ConfigError for the same place twice, and StoreError
    kinds when a place fails as a whole; what fails for one chat or part is in the report.
    """
    with _places(source, target) as (here, there):
        return _Move(here, there, advance, spool_dir, tables).run()


def check(
    source: Record,
    target: Record,
    advance: Advance = lambda progress: None,
    *,
    spool_dir: Path | None = None,
    tables: Sequence[KeptTables] = (),
) -> MoveReport:
    """Compare both from the beginning, and change nothing. The hashes also cover what readers see."""
    with _places(source, target, writes=False) as (here, there):
        return _Check(here, there, advance, spool_dir, tables).run()


@contextmanager
def _places(source: Record, target: Record, *, writes: bool = True) -> Iterator[tuple[TransferPlace, TransferPlace]]:
    source.require(exists=True)
    target.require(written=writes)
    here, there = place_of(source, is_target=False), place_of(target, is_target=writes)
    try:
        if here.identity == there.identity:
            raise ConfigError(f"{source.place} is the same place twice.", hint="Name another one to move to.")
        yield here, there
    finally:
        there.close()


def place_of(record: Record, *, is_target: bool) -> TransferPlace:
    """A record as one of the places of a move. Raises ConfigError for one that cannot be moved."""
    if isinstance(record, FilesRecord):
        return FolderPlace(record, is_target=is_target)
    from nanobot_transcript.record.postgres.record import PostgresRecord
    from nanobot_transcript.record.transfer.database import DatabasePlace

    if isinstance(record, PostgresRecord):
        return DatabasePlace(record, is_target=is_target)
    raise ConfigError(f"{record.place} is no record that can be moved.")


class _Run:
    """What a move and a check share: a report of each chat and each part, whatever fails for others."""

    def __init__(
        self,
        source: TransferPlace,
        target: TransferPlace,
        advance: Advance,
        spool_dir: Path | None,
        tables: Sequence[KeptTables],
    ) -> None:
        self.source: TransferPlace = source
        self.target: TransferPlace = target
        self.progress: Progress = Progress()
        self.report: MoveReport = MoveReport(source.record.place, target.record.place, nameless=source.nameless())
        self._advance: Advance = advance
        self._spool_dir: Path | None = spool_dir
        self.parts: list[RecordPart] = [part(source, target) for part in (MarksPart, MembersPart, DecisionsPart)]
        self.parts += [TablesPart(source, target, each) for each in (POSTS, *tables)]
        self._began: float = time.monotonic()
        self.standings: list[Standing] = []

    def begin(self) -> None:
        """Find out how much there is."""
        self.standings = list(self.source.transcripts.standings())
        self.progress.chats_in_all = len(self.standings)
        self.progress.bytes_in_all = sum(standing.bytes for standing in self.standings)
        self._advance(self.progress)

    def each(self, work: Callable[[Standing], ChatReport]) -> None:
        """Run ``work`` for each chat."""
        done = 0
        for standing in self.standings:
            try:
                self.report.chats.append(work(standing))
            except StoreError as error:
                self._require_both(error)
                self.report.chats.append(ChatReport(standing.session_key, "failed", problem=str(error)))
            done += standing.bytes
            self.progress.chats += 1
            self.progress.bytes = done
            self._advance(self.progress)

    def part(self, name: str, work: Callable[[PartReport], None]) -> None:
        """Run ``work`` for a part."""
        report = PartReport(name)
        try:
            work(report)
        except StoreError as error:
            self._require_both(error)
            report.problem = str(error)
        self.report.parts.append(report)

    def moved(self, lines: int, size: int) -> None:
        """Report progress within a chat."""
        self.progress.lines += lines
        self.progress.bytes = min(self.progress.bytes + size, self.progress.bytes_in_all)
        self._advance(self.progress)

    def ended(self) -> MoveReport:
        """The complete report."""
        if self._spool_dir is not None:
            self.part("spool", self._wait)
        self.report.seconds = time.monotonic() - self._began
        return self.report

    def _wait(self, report: PartReport) -> None:
        from nanobot_transcript.record.postgres.record import PostgresRecord  # only a database has spools

        record = self.source.record
        if self._spool_dir is not None and isinstance(record, PostgresRecord):
            report.count = report.lacking = record.waiting(self._spool_dir).lines

    def _require_both(self, error: StoreError) -> None:
        """Raise when not the chat fails but a whole place."""
        if isinstance(error, StoreFullError):
            raise error
        self.source.record.require(exists=True)
        self.target.record.require()


class _Move(_Run):
    def run(self) -> MoveReport:
        for part in self.parts:
            part.prepare()
        self.begin()
        waypoints = self.target.waypoints(self.source.identity)
        carrier = Carrier(self.source, self.target, self.moved)

        def carry(standing: Standing) -> ChatReport:
            report, waypoint = carrier.carry(standing, waypoints.get(standing.session_key))
            self._note(waypoints, standing, waypoint)
            return report

        self.each(carry)
        carrier.erase()
        cursors = Cursors(self.source, self.target, waypoints)
        for part in self.parts:
            self.part(part.name, lambda report, part=part: part.move(cursors, report))
        self.target.settle()
        return self.ended()

    @staticmethod
    def _note(waypoints: dict[str, Waypoint], standing: Standing, waypoint: Waypoint | None) -> None:
        if waypoint is not None:
            waypoints[standing.session_key] = waypoint
        else:
            waypoints.pop(standing.session_key, None)


class _Check(_Run):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._carried: dict[str, Waypoint] = self.target.waypoints(self.source.identity)
        self._known: Collection[str] = {*self._carried, *self.source.waypoints(self.target.identity)}
        """The chats that were moved from one place into the other, in either direction."""

    def run(self) -> MoveReport:
        self.begin()
        self.each(self._compared)
        for part in self.parts:
            self.part(part.name, part.check)
        return self.ended()

    def _compared(self, standing: Standing) -> ChatReport:
        report, key = ChatReport(standing.session_key), standing.session_key
        found = compare(self.source.transcripts, self.target.transcripts, key, advance=self.moved)
        tell(found, report)
        if found.missing and found.more and key not in self._known:
            report.outcome = "other"
        elif found.missing and self._is_lost(key):
            report.outcome = "lost"
        report.lines = found.lines
        report.readers, report.readers_there = (
            seen_by_readers(place.record.store.backend, key) for place in (self.source, self.target)
        )
        if report.outcome == "equal" and report.readers != report.readers_there:
            report.outcome = "more"
        return report

    def _is_lost(self, key: str) -> bool:
        """True when something that was moved once is missing: a run starts behind it, and will not bring it again."""
        carried = self._carried.get(key)
        if carried is None or not carried.lines or carried.anew:
            return False
        found = compare(self.source.transcripts, self.target.transcripts, key, upto=carried.source)
        return found.missing > 0
