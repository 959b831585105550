"""Feishu's message events as values: ``im.message.receive_v1``, and those of ``CHANGES`` about earlier messages.

The argument is the event as a dictionary, ``{"header": {...}, "event": {...}}``, whether it came over the
long connection or a webhook. Fields: https://open.feishu.cn/document/server-docs/im-v1/message/events/receive
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from nanobot_transcript.conversation.ports import Arrival, MentionedMember, MessageChange, Recalled
from nanobot_transcript.entry import Ids
from transcript_channels.feishu.content import text_of
from transcript_channels.feishu.fields import ids_of, mentions_of, milliseconds, part, position, string
from transcript_channels.feishu.platform import FEISHU

__all__ = ["CALLBACKS", "CHANGES", "MentionedMember", "Message", "Recall", "message_from_event", "recall_from_event"]

CALLBACKS: Final = frozenset({"card.action.trigger", "url.preview.get"})
"""Events whose acknowledgement carries an answer: a toast or a card for whoever pressed a button."""

_APPS: Final = frozenset({"bot", "app"})
_PRIVATE: Final = "p2p"


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

    def arrival(self, account: str) -> Arrival:
        """The message as the app ``account`` heard it. Another bot's card has no text while it is being written."""
        return Arrival(
            FEISHU.key(self.chat_id),
            account,
            self.message_id,
            self.text,
            self.sender_ids,
            "peer_event" if self.from_bot else "event",
            from_bot=self.from_bot,
            msg_type=self.msg_type,
            ts_ms=self.ts_ms,
            mentions=self.mentions,
            reply_to=self.parent_id,
            root_id=self.root_id,
            thread_id=self.thread_id,
            pos=self.pos,
            complete=not (self.from_bot and self.text == FEISHU.unfinished),
        )


@dataclass(frozen=True, slots=True)
class Recall:
    """A message was taken back. ``ts_ms`` is when."""

    app_id: str
    chat_id: str
    message_id: str
    ts_ms: float | None = None


def message_from_event(event: Any) -> Message | None:
    """The message in an ``im.message.receive_v1`` event; None when chat or message id are missing."""
    message, sender = part(event, "event", "message"), part(event, "event", "sender")
    chat_id, message_id = string(message, "chat_id"), string(message, "message_id")
    if not chat_id or not message_id:
        return None
    kind = string(message, "message_type") or string(message, "msg_type") or "message"
    return Message(
        app_id=string(part(event, "header"), "app_id"),
        chat_id=chat_id,
        chat_type=string(message, "chat_type"),
        message_id=message_id,
        msg_type=kind,
        text=text_of(kind, message.get("content"), message.get("mentions")),
        sender_type=string(sender, "sender_type"),
        sender_ids=ids_of(sender.get("sender_id")),
        ts_ms=milliseconds(message.get("create_time")),
        mentions=mentions_of(message.get("mentions")),
        root_id=string(message, "root_id") or None,
        parent_id=string(message, "parent_id") or None,
        thread_id=string(message, "thread_id") or None,
        pos=position(message.get("message_position")),
    )


def recall_from_event(event: Any) -> Recall | None:
    """The recall in an ``im.message.recalled_v1`` event; None when chat or message id are missing."""
    body = part(event, "event")
    chat_id, message_id = string(body, "chat_id"), string(body, "message_id")
    if not chat_id or not message_id:
        return None
    app_id = string(part(event, "header"), "app_id")
    return Recall(app_id, chat_id, message_id, milliseconds(body.get("recall_time")))


def _recalled(event: Any) -> Recalled | None:
    recall = recall_from_event(event)
    return None if recall is None else Recalled(FEISHU.key(recall.chat_id), recall.message_id, recall.ts_ms)


CHANGES: Final[Mapping[str, Callable[[Any], MessageChange | None]]] = {"im.message.recalled_v1": _recalled}
"""The events that tell what became of an earlier message, by their names: what each tells, None when something that it
needs is missing."""
