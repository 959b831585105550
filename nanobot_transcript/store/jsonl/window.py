"""The newest messages of a chat, kept ready so that asking again costs one ``stat``."""

import os
import threading
from bisect import insort
from collections.abc import Iterator
from operator import itemgetter
from typing import Final

from nanobot_transcript.entry import Entry, RecentMessage
from nanobot_transcript.store.contract import Page
from nanobot_transcript.store.jsonl.codec import decode, ids_of
from nanobot_transcript.store.jsonl.cursor import Place, format_cursor
from nanobot_transcript.store.jsonl.fold import Ops, is_erasure_mark, is_op, joins_parts
from nanobot_transcript.store.jsonl.lines import blocks_backward, complete_end, lines_between, split
from nanobot_transcript.store.jsonl.order import SLACK, moment_of, sort_key
from nanobot_transcript.store.jsonl.segments import OpenSegment, Segments

__all__ = ["Window", "brief"]

_LOOK_PAST: Final = 2000
"""How many lines of history newer messages are looked for behind; a gap is filled with fewer."""

_INTERRUPTED: Final = 1 << 62
"""No file is so long: what was taken in half is read again from the beginning."""

_Key = tuple[float, int, int]


class _Messages:
    """Messages in the order in which they are shown, each once, and what other lines say about them."""

    def __init__(self) -> None:
        self._ordered: list[tuple[_Key, Entry]] = []
        self._ids: set[str] = set()
        self._ops = Ops()
        self._count = 0
        self._moment = 0.0

    def __len__(self) -> int:
        return len(self._ordered)

    def add(self, place: Place, entry: Entry) -> None:
        """Take in the next line of the file."""
        if is_op(entry):
            self._ops.note(place, entry)
            return
        ids = ids_of(entry)
        if self._ops.is_part(entry) or not self._ids.isdisjoint(ids):
            return
        self._ids.update(ids)
        self._count += 1
        moment = moment_of(entry)
        self._moment = self._moment if moment is None else moment
        insort(self._ordered, (sort_key(entry, self._moment, self._count), entry), key=itemgetter(0))

    def newest(self, count: int) -> list[Entry]:
        """The last ``count`` that are not hidden, oldest first."""
        found: list[Entry] = []
        for _, entry in reversed(self._ordered):
            if len(found) >= count:
                break
            folded = self._ops.folded(entry)
            if folded is not None:
                found.append(folded)
        found.reverse()
        return found


class Window:
    """A view of the end of one transcript. Threads share it."""

    def __init__(self, segments: Segments) -> None:
        self._segments = segments
        self._mutex = threading.Lock()
        self._segment: OpenSegment | None = None
        self._seen: tuple[int, int, int] | None = None
        self._end = 0
        self._depth = 0
        self._began_with = 0
        self._messages = _Messages()
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
        """Take in what was appended since; False when it is time to begin anew."""
        end = complete_end(segment.descriptor, size)
        start, self._end = self._end, _INTERRUPTED
        for offset, line in lines_between(segment.descriptor, start, end):
            entry = decode(line)
            if entry is None:
                continue
            if is_erasure_mark(entry) or joins_parts(entry):
                return False
            self._messages.add(Place(segment.number, offset), entry)
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
        blocks: list[list[tuple[Place, Entry]]] = []
        wanted, most = depth, depth + _LOOK_PAST
        for block in self._backwards(segment):
            blocks.append(block)
            wanted -= sum(_is_news(entry) for _, entry in block)
            most -= len(block)
            if wanted <= 0 or most <= 0:
                wanted = depth - self._take(blocks, depth)
                if wanted <= 0:
                    return
        self._take(blocks, depth)

    def _backwards(self, newest: OpenSegment) -> Iterator[list[tuple[Place, Entry]]]:
        for offset, block in blocks_backward(newest.descriptor, self._end):
            yield _entries(newest.number, offset, block)
        number = newest.number
        while (segment := self._segments.before(number)) is not None:
            with segment:
                number = segment.number
                for offset, block in blocks_backward(segment.descriptor, segment.end()):
                    yield _entries(number, offset, block)

    def _take(self, blocks: list[list[tuple[Place, Entry]]], depth: int) -> int:
        """Put blocks that were read backwards in order; how many messages there are to show, at most ``depth``."""
        self._messages = _Messages()
        lines = [line for block in reversed(blocks) for line in block]
        # What is only a part of another message must be known before it can pass for a first copy of it.
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
        self._messages = _Messages()
        self._answer = (-1, [])


def _entries(number: int, offset: int, block: bytes) -> list[tuple[Place, Entry]]:
    lines = ((Place(number, at), decode(line)) for at, line in split(offset, block))
    return [(place, entry) for place, entry in lines if entry is not None]


def _is_news(entry: Entry) -> bool:
    """False for what may stand behind newer messages, because it was filled in from the platform's history."""
    return not is_op(entry) and entry.get("source") != "history"


def brief(entry: Entry) -> RecentMessage:
    """What ``get_recent`` gives of an entry."""
    return {"role": entry["role"], "content": entry["content"], "sender": entry["sender"]}
