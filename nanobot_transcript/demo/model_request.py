"""Reads a bot's real model request: what the bot was asked, and which entries of the record it was given."""

import json
import re
from dataclasses import dataclass
from typing import Final

from transcript_channels.simulator import ModelRequest

__all__ = ["AskedTurn", "Given"]

# nanobot appends what its plugins add to the person's own text, between these marks.
_BLOCK: Final = re.compile(r"\[Runtime Context[^\]\n]*\]\n(.*?)\n?\[/Runtime Context\]", re.DOTALL)
# What it is told of another bot's words begins with a line that keeps them from being commands.
_RELAYED: Final = re.compile(r"^Another bot of this group says:\n")
# The runner puts the message last, below everything that it tells about the group.
_MESSAGE: Final = re.compile(r"(.*?)^The message to answer was [^\n]*\n(\{[^\n]*)\n(.*)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Given:
    """One line of the record in a request. ``own`` marks the words of the bot that asks its model."""

    message_id: str
    name: str
    text: str
    bot: bool = False
    own: bool = False


@dataclass(frozen=True, slots=True)
class AskedTurn:
    """The newest question of a request, what was given with it, and what was given with those before it."""

    question: str
    given: tuple[Given, ...]
    before: tuple[Given, ...] = ()

    @property
    def known(self) -> tuple[Given, ...]:
        """Everything of the record that stands in the request, oldest first."""
        return self.before + self.given

    @classmethod
    def of(cls, request: ModelRequest) -> "AskedTurn":
        """The turn a request is about."""
        asked = [_text(message.get("content")) for message in request.messages if message.get("role") == "user"]
        newest = asked[-1] if asked else ""
        before = tuple(line for text in asked[:-1] for line in _taken_apart(text)[1])
        return cls(*_taken_apart(newest), before)


def _taken_apart(text: str) -> tuple[str, tuple[Given, ...]]:
    """The question in a user's message, and the lines of the record that came with it."""
    from_runner = _MESSAGE.fullmatch(text)
    if from_runner:
        return from_runner[3].strip(), _entries(from_runner[1])
    return _RELAYED.sub("", _BLOCK.sub("", text).strip()), _entries("\n".join(_BLOCK.findall(text)))


def _entries(text: str) -> tuple[Given, ...]:
    return tuple(entry for line in text.splitlines() if (entry := _entry(line)) is not None)


def _entry(line: str) -> Given | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None  # the sentence before the entries
    if not isinstance(value, dict) or not isinstance(value.get("text"), str) or "from" not in value:
        return None
    own, bot = bool(value.get("you")), bool(value.get("bot"))
    return Given(str(value.get("id") or ""), str(value["from"]), value["text"], bot or own, own)


def _text(content: object) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""
