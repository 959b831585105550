"""The border between a chat platform and a conversation: what a platform delivers and accepts, and what it must do."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from nanobot_transcript.entry import Entry, Ids

__all__ = [
    "Arrival",
    "CardAction",
    "Channel",
    "Groups",
    "InboundMessage",
    "LiveMessage",
    "MarkingChannel",
    "MaySend",
    "MentionedMember",
    "MessageChange",
    "OutboundMessage",
    "Publish",
    "React",
    "ReactingChannel",
    "Read",
    "Recalled",
    "RevisingChannel",
    "SentMessage",
    "StreamingChannel",
]

MaySend: TypeAlias = Callable[[], Awaitable[bool]]
"""Awaited before every attempt to send, and while an unfinished text is shown."""
React: TypeAlias = Callable[[str, str], None]
"""Puts a reaction (by the platform's name) on a message (by id), and leaves it there. Does not wait."""


@dataclass(frozen=True, slots=True)
class MentionedMember:
    """Somebody named in a message; ``ids`` are those the receiving account sees, ``kind`` is None when not told."""

    name: str
    ids: Ids
    key: str = ""
    kind: Literal["human", "bot"] | None = None


@dataclass(frozen=True, slots=True)
class Arrival:
    """A message as one bot's ``account`` heard it, before names and ids are resolved.

    ``sender_ids`` are those that this account sees; ``sender_name`` is the platform's name for the sender, if it tells.
    ``ts_ms`` is the platform's time, ``source`` how it came here. ``complete`` is False while the text is still being
    written.
    """

    session_key: str
    account: str
    message_id: str
    text: str
    sender_ids: Ids
    source: Literal["event", "peer_event", "history"] = "event"
    from_bot: bool = False
    sender_name: str = ""
    msg_type: str = "text"
    ts_ms: float | None = None
    mentions: tuple[MentionedMember, ...] = ()
    reply_to: str | None = None
    root_id: str | None = None
    thread_id: str | None = None
    pos: int | None = None
    edited: bool = False
    complete: bool = True


@dataclass(frozen=True, slots=True)
class InboundMessage:
    """A message that reached this agent: pushed by the platform, or relayed from the record.

    ``entry`` is the message as recorded. A ``private`` chat is never recorded; a ``relayed`` entry was read from the
    record. ``complete`` is False while the text is still being written: the message is recorded, and begins no turn.
    ``recorded``: the record accepted it, so if it is no longer there it was recalled.
    """

    session_key: str
    entry: Entry
    private: bool = False
    relayed: bool = False
    complete: bool = True
    recorded: bool = False

    @property
    def message_id(self) -> str | None:
        """The platform's id of the message."""
        return self.entry.get("message_id")


@dataclass(frozen=True, slots=True)
class Recalled:
    """A message was recalled, at ``ts`` (milliseconds)."""

    session_key: str
    message_id: str
    ts: float | None = None
    private: bool = False


MessageChange: TypeAlias = Recalled
"""What a platform tells of a message that was said earlier: a union, once there is more than one kind."""


@dataclass(frozen=True, slots=True)
class CardAction:
    """Somebody used a button of a card: ``message_id`` is the card's, ``value`` what the button carries.

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

    ``ids`` are those of the sending bot. ``text`` is what the chat shows when that differs from what was asked for: the
    text of a card, or the last state of a broken stream.
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
    """A message to be sent to a chat.

    ``idempotency_key`` is the same at every attempt, so that the platform delivers at most once. ``content`` is empty
    while the text is still being written. ``card`` replaces the text on channels that have cards. A ``private`` message
    is not recorded. When ``may_send`` returns False, the message is not sent, and what is already shown is taken back.
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
    may_send: MaySend | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


class Groups(Protocol):
    """What a platform tells one bot about groups. Raises PlatformError kinds."""

    async def mine(self) -> dict[str, str]:
        """The groups the bot is in: titles by session key, empty for none."""
        ...

    async def people(self, session_key: str, kind: str) -> dict[str, str]:
        """The people of a group: names by ids of this kind (one of the platform's ``person_ids``)."""
        ...

    async def title(self, session_key: str) -> str:
        """What a group is called."""
        ...


class Read(Protocol):
    """Turns a heard message into what is published. For any thread."""

    def __call__(self, arrival: Arrival, *, private: bool = False) -> InboundMessage:
        """The message with its entry."""
        ...


class Publish(Protocol):
    """Receives what the platform tells a channel. Call it before acknowledging to the platform."""

    async def __call__(self, event: InboundMessage | MessageChange | CardAction) -> Mapping[str, Any] | None:
        """Record the event and pass it on. Returns the answer to a card action, if there is one.

        Raises StoreError when it could not be recorded: then the platform should push it again. The agent gets it
        anyway, and does not answer it twice.
        """
        ...


class Channel(Protocol):
    """One bot on one platform."""

    async def start(self, publish: Publish) -> None:
        """Connect, and pass events to ``publish`` from now on. Raises TranscriptError kinds when that is
        impossible.
        """
        ...

    async def send(self, message: OutboundMessage) -> SentMessage:
        """Send a message and return what the platform says about it.

        Raises DeliveryError or PlatformError; another attempt uses the same ``idempotency_key``. When a part of the
        message arrived, ``arrived`` of the error is that part, a SentMessage with its ``text``.
        """
        ...

    def sits_in(self, session_key: str) -> bool:
        """True when this bot is known to be a member of the chat."""
        ...

    async def stop(self) -> None:
        """Disconnect. Nothing is published afterwards."""
        ...


@runtime_checkable
class RevisingChannel(Channel, Protocol):
    """A channel that can change a card in a chat."""

    async def revise(self, message_id: str, card: Mapping[str, Any]) -> str:
        """Replace this bot's own card with another one; returns the text that it shows. Raises PlatformError."""
        ...


@runtime_checkable
class ReactingChannel(Channel, Protocol):
    """A channel that can show on a message that it is being answered."""

    def working(self, message_id: str, reaction: str) -> AbstractAsyncContextManager[None]:
        """Show ``reaction`` (the platform's name) on a message until the end of the block.

        The block waits for the platform neither at its beginning nor at its end, and does not see failures.
        """
        ...


@runtime_checkable
class MarkingChannel(Channel, Protocol):
    """A channel that can put a permanent reaction on a message."""

    def react(self, message_id: str, reaction: str) -> None:
        """See ``React``. A failure is logged."""
        ...


class LiveMessage(Protocol):
    """A message that is shown while it is being written."""

    async def update(self, text: str) -> None:
        """Show the text so far; the last call in the block gives the final text."""
        ...

    @property
    def sent(self) -> SentMessage | None:
        """After the block: the message as the chat shows it; None when nothing is left of it."""
        ...


@runtime_checkable
class StreamingChannel(Channel, Protocol):
    """A channel that can show a text while it is being written."""

    def stream(self, message: OutboundMessage) -> AbstractAsyncContextManager[LiveMessage]:
        """Open a live message. If the block raises, what was shown is taken back, where possible."""
        ...
