"""Reading a transcript by cursor, by id, and by text."""

from collections.abc import Iterator
from typing import Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.store.contract import Hit, Page
from nanobot_transcript.store.jsonl.codec import decode, encode_text, id_keys, ids_of, json_fragment
from nanobot_transcript.store.jsonl.cursor import START, Place, format_cursor, parse_cursor
from nanobot_transcript.store.jsonl.fold import Ops, is_op
from nanobot_transcript.store.jsonl.idtable import DamagedTableError, IdTable, hash_key
from nanobot_transcript.store.jsonl.lines import blocks_backward, grep, line_at, stands_alone
from nanobot_transcript.store.jsonl.ops import OpLog
from nanobot_transcript.store.jsonl.order import moment_of
from nanobot_transcript.store.jsonl.segments import OpenSegment, Segments

__all__ = ["find_message", "lines_with", "message_with", "read", "scan", "search"]

_PAGE: Final = 1000
_LOOK_PAST: Final = 2000
"""How many lines of history newer messages are looked for behind."""


def read(segments: Segments, ops: OpLog, after: str | None, limit: int) -> Page:
    """Up to ``limit`` messages behind a cursor, as they read now, and the cursor behind the last of them."""
    place = START if after is None else parse_cursor(segments.stem, after)
    if limit <= 0:
        return Page([], format_cursor(segments.stem, place))
    known = ops.since(place)
    entries: list[Entry] = []
    repeats = _Repeats(segments, known)
    try:
        for segment, offset, line in segments.forward(place):
            place = Place(segment.number, offset + len(line) + 1)
            entry = decode(line)
            if entry is None or is_op(entry) or known.is_part(entry) or repeats.seen(segment, offset, entry):
                continue
            folded = known.folded(entry)
            if folded is not None:
                entries.append(folded)
                if len(entries) >= limit:
                    break
    finally:
        repeats.close()
    return Page(entries, format_cursor(segments.stem, place))


def scan(segments: Segments, ops: OpLog) -> Iterator[Entry]:
    """Every message in file order."""
    cursor = None
    while True:
        page = read(segments, ops, cursor, _PAGE)
        yield from page.entries
        if len(page.entries) < _PAGE:
            return
        cursor = page.cursor


class _Repeats:
    """Finds messages that were written a second time while the lock could not be had."""

    def __init__(self, segments: Segments, ops: Ops) -> None:
        self._segments = segments
        self._ops = ops
        self._tables: dict[tuple[int, bool], IdTable | None] = {}
        self._earlier: list[IdTable] | None = None
        self._ids: set[str] = set()

    def seen(self, segment: OpenSegment, offset: int, entry: Entry) -> bool:
        ids = ids_of(entry)
        if not ids:
            return False
        if not self._ids.isdisjoint(ids) or any(self._stands_before(segment, offset, known) for known in ids):
            return True
        if stands_alone(segment.descriptor, offset) and any(self._in_earlier(segment, known) for known in ids):
            return True
        self._ids.update(ids)
        return False

    def close(self) -> None:
        for table in [*self._tables.values(), *(self._earlier or ())]:
            if table is not None:
                table.close()

    def _stands_before(self, segment: OpenSegment, offset: int, message_id: str) -> bool:
        table = self._table(segment)
        offsets = _found(table, message_id) if table is not None else []
        return any(at < offset and self._is_message(segment, at, message_id) for at in offsets)

    def _is_message(self, segment: OpenSegment, offset: int, message_id: str) -> bool:
        entry = decode(line_at(segment.descriptor, offset))
        if entry is None or is_op(entry) or message_id not in ids_of(entry):
            return False
        return not self._ops.is_part(entry)

    def _in_earlier(self, segment: OpenSegment, message_id: str) -> bool:
        if self._earlier is None:
            self._earlier = list(self._segments.closed_tables())
        for table in self._earlier:
            if table.number >= segment.number or not (offsets := _found(table, message_id)):
                continue
            earlier = self._segments.closed(table.number)
            if earlier is None:
                continue
            with earlier:
                if any(self._is_message(earlier, at, message_id) for at in offsets):
                    return True
        return False

    def _table(self, segment: OpenSegment) -> IdTable | None:
        key = (segment.number, segment.active)
        if key not in self._tables:
            self._tables[key] = self._segments.table(segment)
        return self._tables[key]


def _found(table: IdTable, message_id: str) -> list[int]:
    try:
        return table.find(hash_key(message_id)) or []
    except DamagedTableError:
        return []


def find_message(segments: Segments, ops: OpLog, message_id: str) -> Entry | None:
    """One message by id, as it reads now."""
    for place, entry in lines_with(segments, message_id):
        if not is_op(entry) and message_id in ids_of(entry):
            return ops.since(place).folded(entry)
    return None


def message_with(segments: Segments, message_id: str) -> Entry | None:
    """One message by id, as it was recorded."""
    found = (entry for _, entry in lines_with(segments, message_id))
    return next((entry for entry in found if not is_op(entry) and message_id in ids_of(entry)), None)


def lines_with(segments: Segments, message_id: str) -> Iterator[tuple[Place, Entry]]:
    """The lines that carry an id (as their own or as a target), from the newest segment to the oldest.

    The id table answers at once; a segment without one is scanned.
    """
    segment = segments.newest()
    while segment is not None:
        with segment:
            for offset in _offsets(segments, segment, message_id):
                entry = decode(line_at(segment.descriptor, offset))
                if entry is not None and message_id in id_keys(entry):
                    yield Place(segment.number, offset), entry
            number = segment.number
        segment = segments.before(number)


def _offsets(segments: Segments, segment: OpenSegment, message_id: str) -> list[int]:
    end = segment.end()
    found, indexed = segments.offsets(segment, message_id)
    needle = encode_text(message_id)
    for offset, block in blocks_backward(segment.descriptor, end, min(indexed, end)):
        found += [at for at, _ in grep(offset, block, needle)]
    return sorted(set(found))


def search(segments: Segments, ops: OpLog, session_key: str, query: str, limit: int) -> list[Hit]:
    """Messages whose text contains ``query`` now, the newest first."""
    hits: dict[str | Place, Entry] = {}
    news = 0
    for place, line in _matches(segments, ops, json_fragment(query)):
        entry = _hit(segments, ops, line, query)
        if entry is None or (key := entry["message_id"] or place) in hits:
            continue
        hits[key] = entry
        # What was filled in from the platform's history stands behind newer messages: look past it.
        news += entry.get("source") != "history"
        if news >= limit or len(hits) >= limit + _LOOK_PAST:
            break
    newest = sorted(hits.values(), key=lambda entry: moment_of(entry) or 0, reverse=True)
    return [Hit(session_key, entry) for entry in newest[:limit]]


def _matches(segments: Segments, ops: OpLog, needle: bytes) -> Iterator[tuple[Place, bytes]]:
    """The lines that contain ``needle``, from the end of the file; the ops behind each are known when it comes."""
    segment = segments.newest()
    while segment is not None:
        with segment:
            for offset, block in blocks_backward(segment.descriptor, segment.end()):
                matches = list(grep(offset, block, needle))
                if matches:
                    ops.since(Place(segment.number, offset))
                for at, line in reversed(matches):
                    yield Place(segment.number, at), line
            number = segment.number
        segment = segments.before(number)


def _hit(segments: Segments, ops: OpLog, line: bytes, query: str) -> Entry | None:
    entry = decode(line)
    if entry is None or query not in entry["content"]:
        return None
    target = entry.get("target")
    if is_op(entry):
        folded = find_message(segments, ops, target) if entry.get("op") == "edit" and target else None
    else:
        folded = ops.found.folded(entry)
    return folded if folded is not None and query in folded["content"] else None
