"""From the lines of a file to entries that may be appended."""

from collections.abc import Collection, Iterable, Iterator
from typing import Any, BinaryIO, NamedTuple, cast

from nanobot_transcript.entry import Entry
from nanobot_transcript.store.exchange.chat_logs import Clock, LogLine, Parser, text_line
from nanobot_transcript.store.exchange.lines import FileLine, decoded, lines_of
from nanobot_transcript.store.exchange.report import ImportReport
from nanobot_transcript.store.lines.codec import decode
from nanobot_transcript.store.lines.fold import apply_edit
from nanobot_transcript.store.lines.ids import ids_of
from nanobot_transcript.store.lines.ops import hides, is_edit, is_op

__all__ = ["ImportCandidate", "LaterWords", "from_log", "from_transcript", "read_ahead"]


class ImportCandidate(NamedTuple):
    """An entry from a file; ``when`` is its time as written there, None when there is none."""

    entry: Entry
    when: str | float | None


class LaterWords(NamedTuple):
    """Edits, recalls and redactions in a file, by the id of the message they are about."""

    edits: dict[str, list[Entry]]
    hidden: dict[str, Entry]


def read_ahead(file: BinaryIO) -> LaterWords:
    """All edits, recalls and redactions of a transcript. Leaves the file at its beginning."""
    ahead = LaterWords({}, {})
    for line in lines_of(file):
        entry = decode(line.body) if b'"op"' in line.body else None
        target = entry.get("target") if entry is not None else None
        if entry is None or not isinstance(target, str) or not target:
            continue
        if hides(entry):
            ahead.hidden[target] = entry
        elif is_edit(entry):
            ahead.edits.setdefault(target, []).append(entry)
    file.seek(0)
    return ahead


def from_transcript(
    lines: Iterable[FileLine], report: ImportReport, hidden: Collection[str], edits: dict[str, list[Entry]]
) -> Iterator[ImportCandidate]:
    """The messages of a transcript with its edits applied, without ``hidden`` ones.

    Edits that were applied are taken out of ``edits``.
    """
    for line in lines:
        entry = decode(line.body)
        if entry is None:
            report.refuse(line.number, "not a line of a transcript", decoded(line.body, "utf-8"))
        elif is_op(entry):
            report.skipped += not (hides(entry) or is_edit(entry))
        elif any(known in hidden for known in ids_of(entry)):
            report.skipped += 1
        else:
            for edit in edits.pop(entry["message_id"] or "", ()):
                entry = apply_edit(entry, edit)
            yield ImportCandidate(entry, entry["ts"])


def from_log(
    lines: Iterable[FileLine],
    parse: Parser,
    clock: Clock,
    encoding: str,
    bots: Collection[str],
    report: ImportReport,
) -> Iterator[ImportCandidate]:
    """The messages of another program's log; lines of one message are joined."""
    waiting: LogLine | None = None
    for line in lines:
        text = decoded(line.body, encoding)
        parsed = parse(text, clock)
        if parsed is not None and parsed.kind == "skip":
            report.skipped += 1
        elif parsed is not None and parsed.kind == "message":
            if waiting is not None:
                yield _candidate(waiting, bots)
            waiting = parsed
        elif waiting is not None and (parsed is not None or _goes_on(parse, waiting)):
            more = text if parsed is None else parsed.text
            waiting = LogLine("message", waiting.sender, f"{waiting.text}\n{more}", waiting.when)
        else:
            report.refuse(line.number, "no name and text", text)
    if waiting is not None:
        yield _candidate(waiting, bots)


def _goes_on(parse: Parser, waiting: LogLine) -> bool:
    """In plain text with times, a line without a time continues the message above it."""
    return parse is text_line and waiting.when is not None


def _candidate(line: LogLine, bots: Collection[str]) -> ImportCandidate:
    bot = line.sender in bots
    entry: dict[str, Any] = {
        "role": "assistant" if bot else "user",
        "content": line.text,
        "sender": line.sender,
        "message_id": None,
        "ts": int(line.when.timestamp() * 1000) if line.when is not None else 0,
        "sender_name": line.sender,
        "sender_kind": "bot" if bot else "human",
    }
    if bot:
        entry["agent"] = line.sender
    when = line.when.isoformat() if line.when is not None else None
    return ImportCandidate(cast("Entry", cast("object", entry)), when)
