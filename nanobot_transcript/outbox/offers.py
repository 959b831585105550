"""Replies and button presses as the database stores them, with their places. What no post can want is not an offer."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from nanobot_transcript.entry import Entry, storable
from nanobot_transcript.identity import is_person
from nanobot_transcript.outbox.values import Action

__all__ = ["Offer", "of_action", "of_reply"]

_LONGEST: Final = 100_000
_NO_TIME: Final = 2.0**53


@dataclass(frozen=True, slots=True)
class Offer:
    """An ``answer`` by the columns of its table, and the places (message ids, threads) it belongs to.

    ``reply_to`` is the message that it answers directly, or the card; ``session_key`` is None when the chat is unknown.
    """

    answer: Mapping[str, Any]
    reply_to: str | None = None
    root_id: str | None = None
    thread_id: str | None = None
    session_key: str | None = None

    @property
    def places(self) -> tuple[str, ...]:
        """Its places, the nearest first."""
        return tuple(place for place in (self.reply_to, self.root_id, self.thread_id) if place)


def of_reply(entry: Entry, session_key: str | None) -> Offer | None:
    """A person's message that replies to something or is in a thread; messages of bots are no answers."""
    message_id = entry.get("message_id")
    if not is_person(entry) or not message_id:
        return None
    answer = {
        "mark": f"message {message_id}",
        "kind": "reply",
        "message_id": str(message_id),
        "sender": entry["sender"],
        "sender_name": entry.get("sender_name") or "",
        "ts": _milliseconds(entry["ts"]),
        "body": json.dumps({"text": entry["content"][:_LONGEST]}),
    }
    places = (_place(entry.get(kind)) for kind in ("reply_to", "root_id", "thread_id"))
    offer = Offer(_clean(answer), *places, session_key=_place(session_key))
    return offer if offer.places else None


def of_action(action: Action, now_ms: int) -> Offer | None:
    """A pressed button."""
    card = _place(action.message_id)
    if card is None:
        return None
    body = _json({"value": dict(action.value), "form": dict(action.form)})
    told = action.action_id or f"{action.operator} {body}"
    digest = hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()
    answer = {
        "mark": f"action {action.message_id} {digest}",
        "kind": "action",
        "message_id": action.message_id,
        "sender": action.operator,
        "sender_name": action.operator_name,
        "ts": now_ms,
        "body": body,
    }
    return Offer(_clean(answer), reply_to=card, session_key=_place(action.session_key))


def _place(value: object) -> str | None:
    return storable(value) if isinstance(value, str) and value else None


def _clean(answer: Mapping[str, Any]) -> dict[str, Any]:
    return {name: storable(value) if isinstance(value, str) else value for name, value in answer.items()}


def _milliseconds(ts: float) -> int:
    """A time as SQLite stores it; 0 for an unusable one."""
    return int(ts) if abs(ts) < _NO_TIME else 0


def _json(value: dict[str, Any]) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return text if len(text) <= _LONGEST else json.dumps({"value": {}, "form": {}, "too_long": len(text)})
