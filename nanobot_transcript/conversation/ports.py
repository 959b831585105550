"""The border between a chat platform and a conversation: what a platform brings and takes, and what it must do."""

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
"""Asked right before every attempt to send, and while a text is shown that is still being written."""
React: TypeAlias = Callable[[str, str], None]
"""Puts on a message, by its id, a reaction, by the platform's name of it, which stays there. Waits for nothing."""


@dataclass(frozen=True, slots=True)
class MentionedMember:
    """Somebody named in a message; ``ids`` are those the receiving account sees, ``kind`` None if not told."""

    name: str
    ids: Ids
    key: str = ""
    kind: Literal["human", "bot"] | None = None


@dataclass(frozen=True, slots=True)
class Arrival:
    """A message as one bot's ``account`` heard it, before anybody knows who is who.

    ``sender_ids`` are those that this account sees; ``sender_name`` is what the platform calls the sender, where it
    says so. ``ts_ms`` is the platform's time, ``source`` how it came here. ``complete`` is False while the text is
    still being written.
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

    ``entry`` is the message as the record holds it. A ``private`` chat is never recorded; a ``relayed`` entry was
    read from the record, so it is in there already. ``complete`` is False for a message whose text is still being
    written: it is recorded, and begins no turn. ``recorded``: the record took it, so what is not there any more was
    taken back.
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
    """A message was taken back; ``ts`` is when, in milliseconds."""

    session_key: str
    message_id: str
    ts: float | None = None
    private: bool = False


MessageChange: TypeAlias = Recalled
"""What a platform tells of a message that was said earlier: a union, once there is more than one kind."""


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

    ``idempotency_key`` is the same at every attempt, so that the platform delivers at most once. ``content`` is empty
    while the text is still being written. ``card`` replaces the text for channels that have cards. A ``private``
    message is not recorded. Once ``may_send`` says no, the message is not sent, and what is shown of it is taken back.
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
        """The groups the bot sits in: by session key their titles, empty where there is none."""
        ...

    async def people(self, session_key: str, kind: str) -> dict[str, str]:
        """The people of a group: by their id of this kind (one of the platform's ``person_ids``) their names."""
        ...

    async def title(self, session_key: str) -> str:
        """What a group is called."""
        ...


class Read(Protocol):
    """Makes of a message as it was heard what is published. For any thread."""

    def __call__(self, arrival: Arrival, *, private: bool = False) -> InboundMessage:
        """The message with its entry."""
        ...


class Publish(Protocol):
    """Where a channel brings what the platform tells it. To be called before the platform is acknowledged."""

    async def __call__(self, event: InboundMessage | MessageChange | CardAction) -> Mapping[str, Any] | None:
        """Record the event and hand it on. The answer to a card action, if there is one.

        Raises StoreError when it could not be recorded: then the platform should push it again. The agent has it
        nevertheless, and does not answer it twice.
        """
        ...


class Channel(Protocol):
    """One bot on one platform."""

    async def start(self, publish: Publish) -> None:
        """Connect, and bring events to ``publish`` from now on. Raises TranscriptError kinds when that cannot be."""
        ...

    async def send(self, message: OutboundMessage) -> SentMessage:
        """Send a message and return what the platform says about it.

        Raises DeliveryError or PlatformError; another attempt uses the same ``idempotency_key``. Where a part of the
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
    """A channel that can change a card that stands in a chat."""

    async def revise(self, message_id: str, card: Mapping[str, Any]) -> str:
        """Show another card in the place of this bot's own; returns the text that it shows. Raises PlatformError."""
        ...


@runtime_checkable
class ReactingChannel(Channel, Protocol):
    """A channel that can show on a message that it is being answered."""

    def working(self, message_id: str, reaction: str) -> AbstractAsyncContextManager[None]:
        """Show ``reaction`` (the platform's name of it) on a message until the end of the block.

        Neither its beginning nor its end waits for the platform, and a failure is none of the block.
        """
        ...


@runtime_checkable
class MarkingChannel(Channel, Protocol):
    """A channel that can put a reaction on a message for good."""

    def react(self, message_id: str, reaction: str) -> None:
        """See ``React``. A failure of the platform is told in the log."""
        ...


class LiveMessage(Protocol):
    """A message that is shown while it is being written."""

    async def update(self, text: str) -> None:
        """Show the text so far; the last one before the end of the block is the final one."""
        ...

    @property
    def sent(self) -> SentMessage | None:
        """After the block: the message as it stands there; None when nothing stands there."""
        ...


@runtime_checkable
class StreamingChannel(Channel, Protocol):
    """A channel that can show a text while it is being written."""

    def stream(self, message: OutboundMessage) -> AbstractAsyncContextManager[LiveMessage]:
        """Open a live message. A block that ends with an exception takes back what was shown, if it can."""
        ...
