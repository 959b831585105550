"""What nanobot needs of words: a text that cannot end its context block, ids, and its time zone."""

import re
from datetime import UTC, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

__all__ = ["safe", "shown_id", "zone"]

_MARKER: Final = re.compile(r"\[\s*/?\s*Runtime Context[^\]\n]*\]?", re.IGNORECASE)
_LONGEST_ID: Final = 120


def zone(name: str | None) -> tzinfo:
    """The time zone in which the agent thinks; UTC when the name is unknown."""
    try:
        return ZoneInfo(name) if name else UTC
    except (KeyError, ValueError, OSError):
        return UTC


def safe(text: str) -> str:
    """Without nanobot's own markers, also when taking one away makes another, and such that it can be encoded."""
    while (cleaned := _MARKER.sub("", text)) != text:
        text = cleaned
    return text.encode("utf-8", "replace").decode("utf-8")


def shown_id(value: str) -> str:
    """A message id as it is shown; lines that other programs wrote may hold anything there."""
    return safe(value)[:_LONGEST_ID]
