"""Our subclass of nanobot's Feishu channel, in parts: one mixin per ability, for whatever class nanobot has."""

import dataclasses
import logging
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from transcript_channels.feishu import Message
from transcript_channels.feishu.events import CHANGES
from transcript_channels.feishu.fields import part, string
from transcript_channels.feishu.platform import FEISHU
from transcript_channels.nanobot_host.bot import Bot
from transcript_channels.nanobot_host.gatekeeper import PossibleTurn
from transcript_channels.nanobot_host.host import Host
from transcript_channels.nanobot_host.inbound import Heard, heard_in, plain
from transcript_channels.nanobot_host.outbound import Deliveries, Outgoing, Streams, WatchedId

if TYPE_CHECKING:
    from transcript_channels.nanobot_host.nanobot_channel import NanobotChannel
else:
    NanobotChannel = object

__all__ = ["Actions", "Core", "Gated", "Hearing", "Introducing", "Recalling", "Saying", "Streaming"]

logger = logging.getLogger(__name__)

_SEATS: Final = {
    "register_p2_im_chat_member_bot_added_v1": True,
    "register_p2_im_chat_member_bot_deleted_v1": False,
}
"""Events of a bot that was added to a group (True) or removed from it."""
_PRESSED: Final = "register_p2_card_action_trigger"
_CHANGES: Final = {f"register_p2_{kind.replace('.', '_')}": kind for kind in CHANGES}
"""Events about earlier messages, by the name of what registers them in the SDK."""

_ASIDE: Final[ContextVar[bool]] = ContextVar("transcript_aside", default=False)
"""True while nanobot writes something other than the agent's own text, such as a tool hint, into an open card."""
_ADMITTED: Final[ContextVar[str]] = ContextVar("transcript_admitted", default="")
"""The id of the message that the gate has admitted: nanobot's own group policy is not asked about it."""


class Core(NanobotChannel):
    """Registers the channel with the host, and checks and notes what it sends."""

    _transcript_host: Host
    _transcript_bot: Bot

    def __init__(self, *args: Any, **options: Any) -> None:
        self._transcript_platform_name = ""
        self._transcript_deliveries = Deliveries(self._transcript_learn)
        self._transcript_streams = Streams()
        super().__init__(*args, **options)
        self._transcript_bot = self._transcript_host.register(self)

    def _transcript_learn(self, bot: dict[str, Any]) -> None:
        self._transcript_platform_name = str(bot.get("app_name") or "").strip()

    async def _transcript_objects(self, outgoing: Outgoing) -> bool:
        """True when an answer must not go out any more: another bot gives it, or the loop guard stops it."""
        objection = await self._transcript_bot.answers.objection(outgoing.trigger)
        if objection is not None:
            outgoing.refused = True
            logger.info("An answer to %s is not sent: %s", outgoing.trigger, objection.sentence)
            bot, key = self._transcript_bot, FEISHU.key(outgoing.chat_id)
            self._transcript_host.outcomes.withheld(bot.app_id, key, outgoing.trigger, objection)
        return outgoing.refused

    def _transcript_sent(self, outgoing: Outgoing, *, complete: bool, streamed: bool = False) -> None:
        """Note an answer that did not arrive, and nanobot's message about a failed turn, which is never streamed."""
        outcomes, app_id = self._transcript_host.outcomes, self._transcript_bot.app_id
        key = FEISHU.key(outgoing.chat_id)
        if not outgoing.text.strip():
            return
        if not complete or not outgoing.delivered:
            outcomes.unsent(app_id, key, outgoing.trigger, partly=bool(outgoing.delivered))
        elif not streamed:
            outcomes.told(app_id, key, outgoing.trigger, outgoing.text)


class Hearing(Core):
    """Records messages in the thread of the long connection, before nanobot sees them."""

    def _on_message_sync(self, data: Any) -> None:
        inbound, bot = self._transcript_host.inbound, self._transcript_bot
        message = inbound.parse(data)
        if message is None:
            return super()._on_message_sync(data)
        self._transcript_expect(message, data)
        heard = inbound.take(message, bot.app_id, data)
        if heard.deliver:
            super()._on_message_sync(data)
        if heard.answers:
            bot.turns.settle(message.message_id)
        if heard.failure is not None:
            raise heard.failure  # the SDK answers 500, and the platform pushes again
        return None

    async def _on_message(self, data: Any) -> None:
        try:
            await super()._on_message(data)
        finally:
            self._transcript_bot.turns.settle(_message_id(data))

    async def _handle_message(self, *args: Any, **options: Any) -> None:
        metadata, session_key = options.get("metadata"), options.get("session_key")
        message_id = metadata.get("message_id") if isinstance(metadata, dict) else None
        if isinstance(message_id, str) and isinstance(session_key, str):
            self._transcript_bot.turns.confirm(message_id, session_key)
            await self._transcript_host.forgetting.before_turn(session_key)
        await super()._handle_message(*args, **options)

    def _transcript_expect(self, message: Message, data: Any) -> None:
        """Before the message is in the record, note whose turn it will be; see ``Turns``."""
        if not message.in_group or message.from_bot:
            return
        try:
            gated = isinstance(self, Gated) and self._transcript_host.conversation.policy.gates(message.chat_id)
            if gated or self._is_group_message_for_bot(data.event.message):
                key = f"{self.name}:{message.chat_id}"
                topic = f":{message.root_id or message.message_id}" if self.config.topic_isolation else ""
                self._transcript_bot.turns.expect(message.message_id, key + topic)
        except Exception:
            logger.exception("Could not tell whether a message is for this bot")


class Recalling(Core):
    """What becomes of an earlier message is recorded, such as that it was taken back."""

    _transcript_builder: Any = None
    _transcript_also: Any = None

    def _register_optional_event(self, builder: Any, method_name: str, handler: Any) -> Any:
        # The SDK keeps one handler per event. A nanobot that registers one itself gets it called by ours.
        if self._transcript_builder is not builder:  # the first event of a new builder: register ours as well
            self._transcript_builder, self._transcript_also = builder, {}
            for each in _CHANGES:
                builder = super()._register_optional_event(builder, each, partial(self._transcript_changed, each))
        if method_name in _CHANGES:
            self._transcript_also[method_name] = handler
            return builder
        return super()._register_optional_event(builder, method_name, handler)

    def _transcript_changed(self, method_name: str, data: Any) -> None:
        if method_name in self._transcript_also:
            self._transcript_also[method_name](data)
        self._transcript_host.inbound.apply(_CHANGES[method_name], data)


class Actions(Core):
    """Hands pressed buttons to whoever posted the card."""

    _transcript_pressing: Any = None
    _transcript_also_pressed: Any = None

    def _register_optional_event(self, builder: Any, method_name: str, handler: Any) -> Any:
        if method_name == _PRESSED:  # as in `Recalling`; nanobot's handler gives the answer
            self._transcript_also_pressed = handler
        if self._transcript_pressing is not builder:
            self._transcript_pressing = builder
            builder = super()._register_optional_event(builder, _PRESSED, self._transcript_pressed)
        if method_name == _PRESSED:
            return builder
        return super()._register_optional_event(builder, method_name, handler)

    def _transcript_pressed(self, data: Any) -> Any:
        try:
            self._transcript_keep_pressed(plain(data))
        except Exception:
            logger.exception("A pressed button could not be recorded; the platform tells the person to try again")
            raise
        return self._transcript_also_pressed(data) if self._transcript_also_pressed is not None else None

    def _transcript_keep_pressed(self, event: Mapping[str, Any]) -> None:
        from transcript_channels.feishu.channel import action_from_event

        posts = self._transcript_host.posts
        if posts is not None:
            posts.pressed(action_from_event(event))


class Listening(Core):
    """Listens to the platform's answers to nanobot's client."""

    @property
    def _client(self) -> Any:
        return self.__dict__.get("_transcript_client")

    @_client.setter
    def _client(self, client: Any) -> None:
        if client is not None:
            self._transcript_deliveries.listen(client)
        self.__dict__["_transcript_client"] = client


class Introducing(Listening):
    """Adds the bot to the members under the platform's name for it, and holds back group messages until then."""

    async def _on_message(self, data: Any) -> None:
        """Wait for the bot's own id: nanobot connects before it has it, and until then takes every mention for one of
        its bot.
        """
        heard = heard_in(data)
        if heard is not None and heard.message.in_group and not self._bot_open_id:
            await self._transcript_bot.known.wait()
        await super()._on_message(data)

    def _register_optional_event(self, builder: Any, method_name: str, handler: Any) -> Any:
        """Wrap nanobot's handlers of these events, which do nothing."""
        if method_name in _SEATS:
            handler = partial(self._transcript_moved, handler, joined=_SEATS[method_name])
        return super()._register_optional_event(builder, method_name, handler)

    def _transcript_moved(self, also: Any, data: Any, *, joined: bool) -> None:
        chat_id = string(part(plain(data), "event"), "chat_id")
        if chat_id:
            self._transcript_host.moved(self._transcript_bot, chat_id, joined=joined)
        also(data)

    def _fetch_bot_open_id(self) -> str | None:
        open_id = super()._fetch_bot_open_id()
        self._bot_open_id = open_id  # nanobot sets it later, but messages that wait for it are released now
        self._transcript_introduce(open_id)
        if not open_id:
            host, here = self._transcript_host, weakref.ref(self)
            host.asking.again(self._transcript_bot.app_id, lambda: _is_introduced(here()))
        return open_id

    def _transcript_introduce(self, open_id: str | None) -> None:
        try:
            self._transcript_host.conversation.people.introduce(
                self._transcript_bot.app_id,
                platform_name=self._transcript_platform_name,
                open_id=open_id or "",
            )
            if open_id:
                self._transcript_host.introduced(self._transcript_bot)
        except Exception:
            logger.exception("The bot could not be added to the members")

    def _transcript_ask_again(self) -> bool:
        """Ask for the bot's open id, as nanobot does once, at the start. True when nobody needs to ask again."""
        if not getattr(self, "_running", True) or getattr(self, "_bot_open_id", None):
            return True
        open_id = super()._fetch_bot_open_id()
        if open_id:
            self._bot_open_id = open_id
            self._transcript_introduce(open_id)
        return bool(open_id)


class Saying(Listening):
    """Records messages that the agent sends as a whole."""

    async def send(self, msg: Any) -> None:
        outbound = self._transcript_host.outbound
        if getattr(msg, "event", None) is not None:
            with _aside():
                return await super().send(msg)
        if not outbound.concerns(msg.chat_id):
            return await super().send(msg)
        outgoing = Outgoing(msg.chat_id, msg.content or "", _trigger(msg.metadata))
        if await self._transcript_objects(outgoing):
            return None
        complete = False
        try:
            await super().send(_addressed(msg, outgoing))
            complete = True
        finally:
            self._transcript_sent(outgoing, complete=complete)
            await outbound.plain(outgoing, self._transcript_bot.app_id, complete=complete)
        return None


class Streaming(Core):
    """Records messages that are streamed into a card; nanobot does not call ``send`` for them."""

    async def send_delta(
        self, chat_id: str, delta: str, metadata: dict[str, Any] | None = None, **options: Any
    ) -> None:
        outbound, streams = self._transcript_host.outbound, self._transcript_streams
        if not outbound.concerns(chat_id):
            return await super().send_delta(chat_id, delta, metadata, **options)
        key = self._stream_key(chat_id, metadata)
        outgoing = streams.get(key, chat_id, _trigger(metadata))
        if outgoing.refused or (delta and not outgoing.text and await self._transcript_objects(outgoing)):
            if options.get("stream_end") and not options.get("merge_next"):
                streams.end(key)
            return None
        ending = bool(options.get("stream_end")) and not options.get("merge_next")
        updates, parts = outgoing.updates, len(outgoing.delivered)
        if not ending and not _ASIDE.get():
            outgoing.text += delta or ""
        address = WatchedId(chat_id, outgoing)
        await super().send_delta(address, delta, _addressed_metadata(metadata, outgoing), **options)
        if ending:
            streams.end(key)
            complete = outgoing.updates > updates or len(outgoing.delivered) > parts
            self._transcript_sent(outgoing, complete=complete, streamed=True)
            await outbound.streamed(outgoing, self._transcript_bot.app_id, complete=complete)
        for abandoned in streams.abandoned():
            await outbound.streamed(abandoned, self._transcript_bot.app_id, complete=False)
        return None


class Gated(Core):
    """Drops messages that are not for this bot before nanobot reacts, downloads anything or asks its model."""

    async def _on_message(self, data: Any) -> None:
        try:
            heard = self._transcript_gated(data)
        except Exception:
            logger.exception("Could not decide whether a message is for this bot")
            heard = None
        if heard is None or heard.inbound is None:
            return await super()._on_message(data)
        host, bot = self._transcript_host, self._transcript_bot
        message, inbound = heard.message, heard.inbound
        begin = partial(self._transcript_begin, data, message)
        turn = PossibleTurn(bot, inbound.session_key, inbound.entry, begin, recorded=inbound.recorded)
        try:
            await host.gatekeeper.admit(turn)
        finally:
            bot.turns.settle(message.message_id)
        return None

    def _is_group_message_for_bot(self, message: Any) -> bool:
        if _ADMITTED.get() == getattr(message, "message_id", None):
            return True
        return super()._is_group_message_for_bot(message)

    async def _transcript_begin(self, data: Any, message: Message, admitted: bool) -> None:
        token = _ADMITTED.set(message.message_id if admitted else "")
        try:
            await super()._on_message(data)
        finally:
            _ADMITTED.reset(token)

    def _transcript_gated(self, data: Any) -> Heard | None:
        """The event, if the gate decides about it; None for what nanobot drops or handles by itself."""
        heard = heard_in(data)
        if heard is None or not heard.message.in_group or heard.message.from_bot:
            return None
        if not self._transcript_host.conversation.policy.gates(heard.message.chat_id):
            return None
        return heard if self.is_allowed(heard.message.sender_ids.get("open_id", "unknown")) else None


@contextmanager
def _aside() -> Iterator[None]:
    token = _ASIDE.set(True)
    try:
        yield
    finally:
        _ASIDE.reset(token)


def _is_introduced(channel: "Introducing | None") -> bool:
    return channel is None or channel._transcript_ask_again()


def _trigger(metadata: Any) -> str | None:
    """The message that is being answered."""
    message_id = metadata.get("message_id") if isinstance(metadata, dict) else None
    return message_id if isinstance(message_id, str) else None


def _addressed(msg: Any, outgoing: Outgoing) -> Any:
    metadata = _addressed_metadata(msg.metadata, outgoing)
    return dataclasses.replace(msg, chat_id=WatchedId(msg.chat_id, outgoing), metadata=metadata)


def _addressed_metadata(metadata: dict[str, Any] | None, outgoing: Outgoing) -> dict[str, Any] | None:
    message_id = _trigger(metadata)
    if metadata is None or message_id is None:
        return metadata
    return {**metadata, "message_id": WatchedId(message_id, outgoing)}


def _message_id(data: Any) -> str:
    message = getattr(getattr(data, "event", None), "message", None)
    return str(getattr(message, "message_id", "") or "")
