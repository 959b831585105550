"""Bringing other records into a transcript: our own JSONL, the older lossy-named files, IRC logs and plain text.

A message without an id gets one made of what it says, so that importing the same thing again writes nothing.
"""

import codecs
import hashlib
import os
import re
import time
from collections import Counter
from collections.abc import Collection, Iterable
from datetime import date, datetime
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import msgspec

from nanobot_transcript.entry import Entry, well_formed
from nanobot_transcript.errors import ImportFormatError
from nanobot_transcript.session_key import FEISHU
from nanobot_transcript.store.contract import Progress
from nanobot_transcript.store.exchange.candidates import Candidate, from_log, from_transcript, read_ahead
from nanobot_transcript.store.exchange.lines import PARSERS, lines_of, settle_format, watched
from nanobot_transcript.store.exchange.logs import Clock
from nanobot_transcript.store.exchange.report import ImportFormat, ImportReport
from nanobot_transcript.store.front import GroupTranscriptStore
from nanobot_transcript.store.shape import looks_like_seconds

__all__ = ["import_file", "session_key_of"]

_LOSSY_NAME: Final = re.compile(rf"({FEISHU})_(oc_.+)")
_DATE_IN_NAME: Final = re.compile(r"(\d{4})[-_.](\d{2})[-_.](\d{2})")


def session_key_of(path: Path) -> str | None:
    """The chat an older file is about: ``feishu_oc_x.jsonl`` held ``feishu:oc_x``. None when it cannot be told.

    >>> session_key_of(Path("feishu_oc_1.jsonl"))
    'feishu:oc_1'
    """
    match = _LOSSY_NAME.fullmatch(path.stem)
    return f"{match[1]}:{match[2]}" if match else None


def import_file(
    store: GroupTranscriptStore,
    path: Path,
    session_key: str,
    *,
    kind: ImportFormat = "auto",
    bots: Collection[str] = (),
    day: date | None = None,
    encoding: str = "utf-8",
    progress: Progress | None = None,
) -> ImportReport:
    """Append what a file holds to a chat, with ``source: import``; what is there already is left out.

    ``bots`` are names whose lines in logs were written by bots. ``day`` is the date of a log that gives only times
    (else one in the file's name, else the file's own); ``progress`` is called with bytes. Lines that cannot be
    understood are counted in the report. Raises ImportFormatError when the file is not of the announced format,
    StoreError when the store cannot be written.
    """
    _check_encoding(encoding)
    with _opened(path) as file:
        chosen = settle_format(path, file, kind, encoding)
        report = ImportReport(session_key, chosen)
        size = os.fstat(file.fileno()).st_size
        if chosen == "jsonl":
            _import_transcript(store, file, report, size, progress)
        else:
            lines = watched(lines_of(file), report, size, progress)
            clock = Clock(day or _day_of(path))
            _append(store, from_log(lines, PARSERS[chosen], clock, encoding, bots, report), report)
    return report


def _import_transcript(
    store: GroupTranscriptStore, file: BinaryIO, report: ImportReport, size: int, progress: Progress | None
) -> None:
    ahead = read_ahead(file)
    edits = dict(ahead.edits)
    lines = watched(lines_of(file), report, size, progress)
    _append(store, from_transcript(lines, report, ahead.hidden, edits), report)
    for op in ahead.hidden.values():
        report.count(store.backend.apply(report.session_key, _marked(op)))
    for target, changes in edits.items():  # what is left edits messages that are not in this file
        known = store.get(report.session_key, target)
        news = known is not None and known["content"] != changes[-1]["content"]
        report.count(news and store.backend.apply(report.session_key, _marked(changes[-1])))


def _append(store: GroupTranscriptStore, candidates: Iterable[Candidate], report: ImportReport) -> None:
    seen: Counter[bytes] = Counter()
    for candidate in candidates:
        entry = _marked(candidate.entry)
        if not entry["message_id"]:
            entry["message_id"] = _made_id(candidate, seen)
        report.count(store.backend.append(report.session_key, entry))


def _made_id(candidate: Candidate, seen: "Counter[bytes]") -> str:
    """The same for the same words of the same sender at the same time; the n-th repetition counts as another."""
    sender, content = well_formed(candidate.entry["sender"]), well_formed(candidate.entry["content"])
    said = msgspec.json.encode([sender, content, candidate.when])
    seen[said] += 1
    return f"import:{hashlib.sha256(said + str(seen[said]).encode('ascii')).hexdigest()[:32]}"


def _marked(entry: Entry) -> Entry:
    """``entry`` as an import, with a usable time and a time of receipt."""
    fields = cast("dict[str, Any]", entry)
    now = time.time_ns() // 1_000_000
    ts = fields.get("ts") or 0
    if ts <= 0:
        fields["ts"] = now
    elif looks_like_seconds(ts):
        fields["ts"] = int(ts * 1000)
    fields["source"] = "import"
    fields.setdefault("rts", now)
    return entry


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise ImportFormatError(f"Cannot read {path}: {error.strerror}.", hint="Check the path.") from error


def _check_encoding(encoding: str) -> None:
    try:
        codecs.lookup(encoding)
    except LookupError as error:
        hint = "Name one such as utf-8, gb18030 or latin-1."
        raise ImportFormatError(f"There is no encoding {encoding}.", hint=hint) from error


def _day_of(path: Path) -> date:
    match = _DATE_IN_NAME.search(path.name)
    if match:
        try:
            return date(int(match[1]), int(match[2]), int(match[3]))
        except ValueError:
            pass
    return datetime.fromtimestamp(path.stat().st_mtime).astimezone().date()
