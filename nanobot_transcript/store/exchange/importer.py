"""Importing other records into a transcript: our own JSONL, the older files with lossy names, IRC logs and plain text.

A message without an id gets one derived from its content, so that importing the same file again writes nothing.
"""

import codecs
import hashlib
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import msgspec

from nanobot_transcript.entry import Entry, well_formed
from nanobot_transcript.errors import ImportFormatError
from nanobot_transcript.platform import platforms
from nanobot_transcript.store.arguments import looks_like_seconds
from nanobot_transcript.store.contract import Progress
from nanobot_transcript.store.exchange.candidates import ImportCandidate, from_log, from_transcript, read_ahead
from nanobot_transcript.store.exchange.chat_logs import Clock
from nanobot_transcript.store.exchange.lines import PARSERS, FileLine, lines_of, settle_format, watched
from nanobot_transcript.store.exchange.report import ImportFormat, ImportReport
from nanobot_transcript.store.front import GroupTranscriptStore

__all__ = ["import_file", "session_key_of"]

_DAY: Final = timedelta(days=1)
_DATE_IN_NAME: Final = re.compile(r"(\d{4})[-_.](\d{2})[-_.](\d{2})")


def session_key_of(path: Path) -> str | None:
    """The chat an older file is about: ``feishu_oc_x.jsonl`` held ``feishu:oc_x``. None when it cannot be told.

    >>> session_key_of(Path("feishu_oc_1.jsonl"))
    'feishu:oc_1'
    """
    channel, _, chat_id = path.stem.partition("_")
    named = (one.key(chat_id) for one in platforms() if one.name == channel and one.is_group(chat_id))
    return next(named, None)


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
    """Append the messages of a file to a chat, with ``source: import``; messages already on record are left out.

    ``bots`` are names whose lines in logs were written by bots. ``day`` is the date of a log that has times only
    (default: the date in the file's name, else the latest day on which nothing in it is later than the file);
    ``progress`` is called with bytes. Lines that cannot be understood are counted in the report. A message without a
    time gets that of the message before it; at the beginning, that of the next one with a time, else now. Raises
    ImportFormatError, with nothing written, when the file is not in the announced format or a log is not in
    ``encoding``; StoreError when the store cannot be written.
    """
    _check_encoding(encoding)
    with _opened(path) as file:
        chosen = settle_format(path, file, kind, encoding)
        report = ImportReport(session_key, chosen)
        size = os.fstat(file.fileno()).st_size
        if chosen == "jsonl":
            _import_transcript(store, file, report, size, progress)
        else:

            def read(lines: Iterable[FileLine], told: ImportReport, clock: Clock) -> Iterator[ImportCandidate]:
                return from_log(lines, PARSERS[chosen], clock, encoding, bots, told)

            first_day = day or _day_in(path.name)
            if first_day is None:
                first_day, taken = _likely_day(file, read)
                report.day_taken = first_day if taken else None

            def messages(lines: Iterable[FileLine], told: ImportReport) -> Iterator[ImportCandidate]:
                return read(lines, told, Clock(first_day))

            first = _first_time(file, messages)
            _append(store, messages(watched(lines_of(file), report, size, progress), report), report, first)
    return report


def _import_transcript(
    store: GroupTranscriptStore, file: BinaryIO, report: ImportReport, size: int, progress: Progress | None
) -> None:
    ahead = read_ahead(file)
    edits = dict(ahead.edits)
    first = _first_time(file, lambda lines, told: from_transcript(lines, told, ahead.hidden, {}))
    lines = watched(lines_of(file), report, size, progress)
    _append(store, from_transcript(lines, report, ahead.hidden, edits), report, first)
    for op in ahead.hidden.values():
        report.count(store.backend.apply(report.session_key, _marked(op, _now())))
    for target, changes in edits.items():  # the rest edit messages that are not in this file
        known = store.get(report.session_key, target)
        news = known is not None and known["content"] != changes[-1]["content"]
        report.count(news and store.backend.apply(report.session_key, _marked(changes[-1], _now())))


def _first_time(
    file: BinaryIO, messages: Callable[[Iterable[FileLine], ImportReport], Iterator[ImportCandidate]]
) -> int:
    """The time (ms) of the first message that has one, else now. Leaves the file at its beginning."""
    lines = (line for line in lines_of(file) if line.body.strip())
    times = (_milliseconds(candidate.entry["ts"]) for candidate in messages(lines, ImportReport("", "")))
    found = next((ts for ts in times if ts > 0), None)
    file.seek(0)
    return found or _now()


def _append(
    store: GroupTranscriptStore, candidates: Iterable[ImportCandidate], report: ImportReport, first: int
) -> None:
    """Offer the messages to the store; a message without a time gets that of the one before it, or ``first``."""
    seen: Counter[bytes] = Counter()
    last: float = first
    for candidate in candidates:
        entry = _marked(candidate.entry, last)
        last = entry["ts"]
        if not entry["message_id"]:
            entry["message_id"] = _made_id(candidate, seen)
        report.count(store.backend.append(report.session_key, entry))


def _made_id(candidate: ImportCandidate, seen: "Counter[bytes]") -> str:
    """The same id for the same words of the same sender at the same time; a repetition gets another id."""
    sender, content = well_formed(candidate.entry["sender"]), well_formed(candidate.entry["content"])
    said = msgspec.json.encode([sender, content, candidate.when])
    seen[said] += 1
    return f"import:{hashlib.sha256(said + str(seen[said]).encode('ascii')).hexdigest()[:32]}"


def _marked(entry: Entry, otherwise: float) -> Entry:
    """``entry`` as an import, with a usable time (``otherwise``, when it has none) and a time of receipt."""
    fields = cast("dict[str, Any]", entry)
    fields["ts"] = _milliseconds(fields.get("ts") or 0) or otherwise
    fields["source"] = "import"
    fields.setdefault("rts", _now())
    return entry


def _milliseconds(ts: Any) -> Any:
    """A time in milliseconds, converted from seconds where it is in seconds; 0 without one."""
    if ts <= 0:
        return 0
    return int(ts * 1000) if looks_like_seconds(ts) else ts


def _now() -> int:
    return time.time_ns() // 1_000_000


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


def _day_in(name: str) -> date | None:
    match = _DATE_IN_NAME.search(name)
    try:
        return date(int(match[1]), int(match[2]), int(match[3])) if match else None
    except ValueError:
        return None


def _likely_day(
    file: BinaryIO, read: Callable[[Iterable[FileLine], ImportReport, Clock], Iterator[ImportCandidate]]
) -> tuple[date, bool]:
    """The latest day on which a log can have begun: nothing in it is later than the file, or than now.

    Also whether that matters: False when the log names its days itself. Leaves the file at its beginning.
    """
    written = datetime.fromtimestamp(min(os.fstat(file.fileno()).st_mtime, time.time())).astimezone()
    clock = Clock(written.date())
    lines = (line for line in lines_of(file) if line.body.strip())
    for _ in read(lines, ImportReport("", ""), clock):
        pass
    file.seek(0)
    if clock.latest is None:
        return written.date(), False
    late = clock.latest.astimezone() - written
    return written.date() - max(timedelta(0), timedelta(days=-(-late // _DAY))), True
