"""The newest messages of a chat, kept ready so that asking again costs one ``stat``."""

import os
import threading
from bisect import insort
from collections.abc import Iterator
from operator import itemgetter
from typing import Final

from nanobot_transcript.entry import Entry, RecentMessage
from nanobot_transcript.store.contract import Page
from nanobot_transcript.store.jsonl.codec import decode
from nanobot_transcript.store.jsonl.cursor import Place, format_cursor
from nanobot_transcript.store.jsonl.fold import Folded, Folder, is_erasure_mark, is_op
from nanobot_transcript.store.jsonl.lines import blocks_backward, complete_end, lines_between, split
from nanobot_transcript.store.jsonl.order import SLACK, sort_key
from nanobot_transcript.store.jsonl.segments import OpenSegment, Segments

__all__ = ["Window"]

_INTERRUPTED: Final = 1 << 62
"""No file is so long: what was taken in half is read again from the beginning."""

_Ordered = tuple[tuple[float, int, int], Folded]


class Window:
    """A view of the end of one transcript. Threads share it."""

    def __init__(self, segments: Segments) -> None:
        self._segments = segments
        self._mutex = threading.Lock()
        self._segment: OpenSegment | None = None
        self._seen: tuple[int, int, int] | None = None
        self._end = 0
        self._depth = 0
        self._folder = Folder()
        self._ordered: list[_Ordered] = []
        self._answer: tuple[int, list[RecentMessage]] = (-1, [])

    def get_recent(self, count: int) -> list[RecentMessage]:
        """The newest ``count`` messages as role, content and sender, oldest first."""
        with self._mutex:
            status = self._segments.status()
            if status is None or (status.st_ino, status.st_size, status.st_mtime_ns) != self._seen:
                self._refresh(status, count)
            answered, messages = self._answer
            if answered != count:
                messages = [_brief(entry) for entry in self._newest(count)]
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
            place = Place(segment.number, self._end) if segment is not None else Place(0, 0)
            return Page(entries, format_cursor(stem, place))

    def forget(self) -> None:
        """After a fork: another thread of the parent may have held the mutex."""
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
        found: list[Entry] = []
        for _, message in reversed(self._ordered):
            if message.entry is not None:
                found.append(message.entry)
                if len(found) == count:
                    break
        found.reverse()
        return found

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
        """Take in what was appended since; False when text before it was erased."""
        end = complete_end(segment.descriptor, size)
        start, self._end = self._end, _INTERRUPTED
        for _, line in lines_between(segment.descriptor, start, end):
            entry = decode(line)
            if entry is None:
                continue
            if is_erasure_mark(entry):
                return False
            self._add(entry)
        self._end = end
        self._answer = (-1, [])
        if len(self._folder.messages) > 4 * self._depth:
            self._folder.drop_before(self._depth)
            self._ordered = [pair for pair in self._ordered if pair[1].entry is not None]
        return True

    def _add(self, entry: Entry) -> None:
        message = self._folder.add(entry)
        if message is not None:
            insort(self._ordered, (sort_key(entry, message.order), message), key=itemgetter(0))

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
        if segment.active:
            self._seen = (status.st_ino, status.st_size, status.st_mtime_ns)

    def _read_back(self, segment: OpenSegment, depth: int) -> None:
        blocks: list[list[Entry]] = []
        wanted = depth
        for block in self._backwards(segment):
            blocks.append(block)
            wanted -= sum(-1 if is_op(entry) else 1 for entry in block)
            if wanted <= 0:
                self._fold(blocks)
                wanted = depth - sum(message.entry is not None for message in self._folder.messages)
                if wanted <= 0:
                    return
        self._fold(blocks)

    def _backwards(self, newest: OpenSegment) -> Iterator[list[Entry]]:
        number = newest.number
        for offset, block in blocks_backward(newest.descriptor, self._end):
            yield _entries(offset, block)
        while (segment := self._segments.before(number)) is not None:
            with segment:
                number = segment.number
                for offset, block in blocks_backward(segment.descriptor, segment.end()):
                    yield _entries(offset, block)

    def _fold(self, blocks: list[list[Entry]]) -> None:
        self._folder = Folder()
        ordered: list[_Ordered] = []
        for block in reversed(blocks):
            for entry in block:
                message = self._folder.add(entry)
                if message is not None:
                    ordered.append((sort_key(entry, message.order), message))
        ordered.sort(key=itemgetter(0))
        self._ordered = ordered

    def _reset(self) -> None:
        if self._segment is not None:
            self._segment.close()
        self._segment = None
        self._seen = None
        self._end = 0
        self._depth = 0
        self._folder = Folder()
        self._ordered = []
        self._answer = (-1, [])


def _entries(offset: int, block: bytes) -> list[Entry]:
    decoded = (decode(line) for _, line in split(offset, block))
    return [entry for entry in decoded if entry is not None]


def _brief(entry: Entry) -> RecentMessage:
    return {"role": entry["role"], "content": entry["content"], "sender": entry["sender"]}
