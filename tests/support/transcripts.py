"""Reading a store the way a suspicious user would: through the API and straight from the files."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from nanobot_transcript import GroupTranscriptStore, Page
from nanobot_transcript.entry import Entry

__all__ = [
    "DiskLines",
    "acknowledged",
    "active_file",
    "assert_intact",
    "body",
    "contents",
    "data_files",
    "disk_lines",
    "drain",
    "drain_back",
    "occurs_on_disk",
    "recent_contents",
]


class DiskLines(NamedTuple):
    """What lies in the transcript files of a directory, line by line."""

    ids: Counter[str]
    broken: int
    unfinished: int


def body(message_id: str, size: int) -> str:
    """A text that names its message and has a known length, so that a damaged one is seen."""
    return f"{message_id}|" + "x" * size + f"|{message_id}"


def contents(entries: Iterable[Entry]) -> list[str]:
    """The texts only."""
    return [entry["content"] for entry in entries]


def recent_contents(store: GroupTranscriptStore, key: str, limit: int = 1000) -> list[str]:
    """The texts of ``get_recent``."""
    return [message["content"] for message in store.get_recent(key, limit)]


def drain(store: GroupTranscriptStore, key: str, after: str | None = None, limit: int = 100) -> Page:
    """Everything from a cursor to the end, read page by page, as every consumer does."""
    entries: list[Entry] = []
    cursor = after
    while True:
        page = store.read(key, cursor, limit)
        assert len(page.entries) <= limit
        entries += page.entries
        if not page.entries:
            return Page(entries, page.cursor)
        assert page.cursor != cursor
        cursor = page.cursor


def drain_back(store: GroupTranscriptStore, key: str, before: str | None = None, limit: int = 100) -> list[Entry]:
    """Everything before a cursor, read backwards page by page; oldest first."""
    entries: list[Entry] = []
    while True:
        page = store.read_back(key, before, limit)
        assert len(page.entries) <= limit
        entries[:0] = page.entries
        if len(page.entries) < limit:
            return entries
        assert page.cursor != before
        before = page.cursor


def data_files(base_dir: Path) -> list[Path]:
    """The transcript files of a store: nothing else in it ends in ``.jsonl``."""
    return sorted(base_dir.glob("*.jsonl"))


def active_file(base_dir: Path) -> Path:
    """The one file of a store with a single chat and a single segment."""
    (path,) = data_files(base_dir)
    return path


def disk_lines(base_dir: Path) -> DiskLines:
    """Count ids, lines that are no JSON object, and files whose last line is unfinished."""
    ids: Counter[str] = Counter()
    broken = unfinished = 0
    for path in data_files(base_dir):
        lines = path.read_bytes().split(b"\n")
        unfinished += lines.pop() != b""
        for line in filter(None, lines):
            entry = _decode(line)
            if entry is None:
                broken += 1
            elif entry.get("message_id") and "op" not in entry:
                ids[entry["message_id"]] += 1
    return DiskLines(ids, broken, unfinished)


def occurs_on_disk(base_dir: Path, text: str) -> list[str]:
    """Every file below the store's directory, hidden ones included, that contains the text."""
    needle = text.encode()
    found = [path for path in base_dir.rglob("*") if path.is_file() and needle in path.read_bytes()]
    return sorted(str(path.relative_to(base_dir)) for path in found)


def acknowledged(path: Path) -> list[str]:
    """The ids a worker noted after ``append`` had returned."""
    return path.read_text(encoding="utf-8").split() if path.exists() else []


def assert_intact(store: GroupTranscriptStore, key: str, expected: Iterable[str]) -> int:
    """Every expected id stands exactly once, with the whole text of ``body``; returns the number of entries."""
    seen: Counter[str] = Counter()
    for entry in store.scan(key):
        message_id, content = entry["message_id"], entry["content"]
        assert message_id is not None
        seen[message_id] += 1
        assert content == body(message_id, len(content) - 2 * len(message_id) - 2)
    lost = sorted(set(expected) - seen.keys())
    doubled = sorted(name for name, times in seen.items() if times > 1)
    assert not lost, f"{len(lost)} lost, e.g. {lost[:5]}"
    assert not doubled, f"{len(doubled)} doubled, e.g. {doubled[:5]}"
    return len(seen)


def _decode(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
