"""The newest messages of a chat, kept in memory so that asking again costs one ``stat``."""

import os
import threading
from collections.abc import Iterator
from typing import Final

from nanobot_transcript.entry import Entry, RecentMessage
from nanobot_transcript.store.contract import Page
from nanobot_transcript.store.jsonl.cursor import SegmentPosition, format_cursor
from nanobot_transcript.store.jsonl.lines import blocks_backward, complete_end, lines_between, split
from nanobot_transcript.store.jsonl.segments import OpenSegment, Segments
from nanobot_transcript.store.lines.codec import decode
from nanobot_transcript.store.lines.fold import joins_parts
from nanobot_transcript.store.lines.messages import LOOK_PAST, ShownMessages, brief
from nanobot_transcript.store.lines.ops import is_erasure_mark, is_op
from nanobot_transcript.store.lines.order import SLACK

__all__ = ["JsonlWindow"]


_INTERRUPTED: Final = 1 << 62
"""An impossible file size: after an interrupted update everything is read again."""


class JsonlWindow:
    """A view of the end of one transcript. Threads share it."""

    def __init__(self, segments: Segments) -> None:
        self._segments = segments
        self._mutex = threading.Lock()
        self._segment: OpenSegment | None = None
        self._seen: tuple[int, int, int] | None = None
        self._end = 0
        self._depth = 0
        self._began_with = 0
        self._messages = ShownMessages()
        self._answer: tuple[int, list[RecentMessage]] = (-1, [])

    def get_recent(self, count: int) -> list[RecentMessage]:
        """The newest ``count`` messages as role, content and sender, oldest first."""
        with self._mutex:
            status = self._segments.status()
            if status is None or (status.st_ino, status.st_size, status.st_mtime_ns) != self._seen:
                self._refresh(status, count)
            answered, messages = self._answer
            if answered != count:
                messages = [brief(entry) for entry in self._newest(count)]
                self._answer = (count, messages)
            return [message.copy() for message in messages]

    def recent(self, count: int, stem: str) -> Page:
        """The newest ``count`` entries, oldest first, and the cursor behind the last line."""
        with self._mutex:
            status = self._segments.status()
            if status is None or (status.st_ino, status.st_size, status.st_mtime_ns) != self._seen:
                self._refresh(status, count)
            entries = [entry.copy() for entry in self._newest(count)]
            segment = self._segment
            place = SegmentPosition(segment.number, self._end) if segment is not None else SegmentPosition(0, 0)
            return Page(entries, format_cursor(stem, place))

    def forget(self) -> None:
        """After a fork: a thread of the parent may have held the mutex."""
        self._mutex = threading.Lock()
        self._reset()

    def close(self) -> None:
        """Forget everything."""
        with self._mutex:
            self._reset()

    def _newest(self, count: int) -> list[Entry]:
        if count <= 0:
            return []
        if count + SLACK > self._depth:
            self._rebuild(count)
        return self._messages.newest(count)

    def _refresh(self, status: os.stat_result | None, count: int) -> None:
        segment = self._segment
        grown = (
            status is not None
            and segment is not None
            and segment.active
            and status.st_ino == segment.inode
            and status.st_size > self._end
        )
        if grown and segment is not None and status is not None:
            self._seen = None
            if self._extend(segment, status.st_size):
                self._seen = (status.st_ino, status.st_size, status.st_mtime_ns)
                return
        self._rebuild(count)

    def _extend(self, segment: OpenSegment, size: int) -> bool:
        """Add what was appended since; False when it is better to start over."""
        end = complete_end(segment.descriptor, size)
        start, self._end = self._end, _INTERRUPTED
        for offset, line in lines_between(segment.descriptor, start, end):
            entry = decode(line)
            if entry is None:
                continue
            if is_erasure_mark(entry) or joins_parts(entry):
                return False
            self._messages.add(SegmentPosition(segment.number, offset), entry)
        self._end = end
        self._answer = (-1, [])
        return len(self._messages) <= self._began_with + 3 * self._depth

    def _rebuild(self, count: int) -> None:
        depth = max(count, 0) + SLACK
        self._reset()
        self._depth = depth
        segment = self._segments.newest()
        if segment is None:
            return
        status = os.fstat(segment.descriptor)
        self._segment, self._end = segment, complete_end(segment.descriptor, status.st_size)
        self._read_back(segment, depth)
        self._began_with = len(self._messages)
        if segment.active:
            self._seen = (status.st_ino, status.st_size, status.st_mtime_ns)

    def _read_back(self, segment: OpenSegment, depth: int) -> None:
        blocks: list[list[tuple[SegmentPosition, Entry]]] = []
        wanted, most = depth, depth + LOOK_PAST
        for block in self._backwards(segment):
            blocks.append(block)
            wanted -= sum(_is_news(entry) for _, entry in block)
            most -= len(block)
            if wanted <= 0 or most <= 0:
                wanted = depth - self._take(blocks, depth)
                if wanted <= 0:
                    return
        self._take(blocks, depth)

    def _backwards(self, newest: OpenSegment) -> Iterator[list[tuple[SegmentPosition, Entry]]]:
        for offset, block in blocks_backward(newest.descriptor, self._end):
            yield _entries(newest.number, offset, block)
        number = newest.number
        while (segment := self._segments.before(number)) is not None:
            with segment:
                number = segment.number
                for offset, block in blocks_backward(segment.descriptor, segment.end()):
                    yield _entries(number, offset, block)

    def _take(self, blocks: list[list[tuple[SegmentPosition, Entry]]], depth: int) -> int:
        """Put blocks that were read backwards in order; returns how many messages there are to show, at most
        ``depth``.
        """
        self._messages = ShownMessages()
        lines = [line for block in reversed(blocks) for line in block]
        # Ops first: that a message is only a part of another one must be known before it passes for a first copy.
        for place, entry in sorted(lines, key=lambda line: not is_op(line[1])):
            self._messages.add(place, entry)
        return len(self._messages.newest(depth))

    def _reset(self) -> None:
        if self._segment is not None:
            self._segment.close()
        self._segment = None
        self._seen = None
        self._end = 0
        self._depth = 0
        self._began_with = 0
        self._messages = ShownMessages()
        self._answer = (-1, [])


def _entries(number: int, offset: int, block: bytes) -> list[tuple[SegmentPosition, Entry]]:
    lines = ((SegmentPosition(number, at), decode(line)) for at, line in split(offset, block))
    return [(place, entry) for place, entry in lines if entry is not None]


def _is_news(entry: Entry) -> bool:
    """False for a message filled in from the platform's history, which may stand behind newer ones."""
    return not is_op(entry) and entry.get("source") != "history"
