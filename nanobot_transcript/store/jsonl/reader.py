"""Reading a transcript by cursor, by id, and by text."""

from collections.abc import Iterator
from typing import Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.store.contract import Hit, Page
from nanobot_transcript.store.jsonl.codec import decode, encode_text, id_keys, ids_of, json_fragment
from nanobot_transcript.store.jsonl.cursor import START, Place, format_cursor, parse_cursor
from nanobot_transcript.store.jsonl.fold import is_op
from nanobot_transcript.store.jsonl.idtable import DamagedTableError, IdTable, hash_key
from nanobot_transcript.store.jsonl.lines import blocks_backward, grep, line_at
from nanobot_transcript.store.jsonl.ops import OpLog
from nanobot_transcript.store.jsonl.segments import OpenSegment, Segments
from nanobot_transcript.store.jsonl.tables import horizon
from nanobot_transcript.store.jsonl.unlocked import stands_alone

__all__ = ["find_message", "lines_with", "read", "scan", "search"]

_PAGE: Final = 1000


def read(segments: Segments, ops: OpLog, after: str | None, limit: int) -> Page:
    """Up to ``limit`` messages behind a cursor, as they read now, and the cursor behind the last of them."""
    place = START if after is None else parse_cursor(segments.stem, after)
    if limit <= 0:
        return Page([], format_cursor(segments.stem, place))
    known = ops.since(place)
    entries: list[Entry] = []
    repeats = _Repeats(segments)
    try:
        for segment, offset, line in segments.forward(place):
            place = Place(segment.number, offset + len(line) + 1)
            entry = decode(line)
            if entry is None or is_op(entry) or repeats.seen(segment, offset, entry):
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

    def __init__(self, segments: Segments) -> None:
        self._segments = segments
        self._tables: dict[tuple[int, bool], IdTable | None] = {}
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
        for table in self._tables.values():
            if table is not None:
                table.close()

    def _stands_before(self, segment: OpenSegment, offset: int, message_id: str) -> bool:
        table = self._table(segment)
        try:
            offsets = table.find(hash_key(message_id)) if table is not None else None
        except DamagedTableError:
            offsets = None
        if not offsets:
            return False
        return any(at < offset and _message_with(segment.descriptor, at, message_id) for at in offsets)

    def _in_earlier(self, segment: OpenSegment, message_id: str) -> bool:
        for number in horizon(self._segments.layout, self._segments.stem):
            earlier = self._segments.closed(number) if number < segment.number else None
            if earlier is not None:
                with earlier:
                    if self._stands_before(earlier, earlier.end(), message_id):
                        return True
        return False

    def _table(self, segment: OpenSegment) -> IdTable | None:
        key = (segment.number, segment.active)
        if key not in self._tables:
            self._tables[key] = self._segments.table(segment)
        return self._tables[key]


def _message_with(descriptor: int, offset: int, message_id: str) -> Entry | None:
    entry = decode(line_at(descriptor, offset))
    return entry if entry is not None and not is_op(entry) and message_id in ids_of(entry) else None


def find_message(segments: Segments, ops: OpLog, message_id: str) -> Entry | None:
    """One message by id, as it reads now."""
    for place, entry in lines_with(segments, message_id):
        if not is_op(entry) and message_id in ids_of(entry):
            return ops.since(place).folded(entry)
    return None


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
    """Messages whose text contains ``query`` now, the newest lines first."""
    needle = json_fragment(query)
    hits: dict[str | Place, Entry] = {}
    segment = segments.newest()
    while segment is not None and len(hits) < limit:
        with segment:
            for offset, block in blocks_backward(segment.descriptor, segment.end()):
                matches = list(grep(offset, block, needle))
                if matches:
                    ops.since(Place(segment.number, offset))
                for at, line in reversed(matches):
                    place = Place(segment.number, at)
                    entry = _hit(segments, ops, line, query)
                    if entry is not None:
                        hits.setdefault(entry["message_id"] or place, entry)
                        if len(hits) >= limit:
                            break
                if len(hits) >= limit:
                    break
            number = segment.number
        segment = segments.before(number)
    return [Hit(session_key, entry) for entry in hits.values()]


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
