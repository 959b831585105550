"""Appending although another process holds the lock, so that a stalled process costs no message."""

import os
import uuid
from collections.abc import Iterator
from typing import Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.files.layout import Layout
from nanobot_transcript.store.jsonl import session_keys
from nanobot_transcript.store.jsonl.active_segment import ActiveFile
from nanobot_transcript.store.jsonl.id_tables import horizon
from nanobot_transcript.store.jsonl.lines import blocks_forward, grep, line_at, start_of_line
from nanobot_transcript.store.jsonl.segments import OpenSegment, Segments
from nanobot_transcript.store.lines.codec import decode, encode, encode_text
from nanobot_transcript.store.lines.fold import as_edit
from nanobot_transcript.store.lines.ids import id_keys, is_sent

__all__ = ["write_unlocked"]

_TAIL: Final = 1 << 20


def write_unlocked(
    layout: Layout, stem: str, session_key: str, entry: Entry, unless: list[str], *, sync: bool
) -> Entry | None:
    """Append on a line of its own, unless one of the keys is certainly known: the known line, else None.

    A line that another process adds at the same moment is not noticed; readers fold a second copy away. Shares no state
    with its caller. Raises StoreError when nothing was recorded.
    """
    known = _known(Segments(layout, stem), unless)
    if known is not None:
        return known
    data = b"\n" + b"".join(encode(line) for line in _lines(entry))
    while True:
        file = ActiveFile(layout, layout.active(stem))
        try:
            if file.open() == 0:
                session_keys.remember(layout, stem, session_key)
            file.append(data)
            if sync:
                os.fdatasync(file.descriptor)
            if file.is_current():
                return None  # otherwise the file was replaced meanwhile: write again
        finally:
            file.close()


def _lines(entry: Entry) -> list[Entry]:
    if entry.get("op") is not None:
        return [entry]
    if entry["message_id"] is None and not entry.get("message_ids"):
        entry = entry.copy()
        entry["message_id"] = f"local:{uuid.uuid4().hex}"  # lets readers recognise a second copy
    # A peer may have recorded what it overheard. With the lock that would be seen and the sender's own words written as
    # an edit; without it, write both.
    return [entry, as_edit(entry, entry["message_id"])] if is_sent(entry) and entry["message_id"] else [entry]


def _known(segments: Segments, wanted: list[str]) -> Entry | None:
    if not wanted:
        return None
    newest = segments.newest()
    if newest is not None:
        with newest:
            known = _known_in(segments, newest, wanted, _TAIL)
        if known is not None:
            return known
    for number in reversed(horizon(segments.layout, segments.stem)):
        segment = segments.closed(number)
        if segment is None:
            continue
        with segment:
            known = _known_in(segments, segment, wanted, 0)
        if known is not None:
            return known
    return None


def _known_in(segments: Segments, segment: OpenSegment, wanted: list[str], tail: int) -> Entry | None:
    for key in wanted:
        for offset in _candidates(segments, segment, key, tail):
            entry = decode(line_at(segment.descriptor, offset))
            if entry is not None and key in id_keys(entry):
                return entry
    return None


def _candidates(segments: Segments, segment: OpenSegment, key: str, tail: int) -> Iterator[int]:
    found, indexed = segments.offsets(segment, key)
    yield from found
    end = segment.end()
    start = start_of_line(segment.descriptor, max(min(indexed, end), end - tail), end)
    needle = encode_text(key.rpartition("\0")[2])
    for offset, block in blocks_forward(segment.descriptor, start, end):
        yield from (at for at, _ in grep(offset, block, needle))
