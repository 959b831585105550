"""Reading a whole transcript to report its condition."""

import os
import stat

from nanobot_transcript.store.contract import VerifyReport
from nanobot_transcript.store.jsonl.erasure import is_json
from nanobot_transcript.store.jsonl.segments import OpenSegment, Segments
from nanobot_transcript.store.lines.codec import decode
from nanobot_transcript.store.lines.ids import ids_of
from nanobot_transcript.store.lines.ops import is_op

__all__ = ["audit"]


def audit(segments: Segments, report: VerifyReport) -> None:
    """Count lines, entries, ops, repeated ids, torn and foreign lines into ``report``; mend file modes."""
    seen: set[str] = set()
    for segment in segments.each():
        report.segments += 1
        report.bytes += os.fstat(segment.descriptor).st_size
        _make_private(segment, report)
        for _, line in segment.lines_from(0):
            _count(line, seen, report)


def _count(line: bytes, seen: set[str], report: VerifyReport) -> None:
    if not line.strip():
        return
    report.lines += 1
    entry = decode(line)
    if entry is None:
        if line.lstrip().startswith(b"{") and not is_json(line):
            report.torn_lines += 1
        else:
            report.foreign_lines += 1
    elif is_op(entry):
        report.ops += 1
    else:
        ids = ids_of(entry)
        if seen.isdisjoint(ids):
            report.entries += 1
        else:
            report.duplicates += 1
        seen.update(ids)


def _make_private(segment: OpenSegment, report: VerifyReport) -> None:
    mode = stat.S_IMODE(os.fstat(segment.descriptor).st_mode)
    if not mode & 0o077:
        return
    try:
        os.fchmod(segment.descriptor, mode & 0o700)
    except OSError as error:
        report.unmended.append(f"segment {segment.number} can be read by others (mode {mode:04o}): {error.strerror}")
    else:
        report.healed.append(f"segment {segment.number} could be read by others (mode {mode:04o}); now it cannot")
