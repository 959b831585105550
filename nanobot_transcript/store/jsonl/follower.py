"""Passing on lines as they are written, by whichever process."""

import asyncio
import os
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from typing import Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.store.jsonl.cursor import SegmentPosition, parse_cursor
from nanobot_transcript.store.jsonl.duplicates import Copies
from nanobot_transcript.store.jsonl.file_watch import changes
from nanobot_transcript.store.jsonl.segments import OpenSegment, Segments
from nanobot_transcript.store.lines.codec import decode
from nanobot_transcript.store.lines.ids import ids_of
from nanobot_transcript.store.lines.ops import is_erasure_mark, is_op

__all__ = ["follow"]

_REMEMBERED: Final = 4096
_TURN: Final = 200


async def follow(segments: Segments, after: str | None) -> AsyncGenerator[Entry, None]:
    """See ``StoreBackend.follow``."""
    follower = _Follower(segments, segments.end() if after is None else parse_cursor(segments.stem, after))
    folder, name = os.path.split(segments.layout.active(segments.stem))
    try:
        while True:
            with changes(folder, name) as change:
                while change.noticed or not os.path.isdir(folder):
                    async for entry in _in_turns(follower.new()):
                        yield entry
                    await change.wait()
                async for entry in _in_turns(follower.new()):
                    yield entry
                await change.wait()
    finally:
        follower.close()


async def _in_turns(entries: Iterator[Entry]) -> AsyncIterator[Entry]:
    """Yield them, and let the event loop do other work now and then."""
    for count, entry in enumerate(entries, 1):
        yield entry
        if count % _TURN == 0:
            await asyncio.sleep(0)


class _Follower:
    """A place that moves through the segments as they are written, closed, purged or replaced."""

    def __init__(self, segments: Segments, place: SegmentPosition) -> None:
        self._segments = segments
        self._place = place
        self._segment: OpenSegment | None = None
        self._left: OpenSegment | None = None
        """The previous segment. It stays open until the next one is open, so that no other file can get its inode."""
        self._recent: OrderedDict[str, None] = OrderedDict()
        self._copies = Copies(segments)

    def new(self) -> Iterator[Entry]:
        """What was written since the last call."""
        while (segment := self._current()) is not None:
            yield from self._drain(segment)
            if segment.active and self._still_active(segment):
                return
            # Closed meanwhile: first what its last writer added between our read and the rename.
            yield from self._drain(segment)
            self._leave(segment)

    def close(self) -> None:
        """Release the file."""
        for segment in (self._segment, self._left):
            if segment is not None:
                segment.close()
        self._segment = self._left = None

    def _current(self) -> OpenSegment | None:
        if self._segment is None:
            segment = self._segments.at_or_after(self._place.number) or self._started_over()
            if segment is not None and segment.number != self._place.number:
                self._place = SegmentPosition(segment.number, 0)
                self._recent.clear()
            self._segment = segment
            if segment is not None and self._left is not None:
                self._left.close()
                self._left = None
        return self._segment

    def _started_over(self) -> OpenSegment | None:
        """A file that started again with a lower number, because somebody removed everything."""
        segment = self._segments.active()
        if segment is None:
            return None
        if segment.number < self._place.number and (self._left is None or segment.inode != self._left.inode):
            return segment
        segment.close()
        return None

    def _still_active(self, segment: OpenSegment) -> bool:
        status = self._segments.status()
        return status is not None and status.st_ino == segment.inode

    def _leave(self, segment: OpenSegment) -> None:
        if os.fstat(segment.descriptor).st_nlink == 0:
            self._recent.clear()  # not closed but purged: its messages may be said again
        self._place = SegmentPosition(segment.number + 1, 0)
        self._segment, self._left = None, segment

    def _drain(self, segment: OpenSegment) -> Iterator[Entry]:
        try:
            for offset, line in segment.lines_from(self._place.offset):
                self._place = SegmentPosition(segment.number, offset + len(line) + 1)
                entry = decode(line)
                if entry is not None and not self._repeated(segment, offset, entry):
                    yield entry
        finally:
            self._copies.release()

    def _repeated(self, segment: OpenSegment, offset: int, entry: Entry) -> bool:
        if is_op(entry):
            if is_erasure_mark(entry):
                self._recent.clear()  # what was purged may be said again
            return is_erasure_mark(entry)
        ids = ids_of(entry)
        if any(known in self._recent for known in ids):
            return True
        for known in ids:
            self._recent[known] = None
        while len(self._recent) > _REMEMBERED:
            self._recent.popitem(last=False)
        return self._copies.is_copy(segment, offset, entry)
