"""Opening the segments of a chat for reading, while other processes write, rotate and purge."""

import os
from collections.abc import Iterator
from typing import Final

from nanobot_transcript.errors import UnsafePathError
from nanobot_transcript.files.descriptors import open_read
from nanobot_transcript.files.layout import Layout
from nanobot_transcript.files.os_errors import store_error
from nanobot_transcript.store.jsonl import id_tables
from nanobot_transcript.store.jsonl.cursor import SegmentPosition
from nanobot_transcript.store.jsonl.id_table import DamagedTableError, IdTable, NewerFormatError, hash_key
from nanobot_transcript.store.jsonl.lines import (
    LARGE_BLOCK,
    Line,
    blocks_backward,
    blocks_forward,
    complete_end,
    split,
    start_of_line,
)

__all__ = ["OpenSegment", "Segments"]


class OpenSegment:
    """A segment that stays readable while it is open, even when it is renamed or unlinked."""

    __slots__ = ("active", "descriptor", "inode", "number")

    def __init__(self, number: int, descriptor: int, *, active: bool) -> None:
        self.number: Final = number
        self.descriptor = descriptor
        self.active: Final = active
        self.inode: Final = os.fstat(descriptor).st_ino

    def end(self) -> int:
        """The offset behind the last complete line."""
        return complete_end(self.descriptor, os.fstat(self.descriptor).st_size)

    def lines_from(self, offset: int) -> Iterator[Line]:
        """Complete lines from an offset, which may lie in the middle of a line or behind the end."""
        end = self.end()
        if offset > end:
            offset = 0  # somebody replaced the content: rather read all again than miss something
        start = start_of_line(self.descriptor, offset, end)
        for at, block in blocks_forward(self.descriptor, start, end):
            yield from split(at, block)

    def blocks_from(self, offset: int) -> Iterator[Line]:
        """Large blocks of complete lines from the start of a line."""
        return blocks_forward(self.descriptor, offset, self.end(), LARGE_BLOCK)

    def close(self) -> None:
        """Release the file."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def __del__(self) -> None:
        self.close()

    def __enter__(self) -> "OpenSegment":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Segments:
    """The segments of one chat, found by number."""

    __slots__ = ("_active_path", "layout", "stem")

    def __init__(self, layout: Layout, stem: str) -> None:
        self.layout: Final = layout
        self.stem: Final = stem
        self._active_path = layout.active(stem)

    def status(self) -> os.stat_result | None:
        """``lstat`` of the active segment; None when there is none."""
        try:
            return os.lstat(self._active_path)
        except FileNotFoundError:
            return None
        except OSError as error:
            store_error(error, self._active_path)

    def active(self) -> OpenSegment | None:
        """The segment that is being written."""
        while True:
            descriptor = open_read(self._active_path)
            if descriptor is None:
                return None
            inode = os.fstat(descriptor).st_ino
            try:
                number = id_tables.active_number(self.layout, self.stem, inode, reading=True)
            except BaseException:
                os.close(descriptor)
                raise
            status = self.status()
            if status is not None and status.st_ino == inode:
                return OpenSegment(number, descriptor, active=True)
            os.close(descriptor)  # rotated while its number was looked up

    def closed(self, number: int) -> OpenSegment | None:
        """A closed segment by its number."""
        descriptor = open_read(self.layout.closed(self.stem, number))
        return None if descriptor is None else OpenSegment(number, descriptor, active=False)

    def newest(self) -> OpenSegment | None:
        """The active segment; between a rotation and the next write, the last closed one."""
        return self.active() or self.before(1 << 62)

    def before(self, number: int) -> OpenSegment | None:
        """The nearest surviving segment with a lower number."""
        if number <= 1:
            return None
        direct = self.closed(number - 1)
        if direct is not None:
            return direct
        for candidate in reversed(self.layout.listed_numbers(self.stem)):
            if candidate < number and (segment := self.closed(candidate)) is not None:
                return segment
        return None

    def at_or_after(self, number: int) -> OpenSegment | None:
        """The segment with this number or the nearest surviving later one."""
        while True:
            direct = self.closed(number)
            if direct is not None:
                return direct
            active = self.active()
            later = [n for n in self.layout.listed_numbers(self.stem) if n >= number]
            if active is not None and active.number >= number and (not later or later[0] >= active.number):
                return active
            if active is not None:
                active.close()
            if not later:
                return None
            segment = self.closed(later[0])
            if segment is not None:
                return segment

    def each(self) -> Iterator[OpenSegment]:
        """Every segment, oldest first, open until the next one is asked for."""
        number = 0
        while (segment := self.at_or_after(number)) is not None:
            with segment:
                yield segment
                if segment.active:
                    return
            number = segment.number + 1

    def each_backward(self) -> Iterator[OpenSegment]:
        """Every segment, newest first, open until the next one is asked for."""
        segment = self.newest()
        while segment is not None:
            with segment:
                yield segment
            segment = self.before(segment.number)

    def forward(self, place: SegmentPosition) -> Iterator[tuple[OpenSegment, int, bytes]]:
        """(segment, offset, line) of everything from a place to the end as it is now."""
        number, offset = place
        active = self.active()
        if active is not None:
            with active:
                if active.number < number:
                    # The index was lost and numbering began again: rather repeat than miss something.
                    number, offset = (
                        active.number,
                        0,
                    )
        while (segment := self.at_or_after(number)) is not None:
            with segment:
                for at, line in segment.lines_from(offset if segment.number == number else 0):
                    yield segment, at, line
                if segment.active:
                    return
            number, offset = segment.number + 1, 0

    def backward(self, place: SegmentPosition) -> Iterator[tuple[OpenSegment, int, bytes]]:
        """(segment, offset, block of whole lines) of everything before a place, the last block first."""
        segment = self.at_or_after(place.number) or self.newest()
        while segment is not None:
            with segment:
                if segment.number <= place.number:
                    end = segment.end() if segment.number < place.number else min(place.offset, segment.end())
                    for offset, block in blocks_backward(segment.descriptor, end):
                        yield segment, offset, block
                number = segment.number
            segment = self.before(number)

    def end(self) -> SegmentPosition:
        """The place behind the last complete line."""
        segment = self.newest()
        if segment is None:
            return SegmentPosition(0, 0)
        with segment:
            return SegmentPosition(segment.number, segment.end())

    def offsets(self, segment: OpenSegment, message_id: str) -> tuple[list[int], int]:
        """Where the id table of a segment has an id, and up to which offset the segment is indexed."""
        table = self.table(segment)
        if table is None:
            return [], 0
        try:
            return table.find(hash_key(message_id)) or [], table.indexed
        except DamagedTableError:
            return [], 0
        finally:
            table.close()

    def plain_to(self, segment: OpenSegment) -> int:
        """Up to which offset every line is known to use this store's JSON escapes."""
        table = self.table(segment)
        if table is None:
            return 0
        try:
            return table.indexed if table.plain else 0
        finally:
            table.close()

    def closed_tables(self) -> Iterator[IdTable]:
        """The id tables of the closed segments within the horizon, where they exist."""
        for number in id_tables.horizon(self.layout, self.stem):
            try:
                table = id_tables.open_closed(self.layout, self.stem, number)
            except (NewerFormatError, UnsafePathError):
                continue
            if table is not None:
                yield table

    def table(self, segment: OpenSegment) -> IdTable | None:
        """The id table of a segment for reading; None when it is missing or belongs to another file."""
        number = None if segment.active else segment.number
        try:
            table = IdTable.open(self.layout.ids(self.stem, number), writable=False)
        except (NewerFormatError, UnsafePathError):
            return None
        if table is None or (_describes(table, segment) and not table.retired):
            return table
        table.close()
        return None


def _describes(table: IdTable, segment: OpenSegment) -> bool:
    if table.owner.inode == segment.inode:
        return True
    # Files restored from a backup have other inodes; for a closed segment its number and size are proof enough.
    size = os.fstat(segment.descriptor).st_size
    return not segment.active and table.number == segment.number and table.indexed == size
