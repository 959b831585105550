"""Reading a transcript by cursor, by id, and by text."""

from collections.abc import Iterable, Iterator
from typing import Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.store.contract import Hit, Page
from nanobot_transcript.store.jsonl.cursor import START, SegmentPosition, format_cursor, parse_cursor
from nanobot_transcript.store.jsonl.duplicates import Copies, IdPlaces
from nanobot_transcript.store.jsonl.escapes import candidates
from nanobot_transcript.store.jsonl.lines import blocks_backward, grep, line_at, split
from nanobot_transcript.store.jsonl.ops import JsonlOps
from nanobot_transcript.store.jsonl.segments import OpenSegment, Segments
from nanobot_transcript.store.lines.codec import decode, encode_text, json_fragment
from nanobot_transcript.store.lines.ids import id_keys, ids_of
from nanobot_transcript.store.lines.messages import LOOK_PAST
from nanobot_transcript.store.lines.ops import is_edit, is_op
from nanobot_transcript.store.lines.order import moment_of

__all__ = ["find_message", "find_messages", "lines_with", "message_with", "read", "read_back", "scan", "search"]

_PAGE: Final = 1000


def read(segments: Segments, ops: JsonlOps, copies: Copies, after: str | None, limit: int) -> Page:
    """Up to ``limit`` messages behind a cursor, as they read now, and the cursor behind the last of them."""
    place = START if after is None else parse_cursor(segments.stem, after)
    if limit <= 0:
        return Page([], format_cursor(segments.stem, place))
    known = ops.since(place)
    entries: list[Entry] = []
    seen: set[str] = set()
    try:
        for segment, offset, line in segments.forward(place):
            place = SegmentPosition(segment.number, offset + len(line) + 1)
            entry = decode(line)
            if entry is None or is_op(entry) or known.is_part(entry):
                continue
            ids = ids_of(entry)
            if not seen.isdisjoint(ids) or copies.is_copy(segment, offset, entry, known):
                continue
            seen.update(ids)
            folded = known.folded(entry)
            if folded is not None:
                entries.append(folded)
                if len(entries) >= limit:
                    break
    finally:
        copies.release()
    return Page(entries, format_cursor(segments.stem, place))


def read_back(segments: Segments, ops: JsonlOps, copies: Copies, before: str | None, limit: int) -> Page:
    """Up to ``limit`` messages before a cursor, oldest first, as they read now, and the cursor before the first."""
    place = segments.end() if before is None else parse_cursor(segments.stem, before)
    entries: list[Entry] = []
    try:
        for segment, start, block in segments.backward(place) if limit > 0 else ():
            known = ops.since(SegmentPosition(segment.number, start))
            for offset, line in reversed(list(split(start, block))):
                entry = decode(line)
                if entry is not None and not is_op(entry) and not known.is_part(entry):
                    folded = None if copies.is_copy(segment, offset, entry, known) else known.folded(entry)
                    if folded is not None:
                        entries.append(folded)
                place = SegmentPosition(segment.number, offset)
                if len(entries) >= limit:
                    break
            if len(entries) >= limit:
                break
    finally:
        copies.release()
    return Page(entries[::-1], format_cursor(segments.stem, place))


def scan(segments: Segments, ops: JsonlOps) -> Iterator[Entry]:
    """Every message in file order."""
    cursor, copies = None, Copies(segments)
    while True:
        page = read(segments, ops, copies, cursor, _PAGE)
        yield from page.entries
        if len(page.entries) < _PAGE:
            return
        cursor = page.cursor


def find_message(segments: Segments, ops: JsonlOps, message_id: str) -> Entry | None:
    """One message by id, as it reads now."""
    for place, entry in lines_with(segments, message_id):
        if not is_op(entry) and message_id in ids_of(entry):
            return ops.since(place).folded(entry)
    return None


def find_messages(segments: Segments, ops: JsonlOps, message_ids: Iterable[str]) -> dict[str, Entry]:
    """Messages by their ids, as they read now; each segment is read once for all of them."""
    wanted, places = set(message_ids), IdPlaces(segments)
    found: dict[str, tuple[SegmentPosition, Entry]] = {}
    for segment in segments.each_backward():
        end = segment.end()
        for message_id in wanted - found.keys():
            for offset in sorted(places.of(segment, message_id, end)):
                entry = decode(line_at(segment.descriptor, offset))
                if entry is not None and not is_op(entry) and message_id in ids_of(entry):
                    found[message_id] = SegmentPosition(segment.number, offset), entry
                    break
        places.release()
        if len(found) == len(wanted):
            break
    if not found:
        return {}
    known = ops.since(min(place for place, _ in found.values()))
    folded = {message_id: known.folded(entry) for message_id, (_, entry) in found.items()}
    return {message_id: entry for message_id, entry in folded.items() if entry is not None}


def message_with(segments: Segments, message_id: str) -> Entry | None:
    """One message by id, as it was recorded."""
    found = (entry for _, entry in lines_with(segments, message_id))
    return next((entry for entry in found if not is_op(entry) and message_id in ids_of(entry)), None)


def lines_with(segments: Segments, message_id: str) -> Iterator[tuple[SegmentPosition, Entry]]:
    """The lines that carry an id (as their own or as a target), from the newest segment to the oldest.

    With an id table the answer is immediate; a segment without one is scanned.
    """
    for segment in segments.each_backward():
        for offset in _offsets(segments, segment, message_id):
            entry = decode(line_at(segment.descriptor, offset))
            if entry is not None and message_id in id_keys(entry):
                yield SegmentPosition(segment.number, offset), entry


def _offsets(segments: Segments, segment: OpenSegment, message_id: str) -> list[int]:
    end = segment.end()
    found, indexed = segments.offsets(segment, message_id)
    needle = encode_text(message_id)
    for offset, block in blocks_backward(segment.descriptor, end, min(indexed, end)):
        found += [at for at, _ in grep(offset, block, needle)]
    return sorted(set(found))


def search(segments: Segments, ops: JsonlOps, session_key: str, query: str, limit: int) -> list[Hit]:
    """Messages whose text contains ``query`` now, the newest first."""
    hits: dict[str | SegmentPosition, Entry] = {}
    edited: set[str] = set()
    news = 0
    for place, line in _matches(segments, ops, json_fragment(query)):
        entry = _hit(segments, ops, line, query, edited)
        if entry is None or (key := entry["message_id"] or place) in hits:
            continue
        hits[key] = entry
        # Messages filled in from the platform's history stand behind newer ones: read past them.
        news += entry.get("source") != "history"
        if news >= limit or len(hits) >= limit + LOOK_PAST:
            break
    newest = sorted(hits.values(), key=lambda entry: moment_of(entry) or 0, reverse=True)
    return [Hit(session_key, entry) for entry in newest[:limit]]


def _matches(segments: Segments, ops: JsonlOps, needle: bytes) -> Iterator[tuple[SegmentPosition, bytes]]:
    """The lines that contain ``needle`` or may spell it with other escapes, from the end of the file. When a line is
    yielded, the ops behind it are known.
    """
    for segment in segments.each_backward():
        plain_to = segments.plain_to(segment)
        for offset, block in blocks_backward(segment.descriptor, segment.end()):
            matches = list(candidates(offset, block, [needle], plain_to))
            if matches:
                ops.since(SegmentPosition(segment.number, offset))
            for at, line in reversed(matches):
                yield SegmentPosition(segment.number, at), line


def _hit(segments: Segments, ops: JsonlOps, line: bytes, query: str, edited: set[str]) -> Entry | None:
    """The message that a line is or edits, when it is shown. ``edited``: messages whose edits were met before."""
    entry = decode(line)
    if entry is None or query not in entry["content"]:
        return None
    if is_op(entry):
        target = entry.get("target")
        if not is_edit(entry) or not target or target in edited:
            return None
        edited.add(target)
        folded = find_message(segments, ops, target)
    else:
        folded = ops.found.folded(entry)
    return folded if folded is not None and query in folded["content"] else None
