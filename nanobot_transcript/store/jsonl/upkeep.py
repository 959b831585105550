"""Maintenance of one transcript: carrying out recalls on the disk, purging, and retention."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import InvalidCursorError
from nanobot_transcript.store.contract import MaintenanceReport, Retention
from nanobot_transcript.store.jsonl.codec import decode, encode, encode_text, ids_of
from nanobot_transcript.store.jsonl.cursor import START, Place, format_cursor, parse_cursor
from nanobot_transcript.store.jsonl.erase import blank, erase_lines, erase_torn, replay, without_text
from nanobot_transcript.store.jsonl.fold import HIDING, is_op
from nanobot_transcript.store.jsonl.layout import open_read, store_error
from nanobot_transcript.store.jsonl.lines import Line, blocks_backward, grep, split
from nanobot_transcript.store.jsonl.lock import exclusive
from nanobot_transcript.store.jsonl.ops import OpLog
from nanobot_transcript.store.jsonl.order import moment_of
from nanobot_transcript.store.jsonl.segments import OpenSegment, Segments
from nanobot_transcript.store.whole_file import write_whole

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
    """Take the text of messages recalled or redacted since the last time off the disk, every copy and every edit.

    Returns how many lines changed.
    """
    end = segments.end()
    log = OpLog(segments)
    count = 0
    if log.since(_erased_to(segments)).hidden:
        ops = log.since(START)
        targets = ops.together(ops.hidden)
        needles = [encode_text(target) for target in sorted(targets)]
        for segment in segments.each():
            count += erase_lines(segments, segment, _lines_about(segment, needles), _Hidden(targets))
            erase_torn(segments, segment)
    _remember_erased_to(segments, end)
    return count


def _lines_about(segment: OpenSegment, needles: list[bytes]) -> Iterator[Line]:
    for offset, block in segment.blocks_from(0):
        yield from sorted({line for needle in needles for line in grep(offset, block, needle)})


class _Hidden:
    """Takes the text off what is hidden; a message that only refers to it (a reply) is left alone."""

    def __init__(self, targets: set[str]) -> None:
        self._targets = targets

    def __call__(self, entry: Entry) -> bytes | None:
        if entry.get("op") in HIDING:
            return None  # has no text, and must go on hiding
        hidden = entry.get("target") in self._targets or not self._targets.isdisjoint(ids_of(entry))
        return without_text(entry) if hidden else None


def _erased_to(segments: Segments) -> Place:
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


def _remember_erased_to(segments: Segments, place: Place) -> None:
    path = segments.layout.erased(segments.stem)
    try:
        write_whole(path, format_cursor(segments.stem, place).encode())
    except OSError as error:
        store_error(error, path)


def purge_lines(segments: Segments, sender: str | None, before_ms: float | None) -> MaintenanceReport:
    """Blank every line of a sender and before a time (both when both are given), and the edits of those messages."""
    report = MaintenanceReport("")
    ops = OpLog(segments).since(START)
    eraser = _Purge(sender, before_ms, ops.sent_by(sender) if sender is not None else set())
    for segment in segments.each():
        eraser.kept = 0
        report.erased_entries += erase_lines(segments, segment, segment.lines_from(0), eraser)
        erase_torn(segments, segment)
        if not segment.active and not eraser.kept:
            report.dropped_bytes += _drop(segments, segment.number)
            report.dropped_segments += 1
    return report


class _Purge:
    """Decides for each line, oldest first, whether it goes, and takes a person out of the lines that stay."""

    def __init__(self, sender: str | None, before_ms: float | None, own: set[str]) -> None:
        self._sender = sender
        self._before_ms = before_ms
        self._own = own
        self._gone: set[str] = set()
        self.kept = 0

    def __call__(self, entry: Entry) -> bytes | None:
        if is_op(entry):
            own = self._before_ms is None and self._sender is not None and _is_by(entry, self._sender)
            goes = entry.get("op") == "edit" and (own or entry.get("target") in self._gone)
        else:
            goes = self._matches(entry)
            if goes:
                self._gone.update(ids_of(entry))
        if goes:
            return blank(entry)
        self.kept += 1
        forgets = self._sender is not None and self._before_ms is None
        return _without_person(entry, self._sender) if forgets and self._sender is not None else None

    def _matches(self, entry: Entry) -> bool:
        if self._before_ms is not None and entry["ts"] >= self._before_ms:
            return False
        return self._sender is None or _is_by(entry, self._sender) or not self._own.isdisjoint(ids_of(entry))


def _is_by(entry: Entry, sender: str) -> bool:
    ids = entry.get("ids")
    return entry["sender"] == sender or (isinstance(ids, dict) and sender in ids.values())


def _without_person(entry: Entry, sender: str) -> bytes | None:
    """The line without a person who is named in it or who edited or recalled; None when there is nothing to take."""
    changed = entry.copy()
    if _is_by(entry, sender):
        changed["sender"] = ""
        changed.pop("sender_name", None)
        changed.pop("ids", None)
    mentions = entry.get("mentions")
    if isinstance(mentions, list):
        changed["mentions"] = [
            named for named in mentions if not (isinstance(named, dict) and named.get("id") == sender)
        ]
    return None if changed == entry else encode(changed)[:-1]


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
        entries = (decode(line) for _, line in split(offset, block))
        times = [moment for entry in entries if entry is not None and (moment := moment_of(entry)) is not None]
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
