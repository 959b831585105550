"""Telling the second copy of a message from the first.

Two processes that write the same message without the lock do not see each other's line. Readers leave the second one
out, wherever they start: the id table says where an id stood first.
"""

from typing import Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.store.jsonl.id_table import DamagedTableError, IdTable, Owner, hash_key
from nanobot_transcript.store.jsonl.lines import complete_end, line_at, stands_alone, start_of_line
from nanobot_transcript.store.jsonl.segment_index import add_lines
from nanobot_transcript.store.jsonl.segments import OpenSegment, Segments
from nanobot_transcript.store.lines.codec import decode
from nanobot_transcript.store.lines.fold import Ops
from nanobot_transcript.store.lines.ids import ids_of
from nanobot_transcript.store.lines.ops import is_op

__all__ = ["Copies", "IdPlaces"]

_AHEAD: Final = 1 << 18
_REACH: Final = 16 << 20
"""Bytes. Copies stand close together; looking further back without an index would block followers on an event loop."""
_NO_OPS: Final = Ops()


class Copies:
    """Recognises second copies in one transcript. Not for several threads at once."""

    def __init__(self, segments: Segments) -> None:
        self._segments = segments
        self._places = IdPlaces(segments, _REACH)
        self._earlier: list[IdTable] | None = None

    def is_copy(self, segment: OpenSegment, offset: int, entry: Entry, ops: Ops = _NO_OPS) -> bool:
        """True when the message at an offset also stands before it, and there not only as a part of another message."""
        ids = ids_of(entry)
        for known in ids:
            for at in self._places.of(segment, known, offset):
                if at < offset and _is_message(segment, at, known, ops):
                    return True
        if not ids or not stands_alone(segment.descriptor, offset):
            return False
        return any(self._in_earlier(segment, known, ops) for known in ids)

    def release(self) -> None:
        """Close the id tables until the next question."""
        self._places.release()
        for table in self._earlier or ():
            table.close()
        self._earlier = None

    def _in_earlier(self, segment: OpenSegment, message_id: str, ops: Ops) -> bool:
        if self._earlier is None:
            self._earlier = list(self._segments.closed_tables())
        for table in self._earlier:
            if table.number >= segment.number or not (offsets := _found(table, message_id)):
                continue
            earlier = self._segments.closed(table.number)
            if earlier is None:
                continue
            with earlier:
                if any(_is_message(earlier, at, message_id, ops) for at in offsets):
                    return True
        return False


class IdPlaces:
    """Where ids stand in a segment. Where its id table lags or is missing, a table of our own is built from at most
    ``reach`` bytes read backwards (None = all that is needed).
    """

    def __init__(self, segments: Segments, reach: int | None = None) -> None:
        self._segments = segments
        self._reach = reach
        self._inode = 0
        self._segment: OpenSegment | None = None
        self._table: IdTable | None = None
        self._own: IdTable | None = None
        self._own_from = 0

    def of(self, segment: OpenSegment, message_id: str, until: int) -> list[int]:
        """Offsets of lines that may carry the id or be about it: all within reach before ``until``, and perhaps
        more.
        """
        table = self._table
        if self._segment is not segment or (table is not None and table.retired):
            table = self._table_of(segment)
        found, indexed = (_found(table, message_id), table.indexed) if table is not None else ([], 0)
        return found if indexed >= until else found + _found(self._beyond(segment, indexed, until), message_id)

    def release(self) -> None:
        """Close the id table. What was learned beside it is kept."""
        if self._table is not None:
            self._table.close()
        self._segment = self._table = None

    def _table_of(self, segment: OpenSegment) -> IdTable | None:
        self.release()
        if self._inode != segment.inode:
            self._inode, self._own = segment.inode, None
        self._segment, self._table = segment, self._segments.table(segment)
        return self._table

    def _beyond(self, segment: OpenSegment, indexed: int, until: int) -> IdTable:
        start = indexed
        if self._reach is not None and until - indexed > self._reach:
            start = start_of_line(segment.descriptor, until - self._reach, until)
        own = self._own
        if own is None or not self._own_from <= start <= own.indexed:
            own = IdTable.create(None, Owner(segment.inode, 0, segment.number))
            own.indexed = self._own_from = start
        if own.indexed < until:
            end = complete_end(segment.descriptor, min(segment.end(), until + _AHEAD))
            own = add_lines(own, segment.descriptor, own.indexed, end)
        self._own = own
        return own


def _is_message(segment: OpenSegment, offset: int, message_id: str, ops: Ops) -> bool:
    entry = decode(line_at(segment.descriptor, offset))
    return entry is not None and not is_op(entry) and message_id in ids_of(entry) and not ops.is_part(entry)


def _found(table: IdTable, message_id: str) -> list[int]:
    try:
        return table.find(hash_key(message_id)) or []
    except DamagedTableError:
        return []
