"""What an import read and did."""

from dataclasses import dataclass, field
from datetime import date
from typing import Final, Literal, NamedTuple, TypeAlias

__all__ = ["BadLine", "ImportFormat", "ImportReport"]

ImportFormat: TypeAlias = Literal["auto", "jsonl", "irc", "text"]

_KEPT: Final = 100
_EXCERPT: Final = 120


class BadLine(NamedTuple):
    """A line that could not be understood; ``text`` is its beginning."""

    number: int
    reason: str
    text: str


@dataclass(slots=True)
class ImportReport:
    """Counts of one import.

    Of ``lines`` read, ``written`` entries are new, ``known`` were on record already, ``skipped`` are notices nobody
    said and recalled messages, ``bad`` could not be understood; ``bad_lines`` are the first hundred of those.
    ``day_taken`` is the day on which a log with times only was assumed to begin.
    """

    session_key: str
    format: str
    lines: int = 0
    written: int = 0
    known: int = 0
    skipped: int = 0
    bad: int = 0
    bad_lines: list[BadLine] = field(default_factory=list)
    day_taken: date | None = None

    def count(self, written: bool) -> None:
        """Count an entry that was offered to the store."""
        if written:
            self.written += 1
        else:
            self.known += 1

    def refuse(self, number: int, reason: str, text: str) -> None:
        """Count a line that could not be understood."""
        self.bad += 1
        if len(self.bad_lines) < _KEPT:
            self.bad_lines.append(BadLine(number, reason, text[:_EXCERPT]))
