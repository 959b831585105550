"""What comes in: written down first, offered to whoever waits for it, and only then handed to the agent."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from nanobot_transcript.conversation.arrivals import Arrivals
from nanobot_transcript.conversation.ports import CardAction, InboundMessage, Recalled
from nanobot_transcript.coordination.doors import ask
from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import StoreError
from nanobot_transcript.identity import is_bot
from nanobot_transcript.runner.bus import MessageBus
from nanobot_transcript.session_key import split
from nanobot_transcript.store.async_front import AsyncGroupTranscriptStore

__all__ = ["Intake", "ModeOf", "OfferAction", "OfferReply"]

logger = logging.getLogger(__name__)

OfferReply = Callable[[str, Entry], Awaitable[bool]]
"""Asked about a message before a turn starts: True when it answers a post of the outbox and is no turn."""
OfferAction = Callable[[CardAction], Awaitable[Mapping[str, Any] | None]]
"""Asked about a pressed button; the platform's answer to show, if there is one."""
ModeOf = Callable[[str], str]
"""By chat id: ``off`` (neither recorded nor answered), ``observe`` (only recorded), anything else: answered, too."""


class Intake:
    """``publish`` for the channel of one agent. ``forget`` is told of recalled messages; ``relayed`` says that a relay
    brings what other bots say.
    """

    def __init__(
        self,
        bus: MessageBus,
        transcript_store: AsyncGroupTranscriptStore | None = None,
        *,
        forget: Callable[[str, str], None] = lambda key, message_id: None,
        offer_reply: OfferReply | None = None,
        offer_action: OfferAction | None = None,
        mode_of: ModeOf = lambda chat_id: "",
        relayed: bool = False,
    ) -> None:
        self._bus: MessageBus = bus
        self._store: AsyncGroupTranscriptStore | None = transcript_store
        self._loop: asyncio.AbstractEventLoop | None = None
        store = transcript_store.sync if transcript_store is not None else None
        self._arrivals: Arrivals = Arrivals(store, first_heard=self._first_heard)
        self._forget: Callable[[str, str], None] = forget
        self._offer_reply: OfferReply | None = offer_reply
        self._offer_action: OfferAction | None = offer_action
        self._mode_of: ModeOf = mode_of
        self._relayed: bool = relayed

    async def publish(self, event: InboundMessage | Recalled | CardAction) -> Mapping[str, Any] | None:
        """See ``Publish``."""
        self._loop = asyncio.get_running_loop()
        mode = self._mode(event)
        if isinstance(event, Recalled):
            await self._recalled(event, mode)
        elif mode == "off":
            return None
        elif isinstance(event, CardAction):
            return await self._offer_action(event) if self._offer_action is not None else None
        else:
            await self._message(event, mode)
        return None

    def _mode(self, event: InboundMessage | Recalled | CardAction) -> str:
        if not isinstance(event, CardAction) and event.private:
            return ""
        return self._mode_of(split(event.session_key)[1])

    async def _message(self, message: InboundMessage, mode: str) -> None:
        """Whatever happens to the record, the agent gets the message."""
        failure = await self._recorded(message)
        try:
            answers_a_post = await self._offered(message)
        except StoreError as error:
            logger.error("Whether %s answers a post is not known: %s %s", message.message_id, error, error.hint)
            failure, answers_a_post = error, False
        if message.complete and not answers_a_post and mode != "observe" and self._is_for_the_agent(message):
            self._hand_on(message)
        if failure is not None:
            raise failure

    def _is_for_the_agent(self, message: InboundMessage) -> bool:
        """What bots say comes by the relay, where there is one, whether the platform tells of it or not."""
        return message.relayed or message.private or not self._relayed or not is_bot(message.entry)

    async def _offered(self, message: InboundMessage) -> bool:
        if message.private or self._offer_reply is None:
            return False
        return await self._offer_reply(message.session_key, message.entry)

    async def _recorded(self, message: InboundMessage) -> Exception | None:
        return await ask(self._is_far, self._arrivals.record, message)

    @property
    def _is_far(self) -> bool:
        """True when the record may have to be waited for, as over a network."""
        return self._store is not None and self._store.sync.backend.blocking

    def _first_heard(self, session_key: str, since_ms: float | None) -> None:
        """In whatever thread records."""
        if self._store is not None and self._loop is not None:
            self._loop.call_soon_threadsafe(self._store.missed, session_key, since_ms)

    def _hand_on(self, message: InboundMessage) -> None:
        if not self._bus.publish_inbound(message):
            logger.warning("Too many messages wait, %s is recorded and not answered", message.message_id)

    async def _recalled(self, recalled: Recalled, mode: str) -> None:
        """What was recorded before a chat was switched off goes, too."""
        key, message_id = recalled.session_key, recalled.message_id
        self._forget(key, message_id)
        if self._store is None or recalled.private:
            return
        if mode != "off" or await self._store.get(key, message_id) is not None:
            failure = await ask(self._is_far, self._arrivals.recall, recalled)
            if failure is not None:
                raise failure
