"""Feishu's message events as values: ``im.message.receive_v1`` and ``im.message.recalled_v1``.

The argument is the event as a dictionary, ``{"header": {...}, "event": {...}}``, whether it came over the
long connection or a webhook. Fields: https://open.feishu.cn/document/server-docs/im-v1/message/events/receive
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from nanobot_transcript.entry import EntryFields, Ids
from transcript_channels.feishu.content import text_of

__all__ = ["MentionedMember", "Message", "Recall", "message_from_event", "recall_from_event"]

_PERSON: Final = "user"
_APPS: Final = frozenset({"bot", "app"})
_LONGEST_POSITION: Final = 19
_FAR: Final = 10**18
_PRIVATE: Final = "p2p"
_EARLIEST_MS: Final = 100_000_000_000  # below it a time is in seconds: as milliseconds it would be 1973
_EMPTY: Final[Mapping[str, Any]] = {}


@dataclass(frozen=True, slots=True)
class MentionedMember:
    """Somebody named in a message; ``ids`` are those the receiving app sees, ``kind`` None if not told."""

    name: str
    ids: Ids
    key: str = ""
    kind: Literal["human", "bot"] | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """A message as one app received it. ``ts_ms`` is the platform's time; ``text`` is never empty."""

    app_id: str
    chat_id: str
    chat_type: str
    message_id: str
    msg_type: str
    text: str
    sender_type: str
    sender_ids: Ids
    ts_ms: float | None = None
    mentions: tuple[MentionedMember, ...] = field(default=())
    root_id: str | None = None
    parent_id: str | None = None
    thread_id: str | None = None
    pos: int | None = None

    @property
    def in_group(self) -> bool:
        """False for a private chat, and when the platform does not say what kind of chat it is."""
        return bool(self.chat_type) and self.chat_type != _PRIVATE

    @property
    def from_bot(self) -> bool:
        """True when another app sent it (``bot`` in events, ``app`` in the history API)."""
        return self.sender_type in _APPS

    def entry_fields(self) -> EntryFields:
        """What the platform tells about the message, as keywords of ``append``."""
        return {
            "sender_kind": "bot" if self.from_bot else "human",
            "ids": self.sender_ids,
            "msg_type": self.msg_type,
            "reply_to": self.parent_id,
            "root_id": self.root_id,
            "thread_id": self.thread_id,
            "pos": self.pos,
            "source": "peer_event" if self.from_bot else "event",
        }


@dataclass(frozen=True, slots=True)
class Recall:
    """A message was taken back. ``ts_ms`` is when."""

    app_id: str
    chat_id: str
    message_id: str
    ts_ms: float | None = None


def message_from_event(event: Any) -> Message | None:
    """The message in an ``im.message.receive_v1`` event; None when chat or message id are missing."""
    message, sender = _part(event, "event", "message"), _part(event, "event", "sender")
    chat_id, message_id = _string(message, "chat_id"), _string(message, "message_id")
    if not chat_id or not message_id:
        return None
    kind = _string(message, "message_type") or _string(message, "msg_type") or "message"
    return Message(
        app_id=_string(_part(event, "header"), "app_id"),
        chat_id=chat_id,
        chat_type=_string(message, "chat_type"),
        message_id=message_id,
        msg_type=kind,
        text=text_of(kind, message.get("content"), message.get("mentions")),
        sender_type=_string(sender, "sender_type"),
        sender_ids=_ids(sender.get("sender_id")),
        ts_ms=_milliseconds(message.get("create_time")),
        mentions=_mentions(message.get("mentions")),
        root_id=_string(message, "root_id") or None,
        parent_id=_string(message, "parent_id") or None,
        thread_id=_string(message, "thread_id") or None,
        pos=_position(message.get("message_position")),
    )


def recall_from_event(event: Any) -> Recall | None:
    """The recall in an ``im.message.recalled_v1`` event; None when chat or message id are missing."""
    body = _part(event, "event")
    chat_id, message_id = _string(body, "chat_id"), _string(body, "message_id")
    if not chat_id or not message_id:
        return None
    app_id = _string(_part(event, "header"), "app_id")
    return Recall(app_id, chat_id, message_id, _milliseconds(body.get("recall_time")))


def _part(value: Any, *path: str) -> Mapping[str, Any]:
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else _EMPTY


def _string(mapping: Mapping[str, Any], key: str) -> str:
    value = mapping.get(key)
    return value if isinstance(value, str) else ""


def _ids(value: Any) -> Ids:
    """An object of ids; a single string is an open id, or a bot's app id."""
    if isinstance(value, str) and value:
        return {"app_id": value} if value.startswith("cli_") else {"open_id": value}
    ids: Ids = {}
    if isinstance(value, Mapping):
        if union_id := _string(value, "union_id"):
            ids["union_id"] = union_id
        if user_id := _string(value, "user_id"):
            ids["user_id"] = user_id
        if open_id := _string(value, "open_id"):
            ids["open_id"] = open_id
        if app_id := _string(value, "app_id"):
            ids["app_id"] = app_id
    return ids


def _mentions(value: Any) -> tuple[MentionedMember, ...]:
    if not isinstance(value, list | tuple):
        return ()
    return tuple(_mention(item) for item in value if isinstance(item, Mapping) and _string(item, "name"))


def _mention(item: Mapping[str, Any]) -> MentionedMember:
    said = _string(item, "mentioned_type")
    kind = "bot" if said in ("bot", "app") else "human" if said == _PERSON else None
    return MentionedMember(_string(item, "name").strip(), _ids(item.get("id")), _string(item, "key"), kind)


def _milliseconds(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    if not 0 < number < float("inf"):
        return None
    return number * 1000 if number < _EARLIEST_MS else number


def _position(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    digits = str(value) if isinstance(value, str) or abs(value) < _FAR else ""
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < _LONGEST_POSITION else None
