"""Reads labelled IRC logs: ``NAME.ascii.txt`` with ``NAME.annotation.txt`` beside it.

A line of the log is ``[hh:mm] <nick> text`` or ``[hh:mm] * nick action``; any other line counts but says nothing. A
line of the annotation is ``a b -``: message b answers message a, both by line number from 0, or begins a conversation
when they are the same. Lines without an annotation are context.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from nanobot_transcript.errors import ImportFormatError

__all__ = ["Line", "Log", "read_logs"]

_TEXT: Final = ".ascii.txt"
_LABELS: Final = ".annotation.txt"
_LINE: Final = re.compile(r"\[(\d\d):(\d\d)\]\s+(?:<([^>\s]+)>\s?(.*)|\*\s+(\S+)\s?(.*))$")
_LINK: Final = re.compile(r"(\d{1,9})\s+(\d{1,9})\b")
_DAY: Final = 24 * 60
_BACKWARDS: Final = 600


class Line(NamedTuple):
    """One message: who, what, and when, in minutes from the first day's midnight."""

    nick: str
    text: str
    minute: int


class Log(NamedTuple):
    """A log by line number (None = no message); ``links`` names for each annotated line those that it answers."""

    name: str
    lines: list[Line | None]
    links: dict[int, list[int]]

    def addressees(self, at: int) -> frozenset[str]:
        """Whom an annotated message answers: the authors of the linked lines, followed through own lines."""
        line = self.lines[at]
        found: set[str] = set()
        todo, seen = [at], {at}
        while todo and line is not None:
            for earlier in self.links.get(todo.pop(), ()):
                other = self.lines[earlier]
                if earlier in seen or other is None:
                    continue
                seen.add(earlier)
                if other.nick == line.nick:
                    todo.append(earlier)
                else:
                    found.add(other.nick)
        return frozenset(found)


def read_logs(folder: Path) -> list[Log]:
    """All labelled logs of a folder, by name. Raises ImportFormatError when there is none or one cannot be read."""
    hint = f"The folder holds pairs NAME{_TEXT} and NAME{_LABELS}; docs/en/gate.md describes them."
    try:
        paths = sorted(path for path in folder.iterdir() if path.name.endswith(_TEXT))
        logs = [_read(path) for path in paths if _labels(path).is_file()]
    except OSError as error:
        raise ImportFormatError(f"{folder} cannot be read: {error.strerror}.", hint=hint) from error
    if not any(log.links for log in logs):
        raise ImportFormatError(f"There is no labelled log in {folder}.", hint=hint)
    return logs


def _labels(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(_TEXT) + _LABELS)


def _read(path: Path) -> Log:
    lines = list(_lines(path.read_text(encoding="utf-8", errors="replace")))
    links: dict[int, list[int]] = {}
    for row in _labels(path).read_text(encoding="utf-8", errors="replace").split("\n"):
        match = _LINK.match(row)
        if match:
            earlier, later = sorted((int(match[1]), int(match[2])))
            if later < len(lines):
                links.setdefault(later, []).append(earlier)
    return Log(path.name.removesuffix(_TEXT), lines, links)


def _lines(text: str) -> Iterator[Line | None]:
    day = previous = 0
    for row in text.split("\n"):
        match = _LINE.match(row.rstrip("\r"))
        if match is None:
            yield None
            continue
        minute = int(match[1]) * 60 + int(match[2])
        day += minute < previous - _BACKWARDS
        previous = minute
        yield Line(match[3] or match[5], match[4] if match[3] else match[6], day * _DAY + minute)
