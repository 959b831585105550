"""Reads labelled IRC logs: ``NAME.ascii.txt`` with ``NAME.annotation.txt`` beside it.

A line of the log is ``[hh:mm] <nick> text`` or ``[hh:mm] * nick action``. The time may have seconds, and a channel and
a date may come before it: ``#channel yyyy-mm-dd [hh:mm:ss] <nick> text``. Any other line is counted and ignored. A line
of the annotation is ``a b -``: message b answers message a, both by line number from 0; if they are the same, it begins
a conversation. Lines without an annotation are context.
"""

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Final, NamedTuple

from nanobot_transcript.errors import ImportFormatError, NothingFoundError
from nanobot_transcript.store.names import in_words

__all__ = ["IrcLine", "Log", "read_logs"]

_TEXT: Final = ".ascii.txt"
_LABELS: Final = ".annotation.txt"
_LINE: Final = re.compile(
    r"(?:[^\s\[]\S*\s+)??(?:(?P<date>\d{4}-\d\d-\d\d)\s+)?"  # the channel often lacks its #
    r"\[(?P<hours>\d\d):(?P<minutes>\d\d)(?::\d\d)?\]\s+"
    r"(?:<(?P<nick>[^>\s]+)>\s*(?P<text>.*)|\*\s+(?P<actor>\S+)\s*(?P<action>.*))$"
)
_LINK: Final = re.compile(r"(\d{1,9})\s+(\d{1,9})\b")
_PAIRS: Final = f"The folder holds pairs NAME{_TEXT} and NAME{_LABELS}; docs/en/gate.md describes them."
_FORMS: Final = (
    f"A line of NAME{_TEXT} is `[hh:mm] <nick> text`, or the same behind a channel and a date "
    "(`#channel yyyy-mm-dd [hh:mm:ss] <nick> text`)."
)
_LABEL_FORM: Final = f"A line of NAME{_LABELS} is `a b -`: line b of NAME{_TEXT} answers line a, counted from 0."
_SHOWN: Final = 60
_DAY: Final = 24 * 60
_BACKWARDS: Final = 600


class IrcLine(NamedTuple):
    """One message: who, what, and when, in minutes from the first day's midnight."""

    nick: str
    text: str
    minute: int


class Log(NamedTuple):
    """A log by line number (None = no message); ``links`` gives for each annotated line the lines it answers."""

    name: str
    lines: list[IrcLine | None]
    links: dict[int, list[int]]

    def addressees(self, at: int) -> frozenset[str]:
        """Whom an annotated message answers: the authors of the linked lines, followed through the writer's own
        lines.
        """
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
    """All labelled logs of a folder, by name.

    Raises ImportFormatError when one cannot be read, NothingFoundError when no labelled message is understood.
    """
    try:
        named = sorted(path for path in folder.iterdir() if path.name.endswith(_TEXT))
        paths = [path for path in named if _labels(path).is_file()]
        logs = [_read(path) for path in paths]
    except OSError as error:
        raise ImportFormatError(f"{folder} cannot be read: {error.strerror}.", hint=_PAIRS) from error
    if not logs:
        raise NothingFoundError(f"There is no labelled log in {folder}.", hint=_PAIRS)
    if not any(log.links for log in logs):
        raise NothingFoundError(_not_understood([_labels(path) for path in paths]), hint=_LABEL_FORM)
    if not any(log.lines[at] is not None for log in logs for at in log.links):
        raise NothingFoundError(f"No labelled message in {folder} was understood.", hint=_FORMS)
    return logs


def _labels(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(_TEXT) + _LABELS)


def _read(path: Path) -> Log:
    lines = list(_lines(path.read_text(encoding="utf-8", errors="replace")))
    links: dict[int, list[int]] = {}
    for row in _rows(_labels(path)):
        match = _LINK.match(row)
        if match:
            earlier, later = sorted((int(match[1]), int(match[2])))
            if later < len(lines):
                links.setdefault(later, []).append(earlier)
    return Log(path.name.removesuffix(_TEXT), lines, links)


def _rows(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="replace").split("\n")


def _not_understood(annotations: list[Path]) -> str:
    """The first line of the annotations that could not be understood."""
    for path in annotations:
        for number, row in enumerate(_rows(path), 1):
            if row.strip():
                shown = in_words(row.strip()[:_SHOWN])
                why = "names a line that the log does not have" if _LINK.match(row) else "cannot be read"
                return f"Line {number} of {path} {why}: {shown}."
    return f"{annotations[0]} is empty."


def _lines(text: str) -> Iterator[IrcLine | None]:
    clock = _Clock()
    for row in text.split("\n"):
        found = _LINE.match(row.rstrip())
        if found is None:
            yield None
            continue
        minute = clock.minute(found)
        yield IrcLine(found["nick"] or found["actor"], found["text"] if found["nick"] else found["action"], minute)


class _Clock:
    """Counts days: by the dates of the lines, else by times that jump back at midnight."""

    def __init__(self) -> None:
        self._first: date | None = None
        self._day: int = 0
        self._previous: int = 0

    def minute(self, found: re.Match[str]) -> int:
        """The time of a line, in minutes from the first day's midnight."""
        minute = int(found["hours"]) * 60 + int(found["minutes"])
        dated = _date(found["date"])
        if dated is None:
            self._day += minute < self._previous - _BACKWARDS
        else:
            self._first = self._first or dated
            self._day = (dated - self._first).days
        self._previous = minute
        return self._day * _DAY + minute


def _date(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:  # not a day of the calendar
        return None
