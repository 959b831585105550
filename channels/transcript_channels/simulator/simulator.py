"""``FeishuSimulator``: a Feishu platform on loopback, driven from a test."""

# ruff: noqa: ASYNC109 - callers give a deadline in seconds; the waits themselves use asyncio.timeout

import logging
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from aiohttp import web

from transcript_channels.simulator import compose, ids
from transcript_channels.simulator.api import all_routes
from transcript_channels.simulator.changes import PATIENCE, Changes, Notice
from transcript_channels.simulator.connections import ClientConfig, Gate, Refusal
from transcript_channels.simulator.delivery import Delivery
from transcript_channels.simulator.faults import Fault, rate_limit_headers
from transcript_channels.simulator.platform import Draft, Platform
from transcript_channels.simulator.rest import Call, Rest
from transcript_channels.simulator.tokens import Tokens
from transcript_channels.simulator.webhooks import Webhook
from transcript_channels.simulator.world import App, Chat, Connection, Member, Message, Person, Push, Reaction, World

__all__ = ["FeishuSimulator"]

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

DEFAULT_REPUSH = (0.1, 0.3, 1.0, 2.0)
"""Seconds after which an event is pushed again; the platform: 15 s, 5 min, 1 h, 6 h."""


class FeishuSimulator:
    """A tenant of the platform: apps, people, chats, REST at ``base_url``, long connections.

    Use it as ``async with``; apps, people and groups may be added before or inside. ``port`` 0 picks a free
    one. ``ack_timeout`` (seconds) is how long an event may stay unacknowledged, ``repush_delays`` after how
    many seconds it comes again each time. ``token_ttl`` (seconds) is the life of access tokens.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        client_config: ClientConfig | None = None,
        ack_timeout: float = 3.0,
        repush_delays: Sequence[float] = DEFAULT_REPUSH,
        token_ttl: int = 7200,
    ) -> None:
        self._port = port
        self._changes = Changes()
        self._world = World()
        self._delivery = Delivery(self._changes, ack_timeout, repush_delays)
        self._platform = Platform(self._world, self._changes, self._delivery)
        self._gate = Gate(self._world, self._changes, client_config or ClientConfig())
        self._gate.delivery = self._delivery
        self._tokens = Tokens(self._world, token_ttl)
        self._rest = Rest(self._changes, self._tokens)
        self._runner: web.AppRunner | None = None
        self.base_url: str = ""
        """``http://127.0.0.1:<port>`` once started; the ``domain`` for the SDK."""

    # -- life ------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Open the port. Raises RuntimeError the second time: a stopped platform does not come back."""
        if self.base_url:
            raise RuntimeError("a simulator starts once")
        application = web.Application(client_max_size=64 * 1024 * 1024)
        application.router.add_get(Gate.PATH, self._gate.open)
        self._rest.install(application, all_routes(self._platform, self._tokens, self._gate))
        self._runner = web.AppRunner(application, handle_signals=False, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port).start()
        self.base_url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        logger.info("the simulated platform listens at %s", self.base_url)

    async def stop(self) -> None:
        """Close all connections and the port."""
        await self._delivery.close()
        await self._gate.close()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> Literal[False]:
        await self.stop()
        return False

    # -- who is there ----------------------------------------------------------------------------------------

    @property
    def apps(self) -> list[App]:
        """All apps."""
        return list(self._world.apps.values())

    @property
    def people(self) -> list[Person]:
        """All persons."""
        return list(self._world.people.values())

    @property
    def chats(self) -> list[Chat]:
        """All groups and private chats."""
        return list(self._world.chats.values())

    def add_app(
        self,
        name: str,
        *,
        app_id: str | None = None,
        app_secret: str | None = None,
        scopes: Iterable[str] | None = None,
    ) -> App:
        """An app with a bot. Its id is random unless given; ``scopes`` defaults to ``DEFAULT_SCOPES``."""
        app = App(name, app_id or ids.new_app_id(), app_secret or ids.new_secret())
        if scopes is not None:
            app.scopes = set(scopes)
        return self._world.add_app(app)

    def add_person(self, name: str, *, key: str | None = None) -> Person:
        """A person. Their ids are derived from ``key``, by default the name."""
        return self._world.add_person(name, key)

    def add_group(self, name: str, members: Iterable[Member] = ()) -> Chat:
        """A group."""
        return self._world.add_chat(name, "group", members)

    def private_chat(self, person: Person, app: App) -> Chat:
        """The private chat of a person and a bot."""
        return self._world.private_chat(person, app)

    def join(self, chat: Chat, member: Member) -> None:
        """Add a member to a group; subscribers of ``im.chat.member.*.added_v1`` are told."""
        self._platform.join(chat, member)

    def leave(self, chat: Chat, member: Member) -> None:
        """Remove a member from a group; subscribers of ``im.chat.member.*.deleted_v1`` are told."""
        self._platform.leave(chat, member)

    def add_file(self, data: bytes, name: str = "file.bin") -> str:
        """Store a file for a message's content, a picture by its name; returns its key."""
        key = ids.new_file_key("img" if compose.is_picture(name) else "file")
        self._world.files[key] = (name, data)
        return key

    async def subscribe(self, app: App, url: str, *, encrypt_key: str = "", verification_token: str = "") -> None:
        """Push the app's events to an address from now on. Raises ValueError when the address does not answer the
        platform's challenge within ``ack_timeout`` seconds.
        """
        webhook = Webhook(url, encrypt_key, verification_token)
        await self._delivery.poster.challenge(webhook, self._delivery.ack_timeout)
        app.webhook = webhook

    # -- what people do --------------------------------------------------------------------------------------

    async def say(
        self,
        chat: Chat,
        sender: Member,
        text: str = "",
        *,
        msg_type: str = "text",
        content: dict[str, Any] | None = None,
        reply_to: Message | None = None,
        in_thread: bool = False,
        at_ms: int | None = None,
        wait: bool = True,
        timeout: float = PATIENCE,
    ) -> Message:
        """Somebody writes into a chat. ``@Name`` of a member, ``member.at`` and ``@all`` are mentions.

        ``content`` instead of ``text`` for other types (a ``post`` also takes plain ``text``). ``at_ms``
        dates the message. With ``wait`` it returns when every push is acknowledged, given up, or waits for a
        connection; raises TimeoutError when that takes longer than ``timeout`` seconds.
        """
        stored, mentions = compose.typed_content(msg_type, text, content, chat.members, self._world)
        draft = Draft(sender, msg_type, stored, mentions, reply_to, in_thread, at_ms=at_ms)
        message = self._platform.post(chat, draft)
        if wait:
            await self.settled(message.pushes, timeout)
        return message

    async def send_file(self, chat: Chat, sender: Member, data: bytes, name: str, **options: Any) -> Message:
        """Somebody sends a file: as a picture, when its name is that of one. Options as in ``say``."""
        key = self.add_file(data, name)
        if compose.is_picture(name):
            return await self.say(chat, sender, msg_type="image", content={"image_key": key}, **options)
        return await self.say(chat, sender, msg_type="file", content={"file_key": key, "file_name": name}, **options)

    async def forward(
        self, chat: Chat, sender: Member, messages: Sequence[Message], *, wait: bool = True, timeout: float = PATIENCE
    ) -> Message:
        """Somebody forwards messages as one bundle. Its event and the history have a stub; ``GET`` of the bundle
        gives the messages.
        """
        message = self._platform.post(chat, Draft(sender, "merge_forward", {}, forwarded=tuple(messages)))
        if wait:
            await self.settled(message.pushes, timeout)
        return message

    async def say_private(self, person: Person, app: App, text: str = "", **options: Any) -> Message:
        """A person writes to a bot alone. Options as in ``say``."""
        return await self.say(self.private_chat(person, app), person, text, **options)

    async def edit(self, message: Message, text: str) -> None:
        """The sender edits a text or post. No bot is told; the history shows it."""
        chat = message.chat
        content, mentions = compose.typed_content(message.msg_type, text, None, chat.members, self._world)
        self._platform.edit(message, content, mentions)

    async def recall(self, message: Message, *, wait: bool = True, timeout: float = PATIENCE) -> list[Push]:
        """The sender recalls a message."""
        pushes = self._platform.recall(message)
        if wait:
            await self.settled(pushes, timeout)
        return pushes

    async def react(self, message: Message, member: Member, emoji: str = "THUMBSUP") -> Reaction:
        """Somebody puts an emoji on a message."""
        return self._platform.react(message, member, emoji)

    async def press(
        self,
        message: Message,
        person: Person,
        value: dict[str, Any] | None = None,
        *,
        tag: str = "button",
        form_value: dict[str, Any] | None = None,
        timeout: float = PATIENCE,
    ) -> Push:
        """A person presses something on a card; ``push.response`` is what the app answered.

        A card in the answer takes the place of the pressed one.

        Raises ValueError when the app has not subscribed to ``card.action.trigger``.
        """
        action: dict[str, Any] = {"value": value or {}, "tag": tag}
        if form_value is not None:
            action["form_value"] = form_value
        push = self._platform.press(message, person, action)
        if push is None:
            raise ValueError(f"{message.sender!r} is not subscribed to card.action.trigger")
        await self.settled([push], timeout)
        self._platform.show_answer(message, push)
        return push

    # -- what happened ---------------------------------------------------------------------------------------

    @property
    def calls(self) -> list[Call]:
        """Every REST request, in order."""
        return self._rest.calls

    def calls_to(self, route: str, app: App | None = None) -> list[Call]:
        """The requests to ``METHOD /path``; ``*`` stands for anything."""
        return [call for call in self._rest.calls if call.is_to(route) and app in (None, call.app)]

    @property
    def pushes(self) -> list[Push]:
        """Every event pushed or waiting to be, in order."""
        return self._delivery.pushes

    def messages(self, chat: Chat, sender: Member | None = None) -> list[Message]:
        """The messages of a chat, recalled ones too, in order."""
        return [message for message in chat.messages if sender in (None, message.sender)]

    def message(self, message_id: str) -> Message:
        """A message by its id. Raises KeyError."""
        return self._world.messages[message_id]

    def listen(self, listener: Callable[[Notice], None]) -> Callable[[], None]:
        """Call ``listener`` for whatever happens (see ``Notice``); returns the function that ends it."""
        return self._changes.listen(listener)

    async def wait_for(self, predicate: Callable[[], _T], timeout: float = PATIENCE, what: str = "") -> _T:
        """The first true value of ``predicate()``. Raises TimeoutError after ``timeout`` seconds."""
        return await self._changes.wait_for(predicate, timeout, what)

    async def wait_for_message(
        self, chat: Chat, sender: Member, containing: str = "", *, timeout: float = PATIENCE, after: int = 0
    ) -> Message:
        """The first finished message of a sender that holds a text, beyond the first ``after`` of the chat.

        Finished: a streamed card is only returned once its streaming mode is off.
        """

        def found() -> Message | None:
            for message in chat.messages[after:]:
                if message.sender is sender and message.finished and containing in message.text:
                    return message
            return None

        message = await self.wait_for(found, timeout, f"a message of {sender.name} with {containing!r}")
        assert message is not None
        return message

    async def wait_connected(self, *apps: App, timeout: float = PATIENCE) -> None:
        """Until each of the apps has an open long connection."""
        await self.wait_for(lambda: all(app.connected for app in apps), timeout, f"connections of {apps}")

    async def settled(self, pushes: Sequence[Push] | None = None, timeout: float = PATIENCE) -> None:
        """Until nothing more happens by itself with these pushes (None = all)."""
        chosen = self.pushes if pushes is None else pushes
        await self.wait_for(lambda: all(push.settled for push in chosen), timeout, "acknowledgements")

    # -- trouble ---------------------------------------------------------------------------------------------

    def fail(
        self,
        route: str,
        *,
        code: int | None = None,
        status: int | None = None,
        msg: str = "",
        headers: dict[str, str] | None = None,
        delay: float = 0.0,
        after: bool = False,
        drop: bool = False,
        times: int | None = 1,
        app: App | None = None,
    ) -> Fault:
        """Let the next ``times`` calls (None = all) to ``METHOD /path`` fail; see ``Fault`` for what each
        option does.

        The path is a pattern such as ``/open-apis/im/v1/messages/{message_id}/reply``, a real path, or has
        ``*``.
        """
        fault = Fault(route, code, status, msg, headers or {}, delay, after, drop, times, app)
        return self._rest.faults.add(fault)

    def limit_rate(self, route: str, *, reset: float = 1.0, times: int | None = 1, limit: int = 50) -> Fault:
        """HTTP 429 with 99991400 and ``x-ogw-ratelimit-reset`` seconds."""
        return self.fail(route, code=99991400, status=429, headers=rate_limit_headers(limit, reset), times=times)

    def clear_faults(self) -> None:
        """End all faults."""
        self._rest.faults.clear()

    @property
    def quota(self) -> int | None:
        """API calls left this month, all apps together; None = not counted. At 0: HTTP 429 with 99991403."""
        return self._rest.quota

    @quota.setter
    def quota(self, left: int | None) -> None:
        self._rest.quota = left

    def expire_tokens(self, app: App | None = None) -> None:
        """Make access tokens invalid: the next call with one gets 99991663."""
        self._tokens.expire(app)

    @property
    def client_config(self) -> ClientConfig:
        """What clients are told at connect and in each pong; may be changed."""
        return self._gate.config

    def refuse_handshakes(
        self,
        status: int,
        message: str,
        *,
        auth_code: int | None = None,
        app: App | None = None,
        times: int = 1,
    ) -> None:
        """Let WebSocket handshakes fail with these ``Handshake-*`` headers, e.g. 514 with 1000040350."""
        self._gate.refusals.append(Refusal(status, message, auth_code, app, times))

    async def drop_connections(self, app: App | None = None, *, abrupt: bool = True) -> list[Connection]:
        """End the long connections of an app (None = all) and wait until they are gone; clients come back."""
        gone = [one for owner in self.apps if app in (None, owner) for one in owner.connections]
        await self._gate.drop(gone, abrupt=abrupt)
        await self.wait_for(lambda: not any(one in one.app.connections for one in gone), PATIENCE, "connections to end")
        return gone

    async def push_again(
        self, message: Message, app: App | None = None, *, wait: bool = True, timeout: float = PATIENCE
    ) -> list[Push]:
        """Push a message's event a second time (to one app or to all that got it) under a new event id."""
        told = [app] if app else list(dict.fromkeys(push.app for push in message.pushes))
        pushes = self._platform.push_again(message, told)
        if wait:
            await self.settled(pushes, timeout)
        return pushes
