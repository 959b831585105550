"""How entries are shown to an agent: one JSON object per line, which no text can break out of."""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime, tzinfo
from typing import Any, Final

from nanobot_transcript.entry import Entry, well_formed
from nanobot_transcript.identity import AgentProfile, is_bot, wrote

__all__ = ["encode", "fit", "name_of", "shown"]

_LINE_BREAKS: Final = str.maketrans({"\u2028": "\\u2028", "\u2029": "\\u2029", "\x85": "\\u0085"})
_LONGEST_NAME: Final = 120
_SHORTEST: Final = 80


def name_of(entry: Mapping[str, Any]) -> str:
    """What to call the sender of an entry, on one line."""
    name = str(entry.get("sender_name") or entry.get("sender") or "somebody")
    return " ".join(well_formed(name).split())[:_LONGEST_NAME] or "somebody"


def shown(entry: Entry, agent: AgentProfile, where: tzinfo | None = None) -> dict[str, Any]:
    """An entry as ``agent`` is told it. ``you`` marks its own words, ``bot`` those of another bot."""
    line: dict[str, Any] = {"id": _short(entry.get("message_id")), "time": _time(entry.get("ts"), where)}
    line["from"] = name_of(entry)
    if wrote(agent, entry):
        line["you"] = True
    elif is_bot(entry):
        line["bot"] = True
    line["reply_to"] = _short(entry.get("reply_to"))
    line["edited"] = entry.get("edited") or None
    line["text"] = well_formed(str(entry.get("content") or ""))
    return {key: value for key, value in line.items() if value is not None}


def fit(lines: Iterable[dict[str, Any]], max_chars: int) -> tuple[list[dict[str, Any]], int]:
    """As many of the newest lines as fit into ``max_chars`` characters of text, and how many were left out.

    A text longer than half of that is shortened and says so; the newest line is always there.
    """
    kept: list[dict[str, Any]] = []
    waiting, left = list(lines), max_chars
    while waiting:
        line = _shortened(waiting[-1], max(_SHORTEST, max_chars // 2))
        if kept and len(line["text"]) > left:
            break
        left -= len(line["text"])
        kept.append(line)
        waiting.pop()
    return kept[::-1], len(waiting)


def encode(line: Mapping[str, Any]) -> str:
    """One line of JSON that stays one line wherever it is pasted."""
    return json.dumps(line, ensure_ascii=False, separators=(", ", ": ")).translate(_LINE_BREAKS)


def _shortened(line: dict[str, Any], limit: int) -> dict[str, Any]:
    text = line["text"]
    if len(text) <= limit:
        return line
    return line | {"text": f"{text[:limit]}… ({len(text) - limit} more characters)"}


def _short(value: object) -> str | None:
    return well_formed(value)[:_LONGEST_NAME] if isinstance(value, str) else None


def _time(ts: Any, where: tzinfo | None) -> str | None:
    try:
        return datetime.fromtimestamp(float(ts) / 1000, where).astimezone(where).strftime("%Y-%m-%d %H:%M")
    except (TypeError, ValueError, OverflowError, OSError):
        return None
