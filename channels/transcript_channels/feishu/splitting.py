"""Long texts in parts that the platform takes: cut at paragraphs, lines, sentences or spaces, never inside a character.

Pure functions. Sizes are in bytes as the text stands in a request: JSON inside JSON, UTF-8.
"""

import json
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable
from typing import Final

__all__ = ["encoded_size", "split_markdown", "split_text"]

Size = Callable[[str], int]

_BREAKS: Final = tuple(
    re.compile(pattern) for pattern in (r"\n{2,}", r"\n", r"[。！？!?…]+|[.;](?=\s)|；", r"[,，、\s]")
)
_FENCE: Final = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n`]*)$", re.MULTILINE)
_FENCE_ROOM: Final = 80
_STRIDE: Final = 256
_JOINER: Final = "\u200d"
_SKIN: Final = range(0x1F3FB, 0x1F400)
_FLAGS: Final = range(0x1F1E6, 0x1F200)


def encoded_size(text: str) -> int:
    """Bytes that a text takes inside a request.

    >>> encoded_size('好"')
    7
    """
    inner = json.dumps(text, ensure_ascii=False)[1:-1]
    return len(json.dumps(inner, ensure_ascii=False).encode("utf-8", "replace")) - 2


def split_text(text: str, limit: int, size: Size = encoded_size) -> list[str]:
    """The parts of a text, each of at most ``limit`` bytes by ``size``; a text that fits is one part.

    >>> split_text("One. Two. Three.", 11)
    ['One. Two.', 'Three.']
    """
    parts: list[str] = []
    while len(text) > limit or size(text) > limit:
        end = _end(text, limit, size)
        parts.append(text[:end].rstrip())
        # what a line of code is indented by belongs to it
        text = text[end:].lstrip("\n") if text[end - 1] == "\n" else text[end:].lstrip(" ")
    return [part for part in [*parts, text] if part.strip()] or [text]


def split_markdown(text: str, limit: int, size: Size = encoded_size) -> list[str]:
    """Like ``split_text``; a block of code that is cut ends in its part and begins again in the next."""
    if len(text) <= limit and size(text) <= limit:
        return [text]
    parts: list[str] = []
    opening = ""
    for part in split_text(text, limit - _FENCE_ROOM, size):
        whole = f"{opening}\n{part}" if opening else part
        opening = _open_fence(whole)
        parts.append(f"{whole}\n{_marks(opening)}" if opening else whole)
    return parts


def _end(text: str, limit: int, size: Size) -> int:
    """How many characters make up the next part, at least one."""
    head = text[:limit]
    fits, most = 0, min(_STRIDE, len(head))
    while most < len(head) and size(head[:most]) <= limit:
        fits, most = most, min(most * 2, len(head))
    longest = max(bisect_right(range(1, most + 1), limit, lo=fits, key=lambda end: size(head[:end])), 1)
    for pattern in _BREAKS:
        ends = [match.end() for match in pattern.finditer(head, longest // 3, longest)]
        if ends:
            return ends[-1]
    end = longest
    while end > 1 and _joined(text, end):
        end -= 1
    return end if end > 1 else longest


def _joined(text: str, at: int) -> bool:
    """True when a cut before ``at`` would tear apart what people see as one character."""
    if at >= len(text):
        return False
    before, after = text[at - 1], text[at]
    if unicodedata.combining(after) or unicodedata.category(after) in ("Mn", "Me", "Cf") or ord(after) in _SKIN:
        return True
    if before == _JOINER:
        return True
    flags = 0
    while flags < at and ord(text[at - 1 - flags]) in _FLAGS:
        flags += 1
    return ord(after) in _FLAGS and flags % 2 == 1


def _open_fence(text: str) -> str:
    """The line that opens a block of code which is not closed, else the empty string."""
    opening = ""
    for match in _FENCE.finditer(text):
        if not opening:
            opening = match[0].strip()
        elif match[1].startswith(_marks(opening)) and not match[2].strip():
            opening = ""
    return opening if len(opening) <= _FENCE_ROOM // 4 else _marks(opening)


def _marks(opening: str) -> str:
    return opening[: len(opening) - len(opening.lstrip(opening[:1]))] if opening else ""
