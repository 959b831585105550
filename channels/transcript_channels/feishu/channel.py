"""The runner's channel for Feishu: a bot that hears over a long connection or a webhook and answers over the open API.

While it works on an answer, a reaction says so.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any, Final, Protocol, cast

from nanobot_transcript.conversation.arrivals import entry_of
from nanobot_transcript.conversation.lists import Lists
from nanobot_transcript.conversation.people import People
from nanobot_transcript.conversation.ports import (
    Arrival,
    CardAction,
    InboundMessage,
    LiveMessage,
    OutboundMessage,
    Publish,
    Read,
    SentMessage,
)
from nanobot_transcript.errors import NoAnswerError, PlatformError, RateLimitedError, TranscriptError
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.session_key import split
from transcript_channels.feishu.bodies import At, Mentionable
from transcript_channels.feishu.client import BotInfo, FeishuClient
from transcript_channels.feishu.content import text_of
from transcript_channels.feishu.events import CHANGES, message_from_event
from transcript_channels.feishu.fields import ids_of, part, string
from transcript_channels.feishu.forwarded_messages import Bundles
from transcript_channels.feishu.groups import FeishuGroups
from transcript_channels.feishu.platform import FEISHU
from transcript_channels.feishu.reactions import Reactions
from transcript_channels.feishu.sender import CardStream, FeishuSender, Sent

__all__ = ["Connection", "FeishuChannel", "Listen", "action_from_event"]

logger = logging.getLogger(__name__)

_ACK: Final = 2.5  # seconds; the platform pushes again after three
_CONNECT: Final = 60.0
_PAUSES: Final = (1.0, 2.0, 5.0, 10.0, 30.0)


class Connection(Protocol):
    """Brings events, such as ``LongConnection``."""

    failure: TranscriptError | None

    def start(self) -> None:
        """Begin to connect; returns at once."""
        ...

    async def aclose(self) -> bool:
        """Disconnect."""
        ...


Listen = Callable[[Callable[[dict[str, Any]], Any], Callable[[str], None]], Connection]
"""Makes the connection from ``on_event`` and ``on_state``, both called in a thread of its own."""


class FeishuChannel:
    """One bot in Feishu. ``client`` is closed with it.

    ``listen`` makes the connection that brings events; None: whoever receives them, such as a webhook, calls
    ``handle``. ``read`` turns a message into what is published, as ``Reader.read`` does. ``lists`` and ``bundles`` are
    shared by all bots of this process; without ``bundles`` nobody asks what is inside them. ``on_gap`` is called with
    the session key of a chat in which messages may have been missed.
    """

    def __init__(
        self,
        agent: AgentProfile,
        client: FeishuClient,
        people: People,
        *,
        read: Read | None = None,
        lists: Lists | None = None,
        bundles: Bundles | None = None,
        listen: Listen | None = None,
        on_gap: Callable[[str], None] | None = None,
    ) -> None:
        self.agent: AgentProfile = agent
        self._client: FeishuClient = client
        self._people: People = people
        self._read: Read = read or self._read_plainly
        self._sender: FeishuSender = FeishuSender(client)
        self._mentionable: Mentionable = Mentionable(client.app_id, people.members)
        self._lists: Lists = lists or Lists(people)
        self._lists.attend(client.app_id, FeishuGroups(client))
        self._bundles: Bundles | None = bundles
        self._reactions: Reactions = Reactions(client)
        self._listen: Listen | None = listen
        self._on_gap: Callable[[str], None] | None = on_gap
        self._connection: Connection | None = None
        self._publish: Publish | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._connected: asyncio.Event = asyncio.Event()

    # --- life

    async def start(self, publish: Publish) -> None:
        """See ``Channel``. Waits for a platform that cannot be reached; raises what waiting will not mend."""
        self._loop, self._publish = asyncio.get_running_loop(), publish
        info = await self._bot_info()
        await asyncio.to_thread(
            self._people.introduce, self._client.app_id, platform_name=info.name, open_id=info.open_id
        )
        await self._lists.take_seats(self._client.app_id)
        if self._listen is None:
            return
        self._connection = self._listen(self._on_event, self._on_state)
        self._connection.start()
        while not self._connected.is_set():
            try:
                async with asyncio.timeout(_CONNECT):
                    await self._connected.wait()
            except TimeoutError:
                logger.warning("%s has no long connection yet; still trying", self.agent.name)
        if self._connection.failure is not None:
            raise self._connection.failure

    async def stop(self) -> None:
        """See ``Channel``."""
        if self._connection is not None:
            await self._connection.aclose()
        self._publish = None
        await self._reactions.close()
        await self._lists.close()
        if self._bundles is not None:
            await self._bundles.close(self._client)
        await self._client.close()

    async def _bot_info(self) -> BotInfo:
        """Who the bot is; waits for a platform that cannot be reached. Raises the PlatformError kinds that waiting will
        not mend.
        """
        for pause in chain(_PAUSES, repeat(_PAUSES[-1])):
            try:
                return await self._client.bot_info()
            except (NoAnswerError, RateLimitedError) as error:
                logger.warning("%s tries again in %g s: %s %s", self.agent.name, pause, error, error.hint)
            await asyncio.sleep(pause)
        raise AssertionError("the pauses have no end")

    def sits_in(self, session_key: str) -> bool:
        """See ``Channel``."""
        return split(session_key)[0] == FEISHU.name and self._lists.sits_in(self._client.app_id, session_key)

    # --- in

    async def handle(self, event: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Take one event of the platform; the answer to a callback, if there is one.

        Raises StoreError when a message could not be recorded: the platform should push it again.
        """
        publish = self._publish
        if publish is None:
            raise NoAnswerError("This bot is stopping.", hint="The platform pushes the event again.")
        kind = string(part(event, "header"), "event_type")
        if kind == "im.message.receive_v1":
            await self._on_message(event, publish)
        elif kind in CHANGES:
            if (change := CHANGES[kind](event)) is not None:
                await publish(change)
        elif kind == "card.action.trigger":
            return await publish(action_from_event(event))
        elif kind == "im.chat.member.bot.added_v1":
            self._lists.joined(self._client.app_id, FEISHU.key(string(part(event, "event"), "chat_id")))
        elif kind in ("im.chat.member.bot.deleted_v1", "im.chat.disbanded_v1"):
            self._lists.left(self._client.app_id, FEISHU.key(string(part(event, "event"), "chat_id")))
        return None

    async def _on_message(self, event: Mapping[str, Any], publish: Publish) -> None:
        message = message_from_event(event)
        if message is None:
            return
        arrival = message.arrival(self._client.app_id)
        inbound = self._read(arrival, private=not message.in_group)
        name = inbound.entry.get("sender_name")
        self._mentionable.saw(arrival, name)
        if message.in_group:
            self._lists.joined(self._client.app_id, arrival.session_key)
            nameless = "" if message.from_bot or name else inbound.entry["sender"]
            self._lists.heard(self._client.app_id, arrival.session_key, nameless, message.sender_ids)
        await publish(inbound)
        if message.in_group and self._bundles is not None:
            self._bundles.heard(self._client, arrival.session_key, inbound.entry)

    def _read_plainly(self, arrival: Arrival, *, private: bool = False) -> InboundMessage:
        entry = entry_of(arrival, self._people.look())
        return InboundMessage(arrival.session_key, entry, private=private, complete=arrival.complete)

    def _on_event(self, event: dict[str, Any]) -> Any:
        """In the connection's thread. Raises what ``handle`` raises, and TimeoutError: the platform pushes again."""
        assert self._loop is not None
        handling = asyncio.run_coroutine_threadsafe(cast("Any", self.handle(event)), self._loop)
        return handling.result(_ACK)

    def _on_state(self, state: str) -> None:
        """In the connection's thread."""
        assert self._loop is not None
        if state in ("connected", "reconnected", "failed"):
            self._loop.call_soon_threadsafe(self._connected.set)
        if state == "reconnected":
            self._loop.call_soon_threadsafe(self._tell_of_gaps)

    def _tell_of_gaps(self) -> None:
        for key in self._lists.seats(self._client.app_id) if self._on_gap is not None else ():
            cast("Callable[[str], None]", self._on_gap)(key)

    # --- out

    async def send(self, message: OutboundMessage) -> SentMessage:
        """See ``Channel``. A text becomes a post, and each ``@Name`` of a member in it a mention."""
        _, chat_id = split(message.session_key)
        if message.card is not None:
            card = dict(message.card)
            sent = [await self._sender.card(chat_id, card, **_where(message))]
            return self._confirmed(sent, "interactive", text=message.content or text_of("interactive", card))
        mentions = self._mentionable.named_in(message.content)
        try:
            sent = await self._sender.post(chat_id, message.content, mentions=mentions, **_where(message))
        except PlatformError as error:
            arrived = cast("list[Sent]", error.arrived or [])
            error.arrived = self._confirmed(arrived, "post", text=_shown(arrived, mentions)) if arrived else None
            raise
        return self._confirmed(sent, "post")

    async def revise(self, message_id: str, card: Mapping[str, Any]) -> str:
        """See ``RevisingChannel``."""
        await self._sender.revise(message_id, card)
        return text_of("interactive", dict(card))

    @asynccontextmanager
    async def working(self, message_id: str, reaction: str) -> AsyncIterator[None]:
        """See ``ReactingChannel``."""
        async with self._reactions.working(message_id, reaction):
            yield

    def react(self, message_id: str, reaction: str) -> None:
        """See ``MarkingChannel``."""
        self._reactions.react(message_id, reaction)

    @asynccontextmanager
    async def stream(self, message: OutboundMessage) -> AsyncIterator[LiveMessage]:
        """See ``StreamingChannel``: a card whose text grows."""
        _, chat_id = split(message.session_key)
        card = await self._sender.stream(chat_id, **_where(message))
        live = _LiveCard(card)
        try:
            yield live
            live.sent = self._confirmed(await card.finish(live.text), "interactive")
        except BaseException:
            if not await self._taken_back(card):
                live.sent = self._confirmed(card.sent, "interactive", text=live.text)
            raise

    async def _taken_back(self, card: CardStream[Sent]) -> bool:
        try:
            for sent in card.sent:
                await self._sender.recall(sent.message_id)
        except PlatformError as error:
            logger.warning("An unfinished answer could not be recalled: %s %s", error, error.hint)
            return False
        return True

    def _confirmed(self, sent: list[Sent], msg_type: str, *, text: str | None = None) -> SentMessage:
        first = sent[0]
        return SentMessage(
            first.message_id,
            first.ts_ms,
            first.thread_id,
            tuple(one.message_id for one in sent),
            first.root_id,
            msg_type,
            {"app_id": self._client.app_id},
            text,
        )


def action_from_event(event: Mapping[str, Any]) -> CardAction:
    """The pressed button in a ``card.action.trigger`` event."""
    body = part(event, "event")
    action, context = part(body, "action"), part(body, "context")
    chat_id = string(context, "open_chat_id") or string(body, "open_chat_id")
    return CardAction(
        FEISHU.key(chat_id),
        string(context, "open_message_id") or string(body, "open_message_id"),
        dict(part(action, "value")),
        FEISHU.sender_of(ids_of(part(body, "operator"))),
        form=dict(part(action, "form_value")),
        action_id=string(part(event, "header"), "event_id"),
    )


@dataclass(slots=True)
class _LiveCard:
    card: CardStream[Sent]
    text: str = ""
    sent: SentMessage | None = None

    async def update(self, text: str) -> None:
        """Show the text so far."""
        self.text = text
        await self.card.update(text)


def _shown(parts: Iterable[Sent], mentions: Iterable[At]) -> str:
    """The text of posts that were sent."""
    named = [{"id": at.open_id, "name": at.name} for at in mentions]
    return "\n\n".join(text_of("post", part.content, named) for part in parts)


def _where(message: OutboundMessage) -> dict[str, Any]:
    return {
        "reply_to": message.reply_to,
        "in_thread": message.thread_id is not None,
        "key": message.idempotency_key or None,
    }
