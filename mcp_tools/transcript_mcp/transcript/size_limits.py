"""Limits the size of answers in characters: fewer lines, and only the beginning of long texts."""

from collections.abc import Iterable
from typing import Final

from transcript_mcp.transcript.json_lines import Line, encode

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
"""A line takes at most one in ``SHARE`` parts of an answer."""

_SHORTEST: Final = 80
_NOTE: Final = 120


def bounded(value: int, least: int, most: int) -> int:
    """The value, limited to ``least`` and ``most``."""
    return min(max(least, value), most)


def within(lines: Iterable[Line], max_chars: int) -> list[Line]:
    """As many of the first ``lines`` as fit into ``max_chars`` encoded, but at least one."""
    kept: list[Line] = []
    left = max_chars
    for line in lines:
        left -= len(encode(line)) + 1
        if kept and left < 0:
            break
        kept.append(line)
    return kept


def fitting(lines: Iterable[Line], max_chars: int) -> list[Line]:
    """Like ``within``; a line that takes more than a quarter of ``max_chars`` is shortened."""
    return within((shortened(line, max_chars // SHARE) for line in lines), max_chars)


def shortened(line: Line, limit: int, *, offset: int = 0) -> Line:
    """The line with its text from ``offset`` on, cut to about ``limit`` characters.

    What is missing is described under the key ``more``, apart from the text, so that no text can fake it.
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
    """The beginning of the text that takes ``room`` characters encoded; one character may become six or twelve."""
    text = text[:room]
    while (length := len(encode(text)) - 2) > room:
        text = text[: max(1, min(len(text) * room // length, len(text) - 1))]
    return text
