"""Keeps answers within a number of characters: fewer lines, and the beginning of texts that are long."""

from collections.abc import Iterable
from typing import Final

from transcript_mcp.transcript.lines import Line, encode

__all__ = [
    "LEAST_CHARS",
    "MOST_CHARS",
    "MOST_ENTRIES",
    "SHARE",
    "USUAL_CHARS",
    "USUAL_ENTRIES",
    "bounded",
    "fitting",
    "shortened",
    "within",
]

USUAL_ENTRIES: Final = 20
MOST_ENTRIES: Final = 100
LEAST_CHARS: Final = 500
USUAL_CHARS: Final = 8_000
MOST_CHARS: Final = 30_000

SHARE: Final = 4
"""No line takes more than this part of an answer."""

_SHORTEST: Final = 80
_NOTE: Final = 120


def bounded(value: int, least: int, most: int) -> int:
    """What was asked for, as far as it is given."""
    return min(max(least, value), most)


def within(lines: Iterable[Line], max_chars: int) -> list[Line]:
    """The first of ``lines``, as many as take ``max_chars`` encoded; the first one is always there."""
    kept: list[Line] = []
    left = max_chars
    for line in lines:
        left -= len(encode(line)) + 1
        if kept and left < 0:
            break
        kept.append(line)
    return kept


def fitting(lines: Iterable[Line], max_chars: int) -> list[Line]:
    """Like ``within``; a line that takes more than a quarter of it is shortened."""
    return within((shortened(line, max_chars // SHARE) for line in lines), max_chars)


def shortened(line: Line, limit: int, *, offset: int = 0) -> Line:
    """The line with as much of its text, from ``offset`` on, as takes about ``limit`` characters.

    What is missing is said under ``more``, a key of its own, so that no text can pretend to it.
    """
    whole: str = line["text"]
    text = whole[offset:]
    if len(text) <= limit and len(encode(line | {"text": text})) <= limit:
        return line | {"text": text}
    room = max(_SHORTEST, limit - len(encode(line | {"text": ""})) - _NOTE)
    text = _beginning(text, room)
    told = offset + len(text)
    if told >= len(whole):
        return line | {"text": text}
    more = f"{len(whole) - told:,} more characters"
    if "id" in line:
        more += f"; transcript_recent with message_id and offset={told} shows them"
    return line | {"text": text, "more": more}


def _beginning(text: str, room: int) -> str:
    """As much of the text as takes ``room`` characters encoded: one may take six, or twelve."""
    text = text[:room]
    while (length := len(encode(text)) - 2) > room:
        text = text[: max(1, min(len(text) * room // length, len(text) - 1))]
    return text
