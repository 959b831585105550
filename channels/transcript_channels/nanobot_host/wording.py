"""How entries are shown to an agent: other people's words as JSON, one line each, which no text can break out of."""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, tzinfo
from typing import Any, Final
from zoneinfo import ZoneInfo

from nanobot_transcript.conversation.people import Look
from nanobot_transcript.entry import Entry
from nanobot_transcript.identity import AgentProfile, is_bot, wrote
from transcript_channels.feishu import text_of

__all__ = ["encode", "fit", "is_unreadable", "safe", "shown", "shown_id", "zone"]

_MARKER: Final = re.compile(r"\[\s*/?\s*Runtime Context[^\]\n]*\]?", re.IGNORECASE)
_LINE_BREAKS: Final = str.maketrans({"\u2028": "\\u2028", "\u2029": "\\u2029", "\x85": "\\u0085"})
_SHORTEST: Final = 80
_NOTICE: Final = 32
_BARE_CARD: Final = text_of("interactive", None)
_LONGEST_NAME: Final = 120


def zone(name: str | None) -> tzinfo:
    """The time zone in which the agent thinks; UTC when the name is unknown."""
    try:
        return ZoneInfo(name) if name else UTC
    except (KeyError, ValueError, OSError):
        return UTC


def shown(entry: Entry, look: Look, agent: AgentProfile, where: tzinfo) -> dict[str, Any]:
    """An entry as the agent is told it. ``you`` marks its own words, ``bot`` those of another bot."""
    line: dict[str, Any] = {"id": _id(entry.get("message_id")), "time": _time(entry.get("ts"), where)}
    line["from"] = safe(look.shown(entry))[:_LONGEST_NAME]
    if wrote(agent, entry):
        line["you"] = True
    elif is_bot(entry):
        line["bot"] = True
    line["reply_to"] = _id(entry.get("reply_to"))
    line["edited"] = entry.get("edited") or None
    line["text"] = safe(entry.get("content") or "")
    return {key: value for key, value in line.items() if value is not None}


def fit(lines: Iterable[dict[str, Any]], max_chars: int) -> tuple[list[dict[str, Any]], int]:
    """As many of the newest lines as fit into ``max_chars`` characters, encoded, and how many were left out.

    A line longer than half of that is shortened and says so; the newest line is always there, with a piece of its text.
    """
    kept: list[dict[str, Any]] = []
    waiting, left = list(lines), max_chars
    while waiting:
        line = _shortened(waiting[-1], max_chars // 2)
        length = _length(line)
        if kept and length > left:
            break
        left -= length
        kept.append(line)
        waiting.pop()
    return kept[::-1], len(waiting)


def encode(line: Mapping[str, Any]) -> str:
    """One line of JSON that stays one line wherever it is pasted."""
    return json.dumps(line, ensure_ascii=False, separators=(", ", ": ")).translate(_LINE_BREAKS)


def safe(text: str) -> str:
    """Without nanobot's own markers, also when taking one away makes another, and such that it can be encoded."""
    while (cleaned := _MARKER.sub("", text)) != text:
        text = cleaned
    return text.encode("utf-8", "replace").decode("utf-8")


def is_unreadable(entry: Entry) -> bool:
    """Another bot's card that is still being written: the bot puts its text into the record when it is done."""
    return entry.get("source") == "peer_event" and entry.get("content") == _BARE_CARD


def _shortened(line: dict[str, Any], limit: int) -> dict[str, Any]:
    text, surplus = line["text"], _length(line) - limit
    if surplus <= 0:
        return line
    kept = max(_SHORTEST, len(text) - surplus - _NOTICE)  # a character has at least its own length when it is encoded
    return line | {"text": f"{text[:kept]}… ({len(text) - kept} more characters)"} if kept < len(text) else line


def _length(line: Mapping[str, Any]) -> int:
    """The characters a line takes in the prompt, with its line end."""
    return len(encode(line)) + 1


def shown_id(value: str) -> str:
    """A message id as it is shown; lines that other programs wrote may hold anything there."""
    return safe(value)[:_LONGEST_NAME]


def _id(value: object) -> str | None:
    return shown_id(value) if isinstance(value, str) else None


def _time(ts: Any, where: tzinfo) -> str | None:
    try:
        return datetime.fromtimestamp(float(ts) / 1000, where).strftime("%Y-%m-%d %H:%M")
    except (TypeError, ValueError, OverflowError, OSError):
        return None
