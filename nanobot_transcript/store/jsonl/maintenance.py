"""Maintenance of one transcript: carrying out recalls on the disk, purging, and retention."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import InvalidCursorError
from nanobot_transcript.files.descriptors import open_read
from nanobot_transcript.files.lock import exclusive
from nanobot_transcript.files.os_errors import store_error
from nanobot_transcript.files.replace import write_whole
from nanobot_transcript.store.contract import MaintenanceReport, Retention
from nanobot_transcript.store.jsonl.cursor import START, SegmentPosition, format_cursor, parse_cursor
from nanobot_transcript.store.jsonl.erasure import clear_away, erase_lines, erase_unreadable, replay
from nanobot_transcript.store.jsonl.escapes import candidates
from nanobot_transcript.store.jsonl.lines import Line, blocks_backward, split
from nanobot_transcript.store.jsonl.ops import JsonlOps
from nanobot_transcript.store.jsonl.segments import OpenSegment, Segments
from nanobot_transcript.store.lines.codec import decode, encode_text
from nanobot_transcript.store.lines.erasure import Hidden, Purge
from nanobot_transcript.store.lines.order import moment_of

__all__ = ["apply_retention", "erase_hidden", "maintenance", "purge_lines", "purged_at", "remember_purge"]

_WAIT: Final = 10.0
_DAY_MS: Final = 86_400_000


@contextmanager
def maintenance(segments: Segments) -> Iterator[None]:
    """One process at a time; what a killed one left half done is finished first."""
    segments.layout.create()
    path = segments.layout.lock(segments.stem, "maintenance")
    with exclusive(path, _WAIT, "maintenance of this transcript"):
        clear_away(segments)
        replay(segments)
        yield


def erase_hidden(segments: Segments) -> int:
    """Erase from the disk the text of messages recalled or redacted since the last time, every copy and every edit.

    Returns how many lines changed.
    """
    since, end = _erased_to(segments), segments.end()
    if since == end:
        return 0
    ops = JsonlOps(segments).since(START)
    count = _erase_everywhere(segments, ops.together(JsonlOps(segments).since(since).hidden))
    # Also what was written since about messages that were hidden before.
    hidden = Hidden(ops.together(ops.hidden))
    for segment in segments.each():
        if segment.number >= since.number:
            lines = segment.lines_from(since.offset if segment.number == since.number else 0)
            count += erase_lines(segments, segment, lines, hidden)
    _remember_erased_to(segments, end)
    return count


def _erase_everywhere(segments: Segments, targets: set[str]) -> int:
    """Erase the text of these messages, and of other ids that turn out to belong to the same ones."""
    count, done = 0, set[str]()
    while targets - done:
        hidden, done = Hidden(targets), set(targets)
        needles = [encode_text(target) for target in sorted(targets)]
        for segment in segments.each():
            count += erase_lines(segments, segment, _lines_about(segments, segment, needles), hidden)
            erase_unreadable(segments, segment)
        targets = hidden.targets
    return count


def _lines_about(segments: Segments, segment: OpenSegment, needles: list[bytes]) -> Iterator[Line]:
    plain_to = segments.plain_to(segment)
    for offset, block in segment.blocks_from(0):
        yield from candidates(offset, block, needles, plain_to)


def _erased_to(segments: Segments) -> SegmentPosition:
    """How far recalls have been carried out; from the beginning when nobody knows."""
    descriptor = open_read(segments.layout.erased(segments.stem))
    if descriptor is None:
        return START
    try:
        return parse_cursor(segments.stem, os.pread(descriptor, 100, 0).decode("ascii", "replace"))
    except InvalidCursorError:
        return START
    finally:
        os.close(descriptor)


def _remember_erased_to(segments: Segments, place: SegmentPosition) -> None:
    path = segments.layout.erased(segments.stem)
    try:
        write_whole(path, format_cursor(segments.stem, place).encode())
    except OSError as error:
        store_error(error, path)


def purge_lines(segments: Segments, senders: frozenset[str], before_ms: float | None) -> MaintenanceReport:
    """Blank every line of a person, known by any of ``senders``, and before a time (both when both are given), with the
    edits of those messages.
    """
    report = MaintenanceReport("")
    eraser = Purge(JsonlOps(segments).since(START), _entries(segments), senders, before_ms)
    for segment in segments.each():
        eraser.kept = 0
        report.erased_entries += erase_lines(segments, segment, segment.lines_from(0), eraser)
        erase_unreadable(segments, segment)
        if not segment.active and not eraser.kept:
            _drop(segments, segment.number, report)
    return report


def _entries(segments: Segments) -> Iterator[Entry]:
    lines = (line for segment in segments.each() for _, line in segment.lines_from(0))
    return (entry for line in lines if (entry := decode(line)) is not None)


def remember_purge(segments: Segments, moment_ms: float | None = None) -> None:
    """Note that something was purged now, or at a given moment unless a later purge is known."""
    moment = time.time() * 1000 if moment_ms is None else max(moment_ms, purged_at(segments))
    path = segments.layout.purged(segments.stem)
    try:
        write_whole(path, str(int(moment)).encode())
    except OSError as error:
        store_error(error, path)


def purged_at(segments: Segments) -> float:
    """When something was last purged (ms), 0 when never."""
    descriptor = open_read(segments.layout.purged(segments.stem))
    if descriptor is None:
        return 0
    try:
        return float(os.pread(descriptor, 40, 0))
    except ValueError:
        return 0
    finally:
        os.close(descriptor)


def apply_retention(segments: Segments, retention: Retention) -> MaintenanceReport:
    """Drop the closed segments that the retention no longer keeps, oldest first."""
    report = MaintenanceReport("")
    numbers = segments.layout.closed_numbers(segments.stem)
    keep = _kept_from(segments, numbers, retention)
    for number in numbers[:keep]:
        _drop(segments, number, report)
    return report


def _kept_from(segments: Segments, numbers: list[int], retention: Retention) -> int:
    """How many of the oldest closed segments are dropped."""
    active = segments.active()
    size = entries = 0
    if active is not None:
        with active:
            size = active.end()
            entries = _count_lines(active) if retention.max_entries is not None else 0
    for position in range(len(numbers) - 1, -1, -1):
        segment = segments.closed(numbers[position])
        if segment is None:
            continue
        with segment:
            end = segment.end()
            if end and _too_old(segment, retention.max_age_days):
                return position + 1
            size += end
            entries += _count_lines(segment) if retention.max_entries is not None else 0
        over_size = retention.max_bytes is not None and size > retention.max_bytes
        over_count = retention.max_entries is not None and entries > retention.max_entries
        if over_size or over_count:
            return position + 1
    return 0


def _count_lines(segment: OpenSegment) -> int:
    return sum(block.count(b"\n") for _, block in segment.blocks_from(0))


def _too_old(segment: OpenSegment, max_age_days: float | None) -> bool:
    if max_age_days is None:
        return False
    for offset, block in blocks_backward(segment.descriptor, segment.end()):
        entries = (decode(line) for _, line in split(offset, block))
        times = [moment for entry in entries if entry is not None and (moment := moment_of(entry)) is not None]
        if times:
            return max(times) < time.time() * 1000 - max_age_days * _DAY_MS
    return True


def _drop(segments: Segments, number: int, report: MaintenanceReport) -> None:
    """Remove a closed segment. Of the newest one an empty file stays: no number may be used twice for a chat, and the
    index, which also knows the numbers, can be lost.
    """
    layout, stem = segments.layout, segments.stem
    path = layout.closed(stem, number)
    try:
        size = os.stat(path).st_size
        if number >= max(layout.closed_numbers(stem), default=number):
            os.close(os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC))
        else:
            os.unlink(path)
        if os.path.lexists(layout.ids(stem, number)):
            os.unlink(layout.ids(stem, number))
    except FileNotFoundError:
        return
    except OSError as error:
        store_error(error, path)
    report.dropped_bytes += size
    report.dropped_segments += size > 0
