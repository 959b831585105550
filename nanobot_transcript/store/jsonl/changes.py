"""What was recalled, erased or edited in a transcript since a position: its ``op`` lines, without the messages.

Only bytes behind the position are searched for lines with an ``op``; where there are none this takes microseconds.
"""

from collections.abc import Iterator
from typing import Final

from nanobot_transcript.store.contract import Changes
from nanobot_transcript.store.jsonl.cursor import START, SegmentPosition, parse_cursor
from nanobot_transcript.store.jsonl.lines import grep
from nanobot_transcript.store.jsonl.reader import lines_with
from nanobot_transcript.store.jsonl.segments import Segments
from nanobot_transcript.store.lines.codec import decode
from nanobot_transcript.store.lines.ids import ids_of
from nanobot_transcript.store.lines.ops import hides, is_edit, is_erasure_mark

__all__ = ["changes"]

_OP: Final = b'"op":'  # quotes inside a text are escaped, so these bytes cannot be part of one
_SEGMENTS: Final = 2


def changes(segments: Segments, after: str) -> Changes:
    """The changes behind the cursor ``after``. Raises InvalidCursorError for a foreign one."""
    place = parse_cursor(segments.stem, after)
    if _is_lost(segments, place):
        return Changes(erased=True)  # looking up each message is cheaper than reading everything since
    erased, hidden, edited = False, set[str](), set[str]()
    for line in _op_lines(segments, place):
        entry = decode(line)
        if entry is None:
            continue
        erased = erased or is_erasure_mark(entry)
        target = entry.get("target")
        if target and hides(entry):
            hidden.add(target)
        elif target and is_edit(entry):
            edited.add(target)
    parts = (known for target in hidden for _, entry in lines_with(segments, target) for known in ids_of(entry))
    return Changes(hidden.union(parts), edited, erased)


def _is_lost(segments: Segments, place: SegmentPosition) -> bool:
    """True when the place is gone because its segment was purged, or is very far back."""
    # Perhaps the disk is not mounted; do not report all as erased.
    if place == START or not segments.layout.state.is_dir():
        return False
    segment = segments.at_or_after(place.number)
    if segment is None:
        return True
    with segment:
        end = segment.end()
        stands = segment.number == place.number and end >= place.offset and (segment.active or end > 0)
    return not stands or segments.end().number - place.number >= _SEGMENTS


def _op_lines(segments: Segments, place: SegmentPosition) -> Iterator[bytes]:
    number, offset = place
    while (segment := segments.at_or_after(number)) is not None:
        with segment:
            for at, block in segment.blocks_from(offset if segment.number == number else 0):
                for _, line in grep(at, block, _OP):
                    yield line
            if segment.active:
                return
            number, offset = segment.number + 1, 0
