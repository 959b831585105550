"""What travels between a channel and an agent: messages in, actions and recalls in, answers out."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from nanobot_transcript.entry import Entry, Ids
from nanobot_transcript.runner.live import LiveText

__all__ = ["CardAction", "InboundMessage", "MaySend", "OutboundMessage", "Recalled", "SentMessage"]

MaySend: TypeAlias = Callable[[], Awaitable[bool]]
"""Asked right before every attempt to send, and while a text is shown that is still being written."""


@dataclass(frozen=True, slots=True)
class InboundMessage:
    """A message that reached this agent: pushed by the platform, or relayed from the record.

    ``entry`` is the message as the record holds it. A ``private`` chat is never recorded; a ``relayed`` entry was
    read from the record, so it is in there already. ``complete`` is False for a message whose text is still being
    written: it is recorded, and begins no turn.
    """

    session_key: str
    entry: Entry
    private: bool = False
    relayed: bool = False
    complete: bool = True

    @property
    def message_id(self) -> str | None:
        """The platform's id of the message."""
        return self.entry.get("message_id")


@dataclass(frozen=True, slots=True)
class Recalled:
    """A message was taken back; ``ts`` is when, in milliseconds."""

    session_key: str
    message_id: str
    ts: float | None = None
    private: bool = False


@dataclass(frozen=True, slots=True)
class CardAction:
    """Somebody pressed something on a card: ``message_id`` is the card's, ``value`` what the button carries.

    ``action_id`` is the platform's id of the event.
    """

    session_key: str
    message_id: str
    value: Mapping[str, Any]
    sender: str = ""
    sender_name: str = ""
    form: Mapping[str, Any] = field(default_factory=dict)
    action_id: str = ""


@dataclass(frozen=True, slots=True)
class SentMessage:
    """A message as the platform confirmed it; ``ts`` is its time in milliseconds.

    ``ids`` are those of the sending bot. ``text`` is what stands there when that is not what was asked for: of a card
    its text, of a stream that broke off what was shown last.
    """

    message_id: str
    ts: float | None = None
    thread_id: str | None = None
    message_ids: tuple[str, ...] = ()
    root_id: str | None = None
    msg_type: str | None = None
    ids: Ids = field(default_factory=Ids)
    text: str | None = None


@dataclass(frozen=True, slots=True)
class OutboundMessage:
    """Something to be said in a chat.

    ``idempotency_key`` is the same at every attempt, so that the platform delivers at most once. ``live`` is given
    while the text is still being written; a channel that cannot show that waits for its end. ``card`` replaces the
    text for channels that have cards. A ``private`` message is not recorded. Once ``may_send`` says no, the message is
    not sent, and what is shown of it is taken back.
    """

    session_key: str
    content: str
    reply_to: str | None = None
    thread_id: str | None = None
    idempotency_key: str = ""
    agent: str = ""
    hop: int | None = None
    private: bool = False
    card: Mapping[str, Any] | None = None
    live: LiveText | None = None
    may_send: MaySend | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
