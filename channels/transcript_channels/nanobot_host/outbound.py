"""What goes out: the bot's own messages are written down once the platform confirmed them, and only then."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final, Literal, cast

from nanobot_transcript.conversation.arrivals import Arrivals
from nanobot_transcript.conversation.composition import Conversation
from nanobot_transcript.conversation.delivery import Recorder
from nanobot_transcript.conversation.ports import OutboundMessage, SentMessage
from nanobot_transcript.errors import StoreError
from nanobot_transcript.identity import AgentProfile, is_bot
from nanobot_transcript.turns.speakers import hop_of
from transcript_channels.feishu import text_of
from transcript_channels.feishu.platform import FEISHU
from transcript_channels.nanobot_host.deliveries import Delivery, Outgoing

__all__ = ["Outbound", "Streams"]

Answered = Callable[[str, str, str | None, str, str], None]
"""Called with app id, chat id, the message that is being answered, the answer's id, and its text."""
HopOf = Callable[[str, str | None], int | None]
"""By app id and the message that is being answered: the hop that was counted for the answer, if it was."""

logger = logging.getLogger(__name__)

_OPEN_STREAMS: Final = 256
_WORDS: Final = frozenset({"text", "post", "interactive"})


class Outbound:
    """Records what a bot of this process said in a group. Never raises: the message is out."""

    def __init__(
        self,
        conversation: Conversation,
        arrivals: Arrivals,
        answered: Answered,
        hop_of: HopOf = lambda app_id, trigger: None,
    ) -> None:
        self._conversation: Conversation = conversation
        self._arrivals: Arrivals = arrivals
        self._answered: Answered = answered
        self._hop_of: HopOf = hop_of
        self.recorder: Recorder = Recorder(conversation.store)

    def concerns(self, chat_id: str) -> bool:
        """True when messages to this address are recorded."""
        return self._conversation.records(FEISHU.key(chat_id))

    async def plain(self, outgoing: Outgoing, app_id: str, *, complete: bool) -> None:
        """A message that was sent as a whole; of one that failed half-way, the parts that arrived."""
        parts = outgoing.delivered
        attached = [part for part in parts if part.msg_type not in _WORDS]
        said = [outgoing.text] if complete else [_text(part) for part in parts if part.msg_type in _WORDS]
        text = "\n".join(piece for piece in (*said, *map(_text, attached)) if piece.strip())
        await self._record(outgoing, text, app_id, "send")

    async def streamed(self, outgoing: Outgoing, app_id: str, *, complete: bool) -> None:
        """A message that was streamed into a card; of one that broke off, what the card showed last."""
        await self._record(outgoing, outgoing.text if complete else outgoing.shown, app_id, "stream")

    async def _record(self, outgoing: Outgoing, text: str, app_id: str, source: Literal["send", "stream"]) -> None:
        if not outgoing.delivered or not text.strip():
            return
        try:
            chat_id = await self._chat_of(outgoing)
            if chat_id is not None:
                await self._said(chat_id, outgoing, text, app_id, source)
        except Exception:
            logger.exception("An answer was delivered but could not be recorded")

    async def _chat_of(self, outgoing: Outgoing) -> str | None:
        """The chat in which the platform says the message stands; None when it must not be recorded."""
        actual = outgoing.delivered[0].chat_id
        if actual == outgoing.chat_id:
            return actual
        if self.concerns(actual) and (self._arrivals.has_heard(FEISHU.key(actual)) or await self._holds(actual)):
            return actual
        logger.warning("A message to %s was delivered to another chat and is not recorded", outgoing.chat_id)
        return None

    async def _holds(self, chat_id: str) -> bool:
        return bool((await self._conversation.store.recent(FEISHU.key(chat_id), 1)).entries)

    async def _said(
        self, chat_id: str, outgoing: Outgoing, text: str, app_id: str, source: Literal["send", "stream"]
    ) -> None:
        look, key, first = self._conversation.people.look(), FEISHU.key(chat_id), outgoing.delivered[0]
        sent = SentMessage(
            first.message_id,
            cast("Any", first.create_time),  # the store reads what the platform wrote
            first.thread_id,
            tuple(part.message_id for part in outgoing.delivered),
            first.root_id,
            first.msg_type,
            {"app_id": app_id},
        )
        message = OutboundMessage(key, text, reply_to=outgoing.trigger)

        async def recorded() -> None:
            self._answered(app_id, chat_id, outgoing.trigger, first.message_id, text)
            with suppress(StoreError):  # the entry tells it, too
                await asyncio.to_thread(self._conversation.people.sits, key, app_id)

        agent, hop_of = AgentProfile(look.agent_name(app_id)), partial(self._hop, key, outgoing.trigger, app_id)
        await self.recorder.said(agent, message, sent, source, hop_of=hop_of, recorded=recorded)

    async def _hop(self, key: str, trigger: str | None, app_id: str) -> int | None:
        """How many bot turns in a row an answer makes; None for what answers nothing."""
        counted = self._hop_of(app_id, trigger)
        if counted is not None or trigger is None:
            return counted
        answered = await self._conversation.store.get(key, trigger)
        return 1 + (hop_of(answered) if answered is not None and is_bot(answered) else 0)


class Streams:
    """The streamed messages of one channel that are not finished yet, by nanobot's own key."""

    def __init__(self) -> None:
        self._open: OrderedDict[str, Outgoing] = OrderedDict()

    def get(self, key: str, chat_id: str, trigger: str | None) -> Outgoing:
        """The message that is being streamed under this key."""
        if key not in self._open:
            self._open[key] = Outgoing(chat_id, trigger=trigger)
        return self._open[key]

    def end(self, key: str) -> None:
        """The message is finished."""
        self._open.pop(key, None)

    def abandoned(self) -> list[Outgoing]:
        """The oldest ones when there are too many: nanobot never ended them."""
        surplus: list[Outgoing] = []
        while len(self._open) > _OPEN_STREAMS:
            surplus.append(self._open.popitem(last=False)[1])
        return surplus


def _text(part: Delivery) -> str:
    return text_of(part.msg_type, part.content)
