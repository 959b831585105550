"""What was taken back, erased or edited in a transcript since a position: its ``op`` lines, without the messages.

Only the bytes behind the position are looked at, for lines with an ``op``; where there are none this costs
microseconds. It reads the store's files, because no method of the store tells this.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from nanobot_transcript.store.front import GroupTranscriptStore
from nanobot_transcript.store.jsonl.codec import decode, ids_of
from nanobot_transcript.store.jsonl.cursor import Place, parse_cursor
from nanobot_transcript.store.jsonl.fold import HIDING, is_erasure_mark
from nanobot_transcript.store.jsonl.layout import Layout, stem_of
from nanobot_transcript.store.jsonl.lines import grep
from nanobot_transcript.store.jsonl.reader import lines_with
from nanobot_transcript.store.jsonl.segments import Segments

__all__ = ["Changes", "changes_since"]

_OP: Final = b'"op":'  # quotes inside a text are escaped, so these bytes cannot be part of one
_SEGMENTS: Final = 2


@dataclass(slots=True)
class Changes:
    """``hidden`` and ``edited`` are message ids, all those of a message sent in parts. ``erased``: text may have been
    erased without a word about which, so that every message has to be looked up.
    """

    hidden: set[str] = field(default_factory=set)
    edited: set[str] = field(default_factory=set)
    erased: bool = False


def changes_since(store: GroupTranscriptStore, session_key: str, after: str) -> Changes:
    """The changes behind the cursor ``after``. Raises InvalidCursorError for a foreign one, and StoreError."""
    stem = stem_of(session_key)
    segments, place = Segments(Layout(store.base_dir), stem), parse_cursor(stem, after)
    changes = Changes(erased=_is_lost(segments, place))
    if changes.erased:
        return changes  # looking up what a session holds is cheaper than reading all that happened since
    targets: set[str] = set()
    for line in _op_lines(segments, place):
        entry = decode(line)
        if entry is None:
            continue
        changes.erased = changes.erased or is_erasure_mark(entry)
        op, target = entry.get("op"), entry.get("target")
        if target and op in HIDING:
            targets.add(target)
        elif target and op == "edit":
            changes.edited.add(target)
    for target in targets:
        changes.hidden |= {target, *(known for _, entry in lines_with(segments, target) for known in ids_of(entry))}
    return changes


def _is_lost(segments: Segments, place: Place) -> bool:
    """True when the place is gone, because its segment was purged, or is very far back."""
    if place == (0, 0) or not segments.layout.state.is_dir():  # a disk that is not mounted now
        return False
    segment = segments.at_or_after(place.number)
    if segment is None:
        return True
    with segment:
        stands = segment.number == place.number and segment.end() >= place.offset
    return not stands or segments.end().number - place.number >= _SEGMENTS


def _op_lines(segments: Segments, place: Place) -> Iterator[bytes]:
    number, offset = place
    while (segment := segments.at_or_after(number)) is not None:
        with segment:
            for at, block in segment.blocks_from(offset if segment.number == number else 0):
                for _, line in grep(at, block, _OP):
                    yield line
            if segment.active:
                return
            number, offset = segment.number + 1, 0
