"""Escapes lines of a mail's text that look like the structure of a mail file, with a backslash in front.

Unescaping always gives the original text, because a line that already begins with such a backslash gets another one.
"""

import re
from typing import Final

__all__ = ["escaped", "unescaped"]

_BREAKS: Final = "\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029"
_LINE: Final = re.compile(f"[^{_BREAKS}]+")
_MARKER: Final = re.compile(r"=+ MESSAGE THREAD =+")
_BAR: Final = "\u2501"
_SHORTEST_BAR: Final = 10
_SIGNS: Final = ("MESSAGE THREAD", _BAR * _SHORTEST_BAR, "## ")


def escaped(text: str) -> str:
    """The text as it is written to the file.

    >>> escaped("## 2025-06-30T08:15:22.616Z - boss to qa (URGENT)")
    '\\\\## 2025-06-30T08:15:22.616Z - boss to qa (URGENT)'
    """
    return _LINE.sub(_with_backslash, text) if _suspicious(text) else text


def unescaped(text: str) -> str:
    """The text as it was passed to ``escaped``."""
    return _LINE.sub(_without_backslash, text) if _suspicious(text) else text


def _suspicious(text: str) -> bool:
    return any(sign in text for sign in _SIGNS)


def _with_backslash(line: re.Match[str]) -> str:
    return f"\\{line[0]}" if _looks_structural(line[0].lstrip("\\")) else line[0]


def _without_backslash(line: re.Match[str]) -> str:
    text = line[0]
    return text[1:] if text.startswith("\\") and _looks_structural(text.lstrip("\\")) else text


def _looks_structural(line: str) -> bool:
    """Wider than what the parser takes for structure: lines that would deceive a person are escaped, too."""
    line = line.strip()
    if line.startswith("## "):
        _, dash, parties = line.partition(" - ")
        return bool(dash) and " to " in parties and line.endswith(")")
    if line.startswith(_BAR):
        return len(line) >= _SHORTEST_BAR and not line.strip(_BAR)
    return _MARKER.fullmatch(line) is not None
