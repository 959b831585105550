"""The edits, recalls and redactions of a chat, found by searching for them instead of reading every line."""

from typing import Final

from nanobot_transcript.store.jsonl.cursor import START, SegmentPosition
from nanobot_transcript.store.jsonl.lines import grep
from nanobot_transcript.store.jsonl.segments import Segments
from nanobot_transcript.store.lines.codec import decode
from nanobot_transcript.store.lines.fold import Ops
from nanobot_transcript.store.lines.ops import is_erasure_mark

__all__ = ["JsonlOps"]

# Quotes inside a text are escaped, so these bytes cannot be part of one.
_OP: Final = b'"op":'


class JsonlOps:
    """What later lines say about the messages of a chat; remembers how far it has read."""

    def __init__(self, segments: Segments) -> None:
        self._segments = segments
        self._forget()

    def since(self, place: SegmentPosition) -> Ops:
        """The ops from ``place`` to the end, and perhaps earlier ones."""
        start = place if self._from is None else min(place, self._from)
        if self._from is not None and not self._stands(self._to):
            self._forget()
        self._extend(start)
        if self._stale:
            self._forget()
            self._extend(start)
        return self.found

    def _forget(self) -> None:
        self._from: SegmentPosition | None = None
        self._to = START
        self._stale = False
        self.found = Ops()

    def _stands(self, place: SegmentPosition) -> bool:
        """False when the segment was purged: what its ops said no longer holds."""
        segment = self._segments.at_or_after(place.number)
        if segment is None:
            return False
        with segment:
            return segment.number == place.number and segment.end() >= place.offset

    def _extend(self, start: SegmentPosition) -> None:
        if self._from is None:
            self._from = self._to = start
        elif start < self._from:
            self._scan(start, self._from)
            self._from = start
        self._stale = False
        self._to = self._scan(self._to, None)

    def _scan(self, start: SegmentPosition, stop: SegmentPosition | None) -> SegmentPosition:
        number, offset = start
        reached = start
        while (segment := self._segments.at_or_after(number)) is not None:
            with segment:
                if stop is not None and segment.number > stop.number:
                    break
                if segment.number != number or offset > segment.end():
                    offset = 0
                for at, block in segment.blocks_from(offset):
                    for op_at, line in grep(at, block, _OP):
                        self._note(SegmentPosition(segment.number, op_at), line)
                    reached = SegmentPosition(segment.number, at + len(block))
                if segment.active or (stop is not None and segment.number >= stop.number):
                    break
            number, offset = segment.number + 1, 0
        return reached

    def _note(self, place: SegmentPosition, line: bytes) -> None:
        entry = decode(line)
        if entry is not None:
            self._stale = self._stale or is_erasure_mark(entry)
            self.found.note(place, entry)
