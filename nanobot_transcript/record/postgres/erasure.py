"""Maintenance of transcripts: carrying out recalls, purging, and retention, each chat in one transaction.

The row of the chat is locked meanwhile: nothing is appended to it, and another maintenance waits. Replaced or removed
text is then in no row, but still in pages of the table until these are cleaned up (VACUUM is asked to do so at the
end), and in the WAL and in backups for as long as they are kept.
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import StoreError
from nanobot_transcript.record.postgres.ops import PostgresOps
from nanobot_transcript.record.postgres.rows import ChatRows, Row, id_of
from nanobot_transcript.record.postgres.schema import RECORD
from nanobot_transcript.sql.postgres.address import DatabaseAddress
from nanobot_transcript.sql.postgres.engine import Connection, Engine
from nanobot_transcript.sql.postgres.listener import notify
from nanobot_transcript.store.contract import MaintenanceReport, Retention
from nanobot_transcript.store.lines.codec import decode, encode
from nanobot_transcript.store.lines.erasure import Eraser, Hidden, Purge
from nanobot_transcript.store.lines.ids import id_keys
from nanobot_transcript.store.lines.ops import erasure_mark, hides
from nanobot_transcript.store.lines.order import moment_of

__all__ = ["Erasure"]

logger = logging.getLogger(__name__)

_PAGE: Final = 2000
_DAY_MS: Final = 86_400_000
_LOCK_WAIT_MS: Final = 10_000

_LOCK: Final = """
SELECT id, seq, erased_to, bytes, open_from FROM nanobot.chats WHERE tag = %s AND bytes > 0 FOR UPDATE
"""
_DUE: Final = """
SELECT name FROM nanobot.chats AS c WHERE bytes > 0
AND (seq > erased_to OR %s AND EXISTS (SELECT FROM nanobot.segments WHERE chat = c.id))
"""
_REWRITE: Final = "UPDATE nanobot.lines SET line = %s WHERE chat = %s AND seq = %s"
_REMOVE: Final = "DELETE FROM nanobot.lines WHERE chat = %s AND seq = ANY (%s)"
_FORGET: Final = "DELETE FROM nanobot.ids WHERE chat = %s AND seq = ANY (%s)"
_KEEP_ID: Final = "INSERT INTO nanobot.ids VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"
_IN_RANGE: Final = (
    "SELECT coalesce(sum(length(line) + 1), 0) FROM nanobot.lines WHERE chat = %s AND seq BETWEEN %s AND %s"
)
_COUNT: Final = "SELECT count(*) FROM nanobot.lines WHERE chat = %s AND seq BETWEEN %s AND %s"
_REMOVE_RANGE: Final = "DELETE FROM nanobot.lines WHERE chat = %s AND seq BETWEEN %s AND %s"
_FORGET_RANGE: Final = "DELETE FROM nanobot.ids WHERE chat = %s AND seq BETWEEN %s AND %s"
_CLOSED: Final = "SELECT first, last FROM nanobot.segments WHERE chat = %s ORDER BY first"
_REMOVE_SEGMENT: Final = "DELETE FROM nanobot.segments WHERE chat = %s AND first = %s"
_REMOVE_SEGMENTS: Final = "DELETE FROM nanobot.segments WHERE chat = %s"
_EMPTY: Final = """
UPDATE nanobot.chats SET seq = seq + 1, lost_to = seq, erased_to = seq + 1, epoch = epoch + 1, bytes = 0,
    open_from = seq + 2, open_bytes = 0 WHERE id = %s
"""
_CHANGED: Final = """
UPDATE nanobot.chats SET seq = seq + %(marks)s, epoch = epoch + 1, bytes = greatest(1, bytes + %(bytes)s),
    open_bytes = open_bytes + %(mark_bytes)s, lost_to = greatest(lost_to, %(lost_to)s) WHERE id = %(chat)s
"""
_MARK: Final = "INSERT INTO nanobot.lines VALUES (%s, %s, true, %s)"
_ERASED_TO: Final = "UPDATE nanobot.chats SET erased_to = seq WHERE id = %s"
_PURGED: Final = "UPDATE nanobot.chats SET purged = extract(epoch FROM clock_timestamp()) * 1000 WHERE id = %s"
_WAIT: Final = "SELECT set_config('lock_timeout', %s, true)"
_VACUUM: Final = ("VACUUM nanobot.lines", "VACUUM nanobot.ids")


@dataclass(eq=False, slots=True)
class Erasure:
    """Erases text in the given chats; what fails for one of them is raised when all others are done."""

    _engine: Engine

    def due(self, retention: Retention) -> list[str]:
        """The session keys of the chats that have something to erase."""
        statement, bounded = self._engine.place.sql(_DUE), retention != Retention()
        rows = self._engine.read(RECORD, lambda connection: connection.execute(statement, (bounded,)).fetchall(), [])
        return [name.decode("utf-8", "surrogatepass") for (name,) in rows]

    def purge(
        self, chats: Iterable[ChatRows], senders: frozenset[str], before_ms: float | None
    ) -> list[MaintenanceReport]:
        """Erase whole chats, or what matches the filters in them."""

        def one(chat: _Locked) -> MaintenanceReport:
            report = chat.empty() if not senders and before_ms is None else chat.purge(senders, before_ms)
            chat.execute(_PURGED, chat.number)
            return report

        return self._each(chats, one)

    def maintain(self, chats: Iterable[ChatRows], retention: Retention) -> list[MaintenanceReport]:
        """Erase recalled and redacted text and drop what retention no longer keeps."""

        def one(chat: _Locked) -> MaintenanceReport:
            report = chat.retain(retention) if retention != Retention() else MaintenanceReport(chat.rows.session_key)
            report.erased_entries = chat.erase_hidden()
            return report

        return self._each(chats, one)

    def _each(
        self, chats: Iterable[ChatRows], work: "Callable[[_Locked], MaintenanceReport]"
    ) -> list[MaintenanceReport]:
        reports: list[MaintenanceReport] = []
        failure: StoreError | None = None
        if not self._engine.exists(RECORD):
            return reports
        for rows in chats:
            try:
                report = self._engine.write(RECORD, partial(self._one, rows, work), again=True)
            except StoreError as error:
                logger.warning("%s: %s", rows.session_key, error)
                failure = failure or error
            else:
                reports += [report] if report is not None else []
        if any(report.erased_entries or report.dropped_segments for report in reports):
            self._clean_up()
        if failure is not None:
            raise failure
        return reports

    def _one(
        self, rows: ChatRows, work: "Callable[[_Locked], MaintenanceReport]", connection: Connection
    ) -> MaintenanceReport | None:
        with connection.transaction():
            connection.execute(_WAIT, (f"{_LOCK_WAIT_MS}ms",))
            found = connection.execute(self._engine.place.sql(_LOCK), (rows.tag,)).fetchone()
            if found is None:
                return None
            chat = _Locked(connection, self._engine.place, rows, *found)
            report = work(chat)
            chat.tell()
            return report

    def _clean_up(self) -> None:
        """Remove the replaced text from the pages of the tables as well."""
        for statement in _VACUUM:
            try:
                with self._engine.connection() as connection:
                    connection.execute(self._engine.place.sql(statement))
            except StoreError as error:
                logger.warning("VACUUM failed; erased text stays in the table's pages until the next one: %s", error)


@dataclass(eq=False, slots=True)
class _Locked:
    """One chat within a transaction that has locked its row."""

    connection: Connection
    place: DatabaseAddress
    rows: ChatRows
    number: int
    seq: int
    erased_to: int
    size: int
    open_from: int
    _changed: bool = field(default=False, init=False)

    def execute(self, statement: str, *bound: Any) -> Any:
        """Run one statement; returns its cursor."""
        return self.connection.execute(self.place.sql(statement), bound)

    def tell(self) -> None:
        """Wake followers of the chat if anything was changed."""
        if self._changed:
            notify(self.connection, self.rows.channels)

    def empty(self) -> MaintenanceReport:
        """Remove everything."""
        closed = self.execute(_CLOSED, self.number).fetchall()
        self.execute(_REMOVE_RANGE, self.number, 0, self.seq)
        self.execute(_FORGET_RANGE, self.number, 0, self.seq)
        self.execute(_REMOVE_SEGMENTS, self.number)
        self.execute(_EMPTY, self.number)
        self._changed = True
        return MaintenanceReport(self.rows.session_key, dropped_segments=len(closed) + 1, dropped_bytes=self.size)

    def purge(self, senders: frozenset[str], before_ms: float | None) -> MaintenanceReport:
        """Remove every line of a person, known by any of ``senders``, and before a time (both when both are given),
        with the edits of those messages.
        """
        report = MaintenanceReport(self.rows.session_key)
        ops = PostgresOps(self.rows).since(self.connection, 0)
        entries = (entry for _, line in self._all() if (entry := decode(line)) is not None)
        report.erased_entries = self._erase(Purge(ops, entries, senders, before_ms), self._all())
        if report.erased_entries:
            self._drop_empty(report)
            self._note_change()
        return report

    def erase_hidden(self) -> int:
        """Erase the text of messages recalled or redacted since the last time; returns how many lines changed."""
        if self.erased_to >= self.seq:
            return 0
        ops = PostgresOps(self.rows).since(self.connection, 0)
        new = list(self._ops(self.erased_to))
        targets = {target for _, entry in new if hides(entry) and (target := entry.get("target"))}
        count = self._erase_everywhere(ops.together(targets))
        # Also what was written since about messages that were hidden before.
        since = [(seq, encode(entry)[:-1]) for seq, entry in new]
        count += self._erase(Hidden(ops.together(ops.hidden)), since)
        if count:
            self._note_change(mark=False)
        self.execute(_ERASED_TO, self.number)
        return count

    def retain(self, retention: Retention) -> MaintenanceReport:
        """Drop the closed segments that the retention no longer keeps, oldest first."""
        report = MaintenanceReport(self.rows.session_key)
        closed = self.execute(_CLOSED, self.number).fetchall()
        dropped = closed[: self._kept_from(closed, retention)]
        for first, last in dropped:
            self._drop(first, last, report)
        if dropped:
            self._keep_ids_of_ops()
            self._note_change(lost_to=dropped[-1][1])
        return report

    def _kept_from(self, closed: Sequence[tuple[int, int]], retention: Retention) -> int:
        """How many of the oldest closed segments are dropped."""
        size, count = self._measure(self.open_from, self.seq, retention)
        for position in range(len(closed) - 1, -1, -1):
            first, last = closed[position]
            if self._too_old(first, last, retention.max_age_days):
                return position + 1
            more = self._measure(first, last, retention)
            size, count = size + more[0], count + more[1]
            over_size = retention.max_bytes is not None and size > retention.max_bytes
            if over_size or (retention.max_entries is not None and count > retention.max_entries):
                return position + 1
        return 0

    def _measure(self, first: int, last: int, retention: Retention) -> tuple[int, int]:
        """Bytes and lines of a segment, where the retention limits them."""
        size = self.execute(_IN_RANGE, self.number, first, last).fetchone()[0] if retention.max_bytes is not None else 0
        lines = self.execute(_COUNT, self.number, first, last).fetchone()[0] if retention.max_entries is not None else 0
        return int(size), lines

    def _too_old(self, first: int, last: int, max_age_days: float | None) -> bool:
        if max_age_days is None:
            return False
        _, rows = self.rows.all_backward(self.connection, last, _PAGE)
        entries = (decode(line) for seq, line in rows if seq >= first)
        times = [moment for entry in entries if entry is not None and (moment := moment_of(entry)) is not None]
        return not times or max(times) < time.time() * 1000 - max_age_days * _DAY_MS

    def _drop(self, first: int, last: int, report: MaintenanceReport) -> None:
        size = int(self.execute(_IN_RANGE, self.number, first, last).fetchone()[0])
        self.execute(_REMOVE_RANGE, self.number, first, last)
        self.execute(_FORGET_RANGE, self.number, first, last)
        self.execute(_REMOVE_SEGMENT, self.number, first)
        report.dropped_bytes += size
        report.dropped_segments += size > 0

    def _drop_empty(self, report: MaintenanceReport) -> None:
        """Forget closed segments of which nothing is left."""
        for first, last in self.execute(_CLOSED, self.number).fetchall():
            if not self.execute(_COUNT, self.number, first, last).fetchone()[0]:
                self._drop(first, last, report)
                report.dropped_segments += 1

    def _erase_everywhere(self, targets: set[str]) -> int:
        """Erase the text of these messages, and of other ids that turn out to belong to the same ones."""
        count, done = 0, set[str]()
        while targets - done:
            hidden, done = Hidden(targets), set(targets)
            found = dict(self.rows.with_ids(self.connection, targets).values())
            found |= {seq: encode(entry)[:-1] for seq, entry in self._ops(0) if entry.get("target") in targets}
            count += self._erase(hidden, sorted(found.items()))
            targets = hidden.targets
        return count

    def _erase(self, eraser: Eraser, lines: Iterable[Row]) -> int:
        """Rewrite or remove the lines that the eraser changes; returns how many."""
        count, removed, rewritten = 0, list[int](), list[tuple[bytes, int, int]]()
        for seq, line in lines:
            entry = decode(line)
            replacement = eraser(entry) if entry is not None else None
            if replacement is None or replacement == line:
                continue
            count += 1
            if replacement:
                rewritten.append((replacement, self.number, seq))
            else:
                removed.append(seq)
        if rewritten:
            self.connection.cursor().executemany(self.place.sql(_REWRITE), rewritten)
        if removed:
            self.execute(_REMOVE, self.number, removed)
            self.execute(_FORGET, self.number, removed)
            self._keep_ids_of_ops()
        return count

    def _keep_ids_of_ops(self) -> None:
        """Keep the ids of recalled messages whose lines are removed, so that a message pushed again is still
        refused.
        """
        keys = [(self.number, id_of(key), seq) for seq, entry in self._ops(0) for key in id_keys(entry)]
        if keys:
            self.connection.cursor().executemany(self.place.sql(_KEEP_ID), keys)

    def _note_change(self, *, lost_to: int = 0, mark: bool = True) -> None:
        """Make every reader forget what it remembers; the line that says so is for followers."""
        line = _mark()
        if mark:
            self.execute(_MARK, self.number, self.seq + 1, line)
        size = int(self.execute(_IN_RANGE, self.number, 0, self.seq + 1).fetchone()[0])
        bound = {"chat": self.number, "marks": int(mark), "bytes": size - self.size, "lost_to": lost_to}
        bound["mark_bytes"] = len(line) + 1 if mark else 0
        self.connection.execute(self.place.sql(_CHANGED), bound)
        self.seq += int(mark)
        self.size = size
        self._changed = True

    def _all(self) -> Iterator[Row]:
        after = 0
        while True:
            _, rows = self.rows.all_forward(self.connection, after, _PAGE)
            yield from rows
            if len(rows) < _PAGE:
                return
            after = rows[-1][0]

    def _ops(self, after: int) -> Iterator[tuple[int, Entry]]:
        while True:
            _, rows = self.rows.ops(self.connection, after, self.seq, _PAGE)
            yield from ((seq, entry) for seq, line in rows if (entry := decode(line)) is not None)
            if len(rows) < _PAGE:
                return
            after = rows[-1][0]


def _mark() -> bytes:
    return encode(erasure_mark(time.time_ns() // 1_000_000))[:-1]
