"""Who and what exists on the simulated platform: members, chats, messages, connections, and events on their way.

One module, because they name each other: an app has connections, and a connection belongs to an app.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from transcript_channels.simulator import content, ids, scopes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from aiohttp import web

    from transcript_channels.simulator import frames
    from transcript_channels.simulator.webhooks import Webhook

__all__ = [
    "App",
    "Attempt",
    "Card",
    "Chat",
    "Connection",
    "Member",
    "Mention",
    "Message",
    "Person",
    "Push",
    "Reaction",
    "State",
    "World",
]

TENANT_KEY = "2ed263bf32cf1651"

DEFAULT_EVENTS = frozenset({"im.message.receive_v1", "im.message.recalled_v1", "card.action.trigger"})


@dataclass(eq=False, slots=True)
class Person:
    """A human of the tenant. ``key`` seeds the ids; ``open_id(app)`` differs for every app."""

    name: str
    key: str

    @property
    def union_id(self) -> str:
        """The id that all apps share."""
        return ids.union_id(self.key)

    @property
    def user_id(self) -> str:
        """The id inside the tenant; apps see it only with ``contact:user.employee_id:readonly``."""
        return ids.user_id(self.key)

    @property
    def at(self) -> str:
        """Text that mentions exactly this person, also when another member has the same name."""
        return f'<at key="{self.key}"></at>'

    def open_id(self, observer: "App") -> str:
        """This person as ``observer`` sees them."""
        return ids.open_id(observer.app_id, self.key)

    def __repr__(self) -> str:
        return f"Person({self.name!r})"


@dataclass(eq=False, slots=True)
class App:
    """An app with a bot. ``scopes`` and ``events`` (subscriptions) may be changed at any time."""

    name: str
    app_id: str
    app_secret: str
    scopes: set[str] = field(default_factory=lambda: set(scopes.DEFAULT_SCOPES))
    events: set[str] = field(default_factory=lambda: set(DEFAULT_EVENTS))
    fragment_bytes: int | None = None
    """Events larger than this come in several frames; None = always one frame."""
    connections: "list[Connection]" = field(default_factory=list)
    webhook: "Webhook | None" = None
    """Where events go instead of a long connection."""

    @property
    def key(self) -> str:
        """What the bot's ids are derived from."""
        return self.app_id

    @property
    def union_id(self) -> str:
        """The bot's id that all apps share."""
        return ids.union_id(self.key)

    @property
    def bot_open_id(self) -> str:
        """The bot as it sees itself, the answer of ``GET /open-apis/bot/v3/info``."""
        return self.open_id(self)

    @property
    def connected(self) -> bool:
        """True while at least one long connection is open."""
        return bool(self.connections)

    @property
    def at(self) -> str:
        """Text that mentions exactly this bot, also when another member has the same name."""
        return f'<at key="{self.key}"></at>'

    def open_id(self, observer: "App") -> str:
        """The bot as ``observer`` sees it."""
        return ids.open_id(observer.app_id, self.key)

    def grant(self, *names: str) -> None:
        """Add scopes."""
        self.scopes.update(names)

    def revoke(self, *names: str) -> None:
        """Take scopes away."""
        self.scopes.difference_update(names)

    def __repr__(self) -> str:
        return f"App({self.name!r}, {self.app_id!r})"


Member = Person | App

State = Literal["waiting", "sending", "acked", "gave_up"]
"""How far an event has come."""


@dataclass(frozen=True, slots=True)
class Mention:
    """``key`` stands in the text (``@_user_1``) for ``member``."""

    key: str
    member: Member


@dataclass(eq=False, slots=True)
class Card:
    """A card entity: ``body`` is the card as JSON; changes need a rising ``sequence``."""

    card_id: str
    app: App
    body: dict[str, Any]
    sequence: int = 0
    message: "Message | None" = None

    @property
    def streaming(self) -> bool:
        """True while the card's text is still being written."""
        return bool(self.body.get("config", {}).get("streaming_mode"))


@dataclass(frozen=True, slots=True)
class Reaction:
    """An emoji that a member put on a message."""

    reaction_id: str
    emoji: str
    member: Member
    created_ms: int


@dataclass(eq=False, slots=True)
class Message:
    """One message. ``content`` is the platform's content object with ``@_user_n`` keys for mentions."""

    message_id: str
    chat: "Chat"
    sender: Member
    msg_type: str
    content: dict[str, Any]
    mentions: list[Mention]
    created_ms: int
    position: int
    parent: "Message | None" = None
    root: "Message | None" = None
    thread_id: str | None = None
    thread_position: int | None = None
    updated_ms: int = 0
    edits: int = 0
    recalled: bool = False
    card: Card | None = None
    forwarded: "Sequence[Message]" = ()
    """The messages in a bundle of forwarded ones (``merge_forward``)."""
    pushes: "list[Push]" = field(default_factory=list)
    reactions: list[Reaction] = field(default_factory=list)

    @property
    def text(self) -> str:
        """What people read; of a card its text as it stands now. Empty once recalled."""
        if self.recalled:
            return ""
        names = {mention.key: mention.member.name for mention in self.mentions}
        return content.readable(self.msg_type, self.card.body if self.card else self.content, names)

    @property
    def finished(self) -> bool:
        """False while a streamed card is still being written."""
        return self.card is None or not self.card.streaming

    @property
    def updated(self) -> bool:
        """True after an edit."""
        return self.edits > 0

    @property
    def acks(self) -> dict[str, int | None]:
        """The newest acknowledgement of this message's event per app name; None = none yet."""
        return {push.app.name: push.ack_code for push in self.pushes}

    def __repr__(self) -> str:
        return f"Message({self.sender.name}: {self.text!r})"


@dataclass(eq=False, slots=True)
class Chat:
    """A group (``kind`` ``group``) or a private chat of one person and one bot (``p2p``)."""

    chat_id: str
    name: str
    kind: Literal["group", "p2p"]
    members: list[Member]
    messages: list[Message] = field(default_factory=list)
    thread_lengths: dict[str, int] = field(default_factory=dict)

    @property
    def apps(self) -> list[App]:
        """The bots of the chat."""
        return [member for member in self.members if isinstance(member, App)]

    @property
    def people(self) -> list[Person]:
        """The humans of the chat."""
        return [member for member in self.members if isinstance(member, Person)]

    def __repr__(self) -> str:
        return f"Chat({self.name!r}, {self.chat_id!r})"


@dataclass(eq=False)
class Connection:
    """One open socket of an app's client."""

    app: App
    socket: "web.WebSocketResponse"
    request: "web.Request"
    connection_id: str
    service: int
    pings: int = 0
    opened_ms: int = field(default_factory=ids.now_ms)
    outbox: "asyncio.Queue[tuple[bytes, Callable[[], None] | None]]" = field(default_factory=asyncio.Queue)

    def send(self, frame: "frames.Frame", sent: Callable[[], None] | None = None) -> None:
        """Queue a frame; ``sent`` is called once the operating system has it."""
        self.outbox.put_nowait((frame.encode(), sent))

    async def write(self) -> None:
        """Send what is queued, in order, until the socket closes."""
        while True:
            data, sent = await self.outbox.get()
            await self.socket.send_bytes(data)
            if sent is not None:
                sent()

    def abort(self) -> None:
        """Cut the line without a closing handshake."""
        if self.request.transport is not None:
            self.request.transport.abort()

    def __repr__(self) -> str:
        return f"Connection({self.app.name!r}, {self.connection_id})"


@dataclass(eq=False, slots=True)
class Attempt:
    """One time an event was sent. ``code`` is the acknowledgement (200, 500; of a webhook the HTTP status), or None
    when none came.
    """

    connection: "Connection | Webhook"
    frame_id: str
    sent_ms: int = 0
    code: int | None = None
    acked_ms: int | None = None


@dataclass(eq=False, slots=True)
class Push:
    """An event on its way to one app.

    ``state``: ``waiting`` for a connection, ``sending`` (sent, or waiting to be sent again), ``acked``,
    ``gave_up``.
    """

    app: App
    event_type: str
    event_id: str
    payload: bytes
    message: Message | None = None
    retried: bool = True
    state: State = "waiting"
    attempts: list[Attempt] = field(default_factory=list)
    failures: int = 0
    response: dict[str, Any] | None = None
    """What the app answered to a callback (``card.action.trigger``)."""

    @property
    def event(self) -> dict[str, Any]:
        """The event as the app got it."""
        return json.loads(self.payload)

    @property
    def acked(self) -> bool:
        """True once the app said 200."""
        return self.state == "acked"

    @property
    def settled(self) -> bool:
        """True when nothing more happens by itself: acknowledged, given up, or waiting for a connection."""
        return self.state != "sending"

    @property
    def ack_code(self) -> int | None:
        """The newest acknowledgement; None when none has come."""
        return next((attempt.code for attempt in reversed(self.attempts) if attempt.code is not None), None)

    def __repr__(self) -> str:
        return f"Push({self.event_type} to {self.app.name}: {self.state} after {len(self.attempts)})"


class World:
    """The registers of one simulated tenant."""

    def __init__(self) -> None:
        self.apps: dict[str, App] = {}
        self.people: dict[str, Person] = {}
        self.chats: dict[str, Chat] = {}
        self.messages: dict[str, Message] = {}
        self.cards: dict[str, Card] = {}
        self.files: dict[str, tuple[str, bytes]] = {}

    def members(self) -> "Iterator[Member]":
        """Everybody, apps first."""
        yield from self.apps.values()
        yield from self.people.values()

    def add_app(self, app: App) -> App:
        """Register an app. Raises ValueError for an id that is taken."""
        if app.app_id in self.apps:
            raise ValueError(f"there is an app {app.app_id} already")
        self.apps[app.app_id] = app
        return app

    def add_person(self, name: str, key: str | None = None) -> Person:
        """Register a person; the key is the name unless that is taken. Raises ValueError for a taken key."""
        key = key or (name if name not in self.people else f"{name}#{len(self.people)}")
        if key in self.people:
            raise ValueError(f"there is a person with the key {key!r} already")
        self.people[key] = person = Person(name, key)
        return person

    def add_chat(self, name: str, kind: Literal["group", "p2p"], members: "Iterable[Member]") -> Chat:
        """Open a chat."""
        chat = Chat(ids.new_chat_id(), name, kind, list(members))
        self.chats[chat.chat_id] = chat
        return chat

    def private_chat(self, person: Person, app: App) -> Chat:
        """The chat of a person and a bot, opened on first use."""
        for chat in self.chats.values():
            if chat.kind == "p2p" and person in chat.members and app in chat.members:
                return chat
        return self.add_chat("", "p2p", [person, app])

    def by_open_id(self, open_id: str) -> tuple[App, Member] | None:
        """Whose ``open_id`` this is, and which app sees them by it."""
        for observer in self.apps.values():
            for member in self.members():
                if member.open_id(observer) == open_id:
                    return observer, member
        return None

    def member_by_key(self, key: str) -> Member | None:
        """A member by the key their ids are derived from."""
        return self.people.get(key) or self.apps.get(key)

    def thread(self, thread_id: str) -> list[Message]:
        """The messages of a thread, its root first; empty when there is none."""
        found = [message for message in self.messages.values() if message.thread_id == thread_id]
        return sorted(found, key=lambda message: message.thread_position or 0)
