"""Writing a transcript out: as JSONL that can be imported again, or as Markdown for people."""

import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Final, Literal, TextIO, TypeAlias

from nanobot_transcript.entry import Entry
from nanobot_transcript.store.contract import Progress
from nanobot_transcript.store.front import GroupTranscriptStore

__all__ = ["ExportFormat", "export_chat"]

ExportFormat: TypeAlias = Literal["jsonl", "markdown"]

_PROGRESS_STEP: Final = 500
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]<>#|])")


def export_chat(
    store: GroupTranscriptStore,
    session_key: str,
    out: TextIO,
    kind: ExportFormat = "jsonl",
    *,
    wanted: Callable[[Entry], bool] | None = None,
    progress: Progress | None = None,
) -> int:
    """Write a chat's messages as they read now (edits applied, recalled ones left out) and return how many.

    ``wanted`` selects messages; ``progress`` is called with the count so far, without a total.
    """
    entries = (entry for entry in store.scan(session_key) if wanted is None or wanted(entry))
    pieces = _jsonl(entries) if kind == "jsonl" else _markdown(store, session_key, entries)
    done = 0
    for done, piece in enumerate(pieces, start=1):
        out.write(piece)
        if progress is not None and done % _PROGRESS_STEP == 0:
            progress(done, None)
    if progress is not None:
        progress(done, done)
    return done


def _jsonl(entries: Iterator[Entry]) -> Iterator[str]:
    for entry in entries:
        yield json.dumps(entry, ensure_ascii=False, separators=(",", ":")) + "\n"


def _markdown(store: GroupTranscriptStore, session_key: str, entries: Iterator[Entry]) -> Iterator[str]:
    head, day = f"# {_escaped(session_key)}\n", None
    for entry in entries:
        when = datetime.fromtimestamp(entry["ts"] / 1000).astimezone()
        if when.date() != day:
            day = when.date()
            head += f"\n## {day.isoformat()}\n"
        yield head + _message(entry, when, _name(store, entry))
        head = ""


def _message(entry: Entry, when: datetime, name: str) -> str:
    mark = " (edited)" if entry.get("edited") else ""
    text = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", entry["content"])
    quoted = "\n".join(f"> {line}".rstrip() for line in text.split("\n"))
    return f"\n**{_escaped(name)}** {when:%H:%M}{mark}\n\n{quoted}\n"


def _name(store: GroupTranscriptStore, entry: Entry) -> str:
    return store.members.name_of(entry["sender"]) or entry.get("sender_name") or entry["sender"] or entry["role"]


def _escaped(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text).replace("\n", " "))
