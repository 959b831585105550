"""Other people's text as nanobot's agent is shown it: without nanobot's own markers."""

import re
from typing import Final

__all__ = ["safe", "shown_id"]

_MARKER: Final = re.compile(r"\[\s*/?\s*Runtime Context[^\]\n]*\]?", re.IGNORECASE)
"""nanobot puts what plugins add between these; a member who writes them could speak in the plugin's name."""

_LONGEST_ID: Final = 120


def safe(text: str) -> str:
    """The text without nanobot's markers, and with nothing that UTF-8 cannot encode."""
    while (cleaned := _MARKER.sub("", text)) != text:  # taking one marker out may put another one together
        text = cleaned
    return text.encode("utf-8", "replace").decode("utf-8")


def shown_id(value: str) -> str:
    """A message id as it is shown; in lines that other programs wrote it may be anything."""
    return safe(value)[:_LONGEST_ID]
