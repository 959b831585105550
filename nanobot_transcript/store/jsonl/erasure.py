"""Erasing text from the disk, in place.

An erased line keeps its length: it is overwritten with a shorter line and spaces. So no offset moves, no reader or
writer has to wait, and the old bytes are really gone. The edits are written to a journal first: when a process is
killed in the middle, the next one finishes its work and no text stays half erased.
"""

import logging
import os
from collections.abc import Iterable
from typing import Final

import msgspec

from nanobot_transcript.errors import StoreBusyError
from nanobot_transcript.files.descriptors import open_read
from nanobot_transcript.files.layout import Layout
from nanobot_transcript.files.os_errors import store_error
from nanobot_transcript.files.replace import write_whole
from nanobot_transcript.store.jsonl.lines import Line, split
from nanobot_transcript.store.jsonl.segments import OpenSegment, Segments
from nanobot_transcript.store.lines.codec import decode
from nanobot_transcript.store.lines.erasure import Eraser
from nanobot_transcript.store.lines.ops import hides

__all__ = ["clear_away", "erase_lines", "erase_unreadable", "is_json", "replay"]

_BATCH: Final = 500
_VERSION: Final = 1

_anything: Final = msgspec.json.Decoder(msgspec.Raw)
logger = logging.getLogger(__name__)


class _Edit(msgspec.Struct, array_like=True):
    offset: int
    length: int
    text: str


class _Versioned(msgspec.Struct):
    v: int


class _Journal(_Versioned):
    number: int
    inode: int
    edits: list[_Edit]


def erase_lines(segments: Segments, segment: OpenSegment, lines: Iterable[Line], eraser: Eraser) -> int:
    """Overwrite the lines that the eraser changes; returns how many. Call it under the maintenance lock."""
    count = 0
    batch: list[_Edit] = []
    for offset, line in lines:
        entry = decode(line)
        replacement = eraser(entry) if entry is not None else None
        if replacement is None or replacement == line.rstrip(b" "):
            continue
        if len(replacement) > len(line):
            if entry is not None and hides(entry):
                continue  # has no text, and must go on hiding
            replacement = b""
        batch.append(_Edit(offset, len(line), replacement.decode()))
        count += 1
        if len(batch) >= _BATCH:
            _overwrite(segments, segment, batch)
            batch = []
    if batch:
        _overwrite(segments, segment, batch)
    return count


def erase_unreadable(segments: Segments, segment: OpenSegment) -> None:
    """Blank what no reader can decode: torn lines of killed writers, and bytes of other programs that are not JSON.

    They count as never said, but hold text. Call it under the maintenance lock whenever text is erased, because such a
    line does not tell whose text it is.
    """
    found = [
        _Edit(offset, len(line), "")
        for at, block in segment.blocks_from(0)
        for offset, line in split(at, block)
        if not is_json(line) and line.strip() and decode(line) is None
    ]
    for start in range(0, len(found), _BATCH):
        _overwrite(segments, segment, found[start : start + _BATCH])


def is_json(line: bytes) -> bool:
    """True for a line of JSON, whatever it says."""
    try:
        _anything.decode(line)
        line.decode()  # the decoder does not check the text of skipped values
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def _overwrite(segments: Segments, segment: OpenSegment, edits: list[_Edit]) -> None:
    layout, stem = segments.layout, segments.stem
    # In this order: the journal is on the disk before the first byte changes, and is removed after the last one has.
    _write_journal(layout, stem, _Journal(_VERSION, segment.number, segment.inode, edits))
    _carry_out(segments, segment, edits)
    os.unlink(layout.journal(stem))


def _write_journal(layout: Layout, stem: str, journal: _Journal) -> None:
    path = layout.journal(stem)
    if os.path.lexists(path):
        raise StoreBusyError(
            f"{path} is unfinished work of a newer version; nothing is erased before that is done.",
            hint="Run `nanobot-transcript verify` of the newer version once.",
        )
    try:
        write_whole(path, msgspec.json.encode(journal), sync=True)
    except OSError as error:
        store_error(error, path)


def _carry_out(segments: Segments, segment: OpenSegment, edits: list[_Edit]) -> None:
    writer = _open_for_writing(segments, segment)
    if writer is None:
        return  # the segment is gone, and the text with it
    try:
        size = os.fstat(writer).st_size
        for edit in edits:
            # A journal may be damaged: never write past the end of the file or of the old line.
            if 0 <= edit.offset <= size - edit.length and len(edit.text.encode()) <= edit.length:
                os.pwrite(writer, edit.text.encode().ljust(edit.length), edit.offset)
        os.fdatasync(writer)
    except OSError as error:
        store_error(error, "the transcript")
    finally:
        os.close(writer)


def _open_for_writing(segments: Segments, segment: OpenSegment) -> int | None:
    # By name, because readers have it open for reading only. It may be rotated between the two attempts.
    layout, stem = segments.layout, segments.stem
    for path in (layout.active(stem), layout.closed(stem, segment.number)):
        try:
            writer = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        except OSError as error:
            store_error(error, path)
        if os.fstat(writer).st_ino == segment.inode:
            return writer
        os.close(writer)
    return None


def clear_away(segments: Segments) -> None:
    """Remove journals that a killed process had not finished writing: they hold text. Call it under the maintenance
    lock.
    """
    prefix = os.path.basename(segments.layout.journal(segments.stem)) + "."
    for name in os.listdir(segments.layout.index):
        if name.startswith(prefix):
            os.unlink(segments.layout.index / name)


def replay(segments: Segments) -> int:
    """Finish the erasure that a killed process had begun; returns the number of lines."""
    path = segments.layout.journal(segments.stem)
    descriptor = open_read(path)
    if descriptor is None:
        return 0
    try:
        data = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
    finally:
        os.close(descriptor)
    journal = _decode_journal(data)
    if journal is None:
        logger.warning(
            "%s cannot be read and is dropped; its erasure is repeated from the recalls in the transcript", path
        )
        os.unlink(path)
        return 0
    if journal.v > _VERSION:
        logger.warning("%s was written by a newer version; leaving it alone", path)
        return 0
    segment = segments.at_or_after(journal.number)
    if segment is not None:
        with segment:
            # Another file may have this number, restored from a backup: these offsets mean nothing in it.
            if segment.inode == journal.inode:
                _carry_out(segments, segment, journal.edits)
    os.unlink(path)
    return len(journal.edits)


def _decode_journal(data: bytes) -> _Journal | None:
    try:
        version = msgspec.json.decode(data, type=_Versioned).v
        return msgspec.json.decode(data, type=_Journal) if version <= _VERSION else _Journal(version, 0, 0, [])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
