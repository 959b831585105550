"""Reading a transcript by number, by id, and by text."""

from collections.abc import Iterable
from typing import Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.record.postgres.ops import PostgresOps
from nanobot_transcript.record.postgres.rows import END, ChatRows, Row
from nanobot_transcript.sql.postgres.address import DatabaseAddress
from nanobot_transcript.sql.postgres.engine import Connection
from nanobot_transcript.store.contract import Changes, Hit, VerifyReport
from nanobot_transcript.store.lines.codec import decode, json_fragment
from nanobot_transcript.store.lines.fold import Ops
from nanobot_transcript.store.lines.ids import ids_of
from nanobot_transcript.store.lines.messages import LOOK_PAST
from nanobot_transcript.store.lines.ops import hides, is_edit, is_erasure_mark, is_op
from nanobot_transcript.store.lines.order import moment_of

__all__ = ["changes", "chats_with", "messages", "read", "read_back", "search", "verify"]

_PAGE: Final = 1000
_HITS: Final = 200
_CHATS_WITH: Final = """
SELECT c.name FROM nanobot.chats AS c WHERE EXISTS (
    SELECT FROM nanobot.lines AS l WHERE l.chat = c.id AND position(%s::bytea in l.line) > 0
)
"""
_SEGMENTS: Final = "SELECT count(*) FROM nanobot.segments JOIN nanobot.chats AS c ON c.id = chat WHERE c.tag = %s"
_SIZE: Final = "SELECT bytes FROM nanobot.chats WHERE tag = %s"


def read(connection: Connection, rows: ChatRows, log: PostgresOps, after: int, limit: int) -> tuple[list[Entry], int]:
    """Up to ``limit`` messages behind a line, as they read now, and the number of the line they reach. After a failover
    the line to read from may be lost; then that number is the last one there is.
    """
    entries: list[Entry] = []
    while len(entries) < limit:
        page = min(_PAGE, limit - len(entries))
        head, found = rows.forward(connection, after, page)
        if head is None:
            after = 0
            break
        known = log.since(connection, after) if found else None
        for seq, line in found:
            after = seq
            if known is not None and (entry := _shown(line, known)) is not None:
                entries.append(entry)
        if len(found) < page:
            after = head.seq
            break
    return entries, after


def read_back(
    connection: Connection, rows: ChatRows, log: PostgresOps, before: int | None, limit: int
) -> tuple[list[Entry], int]:
    """Up to ``limit`` messages up to a line, oldest first, and the number of the line before the first of them."""
    upto = END if before is None else before
    entries: list[Entry] = []
    end = before
    while len(entries) < limit:
        page = min(_PAGE, limit - len(entries))
        head, found = rows.backward(connection, upto, page)
        if head is None:
            break
        end = head.seq if end is None else end
        known = log.since(connection, found[-1][0] - 1) if found else None
        for seq, line in found:
            upto = seq - 1
            if known is not None and (entry := _shown(line, known)) is not None:
                entries.append(entry)
        if len(found) < page:
            upto = 0
            break
    if limit <= 0 and before is None:
        head = rows.head(connection)
        upto = head.seq if head is not None else 0
    return entries[::-1], 0 if upto == END else upto


def messages(connection: Connection, rows: ChatRows, log: PostgresOps, message_ids: Iterable[str]) -> dict[str, Entry]:
    """The messages that are known and shown, as they read now, by the ids that were asked for."""
    found: dict[str, tuple[int, Entry]] = {}
    for message_id, (seq, line) in rows.with_ids(connection, message_ids).items():
        entry = decode(line)
        if entry is not None and not is_op(entry) and message_id in ids_of(entry):
            found[message_id] = seq, entry
    if not found:
        return {}
    known = log.since(connection, min(seq for seq, _ in found.values()))
    folded = {message_id: known.folded(entry) for message_id, (_, entry) in found.items()}
    return {message_id: entry for message_id, entry in folded.items() if entry is not None}


def changes(connection: Connection, rows: ChatRows, after: int) -> Changes:
    """What was recalled, erased or edited behind a line."""
    erased, hidden, edited = False, set[str](), set[str]()
    while True:
        head, found = rows.ops(connection, after, END, _PAGE)
        if head is None:
            return Changes(erased=after > 0)
        if 0 < after <= head.lost_to or after > head.seq:
            return Changes(erased=True)
        for seq, line in found:
            after = seq
            entry = decode(line)
            if entry is None:
                continue
            erased = erased or is_erasure_mark(entry)
            target = entry.get("target")
            if target and hides(entry):
                hidden.add(target)
            elif target and is_edit(entry):
                edited.add(target)
        if len(found) < _PAGE:
            break
    lines = rows.with_ids(connection, hidden).values() if hidden else ()
    whole = (entry for _, line in lines if (entry := decode(line)) is not None and not is_op(entry))
    return Changes(hidden.union(*(ids_of(entry) for entry in whole)), edited, erased)


def chats_with(connection: Connection, place: DatabaseAddress, query: str) -> list[str]:
    """The chats that contain a text."""
    found = connection.execute(place.sql(_CHATS_WITH), (json_fragment(query),)).fetchall()
    return [name.decode("utf-8", "surrogatepass") for (name,) in found]


def search(connection: Connection, rows: ChatRows, log: PostgresOps, query: str, limit: int) -> list[Hit]:
    """Messages whose text contains ``query`` now, newest first."""
    hits: dict[str | int, Entry] = {}
    edited: set[str] = set()
    news, upto, needle = 0, END, json_fragment(query)
    while True:
        _, found = rows.matches(connection, needle, upto, _HITS)
        known = log.since(connection, found[-1][0] - 1) if found else Ops()
        for seq, line in found:
            upto = seq - 1
            entry = _hit(connection, rows, log, known, line, query, edited)
            if entry is None or (key := entry["message_id"] or seq) in hits:
                continue
            hits[key] = entry
            # Messages filled in from the platform's history stand behind newer ones: read past them.
            news += entry.get("source") != "history"
            if news >= limit or len(hits) >= limit + LOOK_PAST:
                break
        if len(found) < _HITS or news >= limit or len(hits) >= limit + LOOK_PAST:
            break
    newest = sorted(hits.values(), key=lambda entry: moment_of(entry) or 0, reverse=True)
    return [Hit(rows.session_key, entry) for entry in newest[:limit]]


def verify(connection: Connection, place: DatabaseAddress, rows: ChatRows) -> VerifyReport:
    """The numbers of lines, entries, ops and repeated ids."""
    report = VerifyReport(rows.session_key)
    size = connection.execute(place.sql(_SIZE), (rows.tag,)).fetchone()
    if size is None or not size[0]:
        return report
    closed = connection.execute(place.sql(_SEGMENTS), (rows.tag,)).fetchone()
    report.segments, report.bytes = (closed[0] if closed else 0) + 1, size[0]
    seen: set[str] = set()
    after = 0
    while True:
        _, found = rows.all_forward(connection, after, _PAGE)
        for row in found:
            _count(row, seen, report)
        if len(found) < _PAGE:
            return report
        after = found[-1][0]


def _count(row: Row, seen: set[str], report: VerifyReport) -> None:
    report.lines += 1
    entry = decode(row[1])
    if entry is None:
        report.foreign_lines += 1
    elif is_op(entry):
        report.ops += 1
    else:
        ids = ids_of(entry)
        if seen.isdisjoint(ids):
            report.entries += 1
        else:
            report.duplicates += 1
        seen.update(ids)


def _shown(line: bytes, known: Ops) -> Entry | None:
    entry = decode(line)
    return known.folded(entry) if entry is not None else None


def _hit(
    connection: Connection, rows: ChatRows, log: PostgresOps, known: Ops, line: bytes, query: str, edited: set[str]
) -> Entry | None:
    """The message that a line is or edits, when it is shown. ``edited``: messages whose edits were met before."""
    entry = decode(line)
    if entry is None or query not in entry["content"]:
        return None
    if is_op(entry):
        target = entry.get("target")
        if not is_edit(entry) or not target or target in edited:
            return None
        edited.add(target)
        folded = messages(connection, rows, log, [target]).get(target)
    else:
        folded = known.folded(entry)
    return folded if folded is not None and query in folded["content"] else None
