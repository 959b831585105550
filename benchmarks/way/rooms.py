"""The rooms of our source files."""

from pathlib import Path
from typing import Final

__all__ = ["WORDS", "room_of", "short"]

WORDS: Final = "words"
"""The room of the modules that lie beside the packages: ``entry.py``, ``identity.py`` and the like."""

_ROOT: Final = Path(__file__).resolve().parents[2]
_SOURCES: Final = (
    _ROOT / "nanobot_transcript",
    _ROOT / "channels" / "transcript_channels",
    _ROOT / "mcp_tools" / "transcript_mcp",
)
_OTHERS: Final = frozenset({"simulator"})


def room_of(path: str) -> str | None:
    """``store`` for ``…/nanobot_transcript/store/front.py``; None for what is not ours, and for the simulator."""
    for source in _SOURCES:
        inside = path.removeprefix(f"{source}/")
        if inside != path:
            room = inside.partition("/")[0] if "/" in inside else WORDS
            return None if room in _OTHERS else room
    return None


def short(path: str) -> str:
    """``store/front.py`` for the same."""
    return next(path.removeprefix(f"{source}/") for source in _SOURCES if path.startswith(f"{source}/"))
