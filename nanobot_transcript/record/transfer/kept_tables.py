"""Tables that parts of the product keep: copied as a whole, as they are at one moment.

Tables in the target are overwritten as long as nobody else has written there. So the digest of what was moved is saved
beside the waypoints.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Final

import msgspec

from nanobot_transcript.coordination.contract import KeptMark, digest_of
from nanobot_transcript.errors import StoreBusyError, StoreUnavailableError
from nanobot_transcript.outbox.schema import SCHEMA
from nanobot_transcript.record.transfer.contract import TransferPlace
from nanobot_transcript.record.transfer.cursors import Cursors
from nanobot_transcript.record.transfer.parts import PartReport, RecordPart
from nanobot_transcript.record.transfer.waypoint import MOVED
from nanobot_transcript.sql.contents import Contents, contents, copy, lacking, newer, numbers
from nanobot_transcript.sql.contract import Database, Schema, Sql

__all__ = ["POSTS", "KeptTables", "TablesPart"]

_NOTHING: Final = Contents(0, "", is_begun=False)


@dataclass(frozen=True, slots=True)
class KeptTables:
    """Tables of a part of the product: their name, what they hold, and how to open them at a place."""

    name: str
    schema: Schema
    opened: Callable[[TransferPlace], Database]


POSTS: Final = KeptTables("posts", SCHEMA, lambda place: place.posts)


class TablesPart(RecordPart):
    """Such tables as a part of a move. The report counts rows."""

    def __init__(self, source: TransferPlace, target: TransferPlace, tables: KeptTables) -> None:
        super().__init__(source, target)
        self.name: str = tables.name
        self._schema: Schema = tables.schema
        self._here: Database = tables.opened(source)
        self._there: Database = tables.opened(target)
        self._before: _Carried | None = None
        self._back: _Carried | None = None

    def move(self, cursors: Cursors, report: PartReport) -> None:
        """See ``RecordPart.move``: everything at once, or nothing. Raises StoreBusyError when somebody writes there
        meanwhile, or moves the same tables there.
        """
        with self.target.alone(self.name):
            self._looked(lambda here: self._moved(here, report))

    def check(self, report: PartReport) -> None:
        """See ``RecordPart.check``."""
        self._looked(lambda here: self._compared(here, report))

    def _looked(self, work: Callable[[Sql], None]) -> None:
        """Run ``work`` with the source as it is at one moment. What was noted is read before that, because a place may
        have no second connection.
        """
        self._before, self._back = self._carried(self.target, self.source), self._carried(self.source, self.target)
        try:
            self._here.read_at_once(work, None)
        finally:
            self._here.close()
            self._there.close()

    def _moved(self, here: Sql, report: PartReport) -> None:
        said, found = self._counted(here, report), self._standing()
        if found.digest == said.digest or not (said.is_begun or found.is_begun):
            return
        if not self._is_ours(found):
            report.lacking = self._lacking(here, said, found)
            return
        # Both, because one of the two is there when this is killed half way.
        self._note(here, found.digest, said.digest)
        report.moved = self._there.write(lambda there: self._written(here, there, found, said))
        self._note(here, said.digest)

    def _written(self, here: Sql, there: Sql, found: Contents, said: Contents) -> int:
        now = contents(there, self._schema)
        if now != found and (now.is_begun or found.is_begun):
            raise StoreBusyError(f"{self.target.record.place}: somebody is writing there.", hint="Run it again.")
        count = copy(here, there, self._schema)
        if contents(there, self._schema) != said:
            raise StoreUnavailableError(
                f"{self.target.record.place} does not keep some rows as they are, so none was brought.",
                hint="`nanobot-transcript doctor` says what may be wrong in the place where they are.",
            )
        return count

    def _compared(self, here: Sql, report: PartReport) -> None:
        said, found = self._counted(here, report), self._standing()
        if found.digest != said.digest and said.is_begun:
            report.lacking = self._lacking(here, said, found)

    def _counted(self, here: Sql, report: PartReport) -> Contents:
        said = contents(here, self._schema)
        report.count, report.moved, report.lacking = said.rows, 0, 0
        return said

    def _lacking(self, here: Sql, said: Contents, found: Contents) -> int:
        """How many rows the target lacks. Where others have continued there from what was moved, only newer
        rows count.
        """
        if self._before is None or self._is_ours(found):
            return self._there.read_at_once(lambda there: lacking(here, there, self._schema), said.rows)
        return 0 if self._before.digests == [said.digest] else newer(here, self._schema, self._before.numbers)

    def _standing(self) -> Contents:
        return self._there.read_at_once(lambda there: contents(there, self._schema), _NOTHING)

    # -- what was carried

    def _is_ours(self, found: Contents) -> bool:
        """True when everything in the target was moved there, or from there into the source."""
        both = self._before, self._back
        return not found.is_begun or any(each is not None and found.digest in each.digests for each in both)

    def _carried(self, into: TransferPlace, out_of: TransferPlace) -> "_Carried | None":
        found = into.marks.find(MOVED, self._mark(out_of))
        try:
            return None if found is None else msgspec.convert(found, _Carried)
        except msgspec.ValidationError:
            return None

    def _note(self, here: Sql, *digests: str) -> None:
        carried = _Carried(list(digests), numbers(here, self._schema))
        self.target.marks.keep(KeptMark(MOVED, self._mark(self.source), asdict(carried)))

    def _mark(self, origin: TransferPlace) -> str:
        return digest_of(MOVED, (origin.identity, "room", self.name))


@dataclass(frozen=True, slots=True)
class _Carried:
    """One of the ``digests`` is that of what was moved last; ``numbers`` are the last row numbers of each table
    in it.
    """

    digests: list[str]
    numbers: dict[str, int]
