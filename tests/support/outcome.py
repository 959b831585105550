"""What a host made of a sequence, in a form in which only real differences differ."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from nanobot_transcript.entry import Entry
from nanobot_transcript.record import Record
from transcript_channels.simulator import Chat, Message, ModelRequest

__all__ = ["COURTESY", "Outcome", "Told", "outcome_of", "thanked_by"]

COURTESY: Final = "OK"
"""The emoji that thanks get. Hosts put others on what they answer."""

_UNEQUAL: Final = frozenset({"rts", "v", "pos", "ts"})
"""Times of receipt and of answers, and the platform's own count: different at each play."""
_SCORE_STEP: Final = 0.05
"""A follow-up's score goes down a little with each minute, and a play takes as long as the machine needs: a restart in
one of two plays may take half a minute more, and a score moves by steps of whole minutes."""
_NAMES_A_MESSAGE: Final = ("message_id", "reply_to", "root_id", "target", "thread_id")
_LINE: Final = re.compile(r'^\{"(?:id|time|name|from)": .*\}$', re.MULTILINE)


@dataclass
class Told:
    """What the model was given with one request: the ``history``, the ``members`` and the ``asker``, line by line.

    ``asked`` is the whole text of the turn, ``before`` the conversation so far, when there is one.
    """

    history: list[dict[str, Any]] = field(default_factory=list)
    members: list[dict[str, Any]] = field(default_factory=list)
    asker: list[dict[str, Any]] = field(default_factory=list)
    asked: str = ""
    before: str = ""


@dataclass
class Outcome:
    """What a host made of a sequence: the entries, what was decided about each message, what the model was told, and
    which messages got a reaction as thanks do, with the bots whose it is.
    """

    entries: list[dict[str, Any]] = field(default_factory=list)
    decisions: list[dict[str, Any]] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    reactions: list[tuple[str, list[str]]] = field(default_factory=list)


def outcome_of(record: Record, group: Chat, private: Sequence[Chat], requests: Sequence[ModelRequest]) -> Outcome:
    """What the record holds of a group, and of private chats, and what the model was asked meanwhile."""
    places = _Places(group)
    keys = [f"feishu:{chat.chat_id}" for chat in (group, *private)]
    entries = [entry for key in keys for entry in record.store.scan(key)]
    entries.sort(key=lambda entry: entry["ts"])  # what the history brings stands later in the file
    noted = [one for message in group.messages for one in record.decisions.read(keys[0], message.message_id)]
    return Outcome(
        [places.entry(entry) for entry in entries],
        [places.decision(one) for one in noted],
        [places.told(request) for request in requests],
        [(places.of(message.message_id), who) for message in group.messages if (who := thanked_by(message))],
    )


def thanked_by(message: Message) -> list[str]:
    """The bots that reacted to a message as to thanks."""
    return [one.member.name for one in message.reactions if one.emoji == COURTESY]


class _Places:
    """Instead of its id a message has its place in the group."""

    def __init__(self, group: Chat) -> None:
        self._names: dict[Any, str] = {}
        for at, message in enumerate(group.messages):
            self._names[message.message_id] = f"m{at}"
            if message.thread_id:
                self._names.setdefault(message.thread_id, f"thread of m{at}")

    def of(self, message_id: str) -> str:
        return self._names[message_id]

    def entry(self, entry: Entry) -> dict[str, Any]:
        plain = {name: value for name, value in entry.items() if name not in _UNEQUAL}
        if "message_ids" in plain:
            plain["message_ids"] = [self._names.get(one, one) for one in entry.get("message_ids", [])]
        return self._renamed(plain, *_NAMES_A_MESSAGE)

    def decision(self, noted: dict[str, Any]) -> dict[str, Any]:
        kept = {name: noted.get(name) for name in ("agent", "respond", "stage", "reason", "message_id")}
        return self._renamed(kept | {"score": pytest.approx(noted.get("score") or 0, abs=_SCORE_STEP)}, "message_id")

    def told(self, request: ModelRequest) -> Told:
        said = [str(message.get("content") or "") for message in request.messages if message.get("role") != "system"]
        told = Told(asked=request.last_user_text, before="\n".join(said[:-1]))
        for line in map(json.loads, _LINE.findall(told.asked)):
            kept = told.history if "text" in line else told.members if "kind" in line else told.asker
            line.pop("time", None)
            kept.append(self._renamed(line, "id", "reply_to", "thread"))
        return told

    def _renamed(self, fields: dict[str, Any], *names: str) -> dict[str, Any]:
        return fields | {name: self._names.get(fields[name], fields[name]) for name in names if name in fields}
