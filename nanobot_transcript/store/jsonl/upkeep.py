"""Maintenance of one transcript: carrying out recalls on the disk, purging, and retention."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import InvalidCursorError
from nanobot_transcript.store.contract import MaintenanceReport, Retention
from nanobot_transcript.store.jsonl.codec import decode, ids_of
from nanobot_transcript.store.jsonl.cursor import START, Place, format_cursor, parse_cursor
from nanobot_transcript.store.jsonl.erase import blank, erase_lines, replay, without_text
from nanobot_transcript.store.jsonl.fold import is_op
from nanobot_transcript.store.jsonl.layout import open_append, open_read, store_error
from nanobot_transcript.store.jsonl.lines import blocks_backward, line_at, split
from nanobot_transcript.store.jsonl.lock import exclusive
from nanobot_transcript.store.jsonl.ops import OpLog
from nanobot_transcript.store.jsonl.reader import lines_with
from nanobot_transcript.store.jsonl.segments import OpenSegment, Segments
from nanobot_transcript.store.jsonl.window import ERASED

__all__ = ["apply_retention", "erase_hidden", "maintenance", "purge_lines"]

_WAIT: Final = 10.0
_DAY_MS: Final = 86_400_000


@contextmanager
def maintenance(segments: Segments) -> Iterator[None]:
    """One process at a time; what a killed one left half done is finished first."""
    segments.layout.create()
    path = segments.layout.lock(segments.stem, "maintenance")
    with exclusive(path, _WAIT, "maintenance of this transcript"):
        replay(segments)
        yield


def erase_hidden(segments: Segments) -> int:
    """Take the text of recalled and redacted messages off the disk; returns how many lines changed."""
    start = _erased_to(segments)
    ops = OpLog(segments)
    end = segments.end()
    ops.cover(start)
    count = 0
    targets = ops.hidden - {ERASED}
    if targets:
        ops.cover(START)
        for target in sorted(targets):
            places = {place for place, _ in lines_with(segments, target)}
            count += _erase_places(segments, places | set(ops.edits_of(target)))
    _remember_erased_to(segments, end)
    return count


def _erase_places(segments: Segments, places: set[Place]) -> int:
    count = 0
    for place in sorted(places):
        segment = segments.at_or_after(place.number)
        if segment is None:
            continue
        with segment:
            if segment.number == place.number:
                line = line_at(segment.descriptor, place.offset)
                count += erase_lines(segments, segment, [(place.offset, line)], without_text)
    return count


def _erased_to(segments: Segments) -> Place:
    descriptor = open_read(segments.layout.erased(segments.stem))
    if descriptor is None:
        return START
    try:
        return parse_cursor(segments.stem, os.pread(descriptor, 100, 0).decode("ascii", "replace"))
    except InvalidCursorError:
        return START
    finally:
        os.close(descriptor)


def _remember_erased_to(segments: Segments, place: Place) -> None:
    path = segments.layout.erased(segments.stem)
    descriptor = open_append(f"{path}.new")
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, format_cursor(segments.stem, place).encode())
        os.rename(f"{path}.new", path)
    except OSError as error:
        store_error(error, path)
    finally:
        os.close(descriptor)


def purge_lines(segments: Segments, sender: str | None, before_ms: float | None) -> MaintenanceReport:
    """Blank every line of a sender and before a time (both when both are given), and the edits of those messages."""
    report = MaintenanceReport("")
    eraser = _Purge(sender, before_ms)
    number = 0
    while (segment := segments.at_or_after(number)) is not None:
        with segment:
            eraser.kept = 0
            report.erased_entries += erase_lines(segments, segment, segment.lines_from(0), eraser)
            if not segment.active and not eraser.kept:
                report.dropped_bytes += _drop(segments, segment.number)
                report.dropped_segments += 1
            if segment.active:
                break
            number = segment.number + 1
    return report


class _Purge:
    """Decides for each line, oldest first, whether it goes."""

    def __init__(self, sender: str | None, before_ms: float | None) -> None:
        self._sender = sender
        self._before_ms = before_ms
        self._gone: set[str] = set()
        self.kept = 0

    def __call__(self, entry: Entry) -> bytes | None:
        if is_op(entry):
            goes = entry.get("target") in self._gone and entry.get("op") == "edit"
        else:
            goes = self._matches(entry)
            if goes:
                self._gone.update(ids_of(entry))
        if goes:
            return blank(entry)
        self.kept += 1
        return None

    def _matches(self, entry: Entry) -> bool:
        if self._before_ms is not None and entry["ts"] >= self._before_ms:
            return False
        if self._sender is None or entry["sender"] == self._sender:
            return True
        ids = entry.get("ids")
        return isinstance(ids, dict) and self._sender in ids.values()


def apply_retention(segments: Segments, retention: Retention) -> MaintenanceReport:
    """Drop the closed segments that the retention no longer keeps, oldest first."""
    report = MaintenanceReport("")
    numbers = segments.layout.closed_numbers(segments.stem)
    keep = _kept_from(segments, numbers, retention)
    for number in numbers[:keep]:
        report.dropped_bytes += _drop(segments, number)
        report.dropped_segments += 1
    return report


def _kept_from(segments: Segments, numbers: list[int], retention: Retention) -> int:
    """How many of the oldest closed segments go."""
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
            if _too_old(segment, retention.max_age_days):
                return position + 1
            size += segment.end()
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
        times = [entry.get("rts") or entry["ts"] for _, line in split(offset, block) if (entry := decode(line))]
        if times:
            return max(times) < time.time() * 1000 - max_age_days * _DAY_MS
    return True


def _drop(segments: Segments, number: int) -> int:
    layout, stem = segments.layout, segments.stem
    path = layout.closed(stem, number)
    try:
        size = os.stat(path).st_size
        os.unlink(path)
        if os.path.lexists(layout.ids(stem, number)):
            os.unlink(layout.ids(stem, number))
    except FileNotFoundError:
        return 0
    except OSError as error:
        store_error(error, path)
    return size
