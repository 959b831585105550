"""Lines of a content that look like the structure of a mail: a backslash in front of them keeps them text.

What is written reads back as it was, because a line that begins with such a backslash already gets one more.
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
    """The content as it stands in a file.

    >>> escaped("## 2025-06-30T08:15:22.616Z - boss to qa (URGENT)")
    '\\\\## 2025-06-30T08:15:22.616Z - boss to qa (URGENT)'
    """
    return _LINE.sub(_with_backslash, text) if _suspicious(text) else text


def unescaped(text: str) -> str:
    """The content as it was given to ``escaped``."""
    return _LINE.sub(_without_backslash, text) if _suspicious(text) else text


def _suspicious(text: str) -> bool:
    return any(sign in text for sign in _SIGNS)


def _with_backslash(line: re.Match[str]) -> str:
    return f"\\{line[0]}" if _looks_structural(line[0].lstrip("\\")) else line[0]


def _without_backslash(line: re.Match[str]) -> str:
    text = line[0]
    return text[1:] if text.startswith("\\") and _looks_structural(text.lstrip("\\")) else text


def _looks_structural(line: str) -> bool:
    """Wider than what a reader takes for structure: what deceives a person is escaped, too."""
    line = line.strip()
    if line.startswith("## "):
        _, dash, parties = line.partition(" - ")
        return bool(dash) and " to " in parties and line.endswith(")")
    if line.startswith(_BAR):
        return len(line) >= _SHORTEST_BAR and not line.strip(_BAR)
    return _MARKER.fullmatch(line) is not None
