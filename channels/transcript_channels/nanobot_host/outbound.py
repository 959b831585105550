"""Records the bot's own messages, once the platform has confirmed them and only then.

nanobot sends in worker threads and drops most message ids. So each message is sent to a ``WatchedId``: the chat id or
message id as a string that also knows the message. It passes through nanobot and the SDK's request unchanged; when the
SDK's client returns, the answer is noted at the right message, however many are on their way.
"""

import asyncio
import json
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Literal, cast

from nanobot_transcript.conversation.arrivals import Arrivals
from nanobot_transcript.conversation.composition import Conversation
from nanobot_transcript.conversation.delivery import Recorder
from nanobot_transcript.conversation.ports import OutboundMessage, SentMessage
from nanobot_transcript.errors import StoreError
from nanobot_transcript.identity import AgentProfile, is_bot
from nanobot_transcript.turns.addressees import hop_of
from transcript_channels.feishu import text_of
from transcript_channels.feishu.platform import FEISHU

__all__ = ["ConfirmedMessage", "Deliveries", "Outbound", "Outgoing", "Streams", "WatchedId"]

logger = logging.getLogger(__name__)

_OPEN_CARDS: Final = 1024
_OPEN_STREAMS: Final = 256
_WORDS: Final = frozenset({"text", "post", "interactive"})


@dataclass(frozen=True, slots=True)
class ConfirmedMessage:
    """One message the platform confirmed; ``content`` is the JSON that was sent."""

    message_id: str
    chat_id: str
    msg_type: str
    content: str
    create_time: int | float | str | None = None
    root_id: str | None = None
    thread_id: str | None = None


@dataclass(slots=True, eq=False)
class Outgoing:
    """One message of the agent on its way: its text so far, and the parts that arrived. ``trigger`` is the message that
    it answers.

    A streamed message is a card whose content is replaced again and again; ``shown`` is what was confirmed last, after
    ``updates`` replacements. ``refused``: it must not go out.
    """

    chat_id: str
    text: str = ""
    trigger: str | None = None
    delivered: list[ConfirmedMessage] = field(default_factory=list)
    shown: str = ""
    updates: int = 0
    refused: bool = False


class WatchedId(str):
    """An id that knows what is being sent to it. Copied or pickled, it becomes a plain string."""

    __slots__ = ("outgoing",)
    outgoing: Outgoing

    def __new__(cls, value: str, outgoing: Outgoing) -> "WatchedId":
        address = super().__new__(cls, value)
        address.outgoing = outgoing
        return address

    def __deepcopy__(self, memo: Any) -> str:
        return str(self)

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return (str, (str(self),))


@dataclass(slots=True, eq=False)
class Deliveries:
    """Listens to an SDK client: the answers to messages, replies and card updates, and who the bot is."""

    on_bot_info: Callable[[dict[str, Any]], None]
    _cards: OrderedDict[str, Outgoing] = field(default_factory=OrderedDict, init=False)
    _mutex: threading.Lock = field(default_factory=threading.Lock, init=False)

    def listen(self, client: Any) -> None:
        """Wrap the calls of one client. What a call returns or raises stays as it is."""
        messages, elements = client.im.v1.message, client.cardkit.v1.card_element
        _wrap(messages, "create", self._created)
        _wrap(messages, "reply", self._replied)
        _wrap(elements, "content", self._updated)
        _wrap(client, "request", self._requested)

    def _created(self, request: Any, response: Any) -> None:
        body = request.request_body
        self._note(body.receive_id, body, response)

    def _replied(self, request: Any, response: Any) -> None:
        self._note(request.message_id, request.request_body, response)

    def _note(self, address: Any, body: Any, response: Any) -> None:
        if not isinstance(address, WatchedId) or not response.success():
            return
        data = response.data
        message_id = getattr(data, "message_id", None)
        if not message_id:
            logger.error("The platform confirmed a message without an id; it is not recorded")
            return
        outgoing, content = address.outgoing, body.content or ""
        outgoing.delivered.append(
            ConfirmedMessage(
                message_id,
                getattr(data, "chat_id", None) or outgoing.chat_id,
                body.msg_type or "",
                content,
                getattr(data, "create_time", None),
                getattr(data, "root_id", None),
                getattr(data, "thread_id", None),
            )
        )
        card_id = _card_id(content) if body.msg_type == "interactive" else None
        if card_id:
            self._remember(card_id, outgoing)

    def _updated(self, request: Any, response: Any) -> None:
        outgoing = self._cards.get(request.card_id)
        if outgoing is not None and response.success():
            outgoing.shown = request.request_body.content or ""
            outgoing.updates += 1

    def _requested(self, request: Any, response: Any) -> None:
        if not str(getattr(request, "uri", "")).endswith("/bot/v3/info") or not response.success():
            return
        answer = json.loads(response.raw.content)
        inner = answer.get("data")
        bot = answer.get("bot") or (inner.get("bot") if isinstance(inner, dict) else None)
        if isinstance(bot, dict):
            self.on_bot_info(bot)

    def _remember(self, card_id: str, outgoing: Outgoing) -> None:
        with self._mutex:
            self._cards[card_id] = outgoing
            while len(self._cards) > _OPEN_CARDS:
                self._cards.popitem(last=False)


def _wrap(holder: Any, name: str, note: Callable[[Any, Any], None]) -> None:
    call = getattr(holder, name)

    def noted(request: Any, *args: Any, **options: Any) -> Any:
        response = call(request, *args, **options)
        try:
            note(request, response)
        except Exception:
            logger.exception("The platform's answer to %s could not be read", name)
        return response

    setattr(holder, name, noted)


def _card_id(content: str) -> str | None:
    """The id in ``{"type": "card", "data": {"card_id": …}}``; None for a card that is sent as a whole."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return None
    data = body.get("data") if isinstance(body, dict) and body.get("type") == "card" else None
    card_id = data.get("card_id") if isinstance(data, dict) else None
    return card_id if isinstance(card_id, str) else None


Answered = Callable[[str, str, str | None, str, str], None]
"""Called with app id, chat id, the message that is being answered, the answer's id, and its text."""
HopOf = Callable[[str, str | None], int | None]
"""By app id and the message that is being answered: the hop that was counted for the answer, if it was."""


class Outbound:
    """Records what a bot of this process said in a group. Never raises: the message has been sent already."""

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
        """Record a message that was sent as a whole; if it failed half-way, the parts that arrived."""
        parts = outgoing.delivered
        attached = [part for part in parts if part.msg_type not in _WORDS]
        said = [outgoing.text] if complete else [_text(part) for part in parts if part.msg_type in _WORDS]
        text = "\n".join(piece for piece in (*said, *map(_text, attached)) if piece.strip())
        await self._record(outgoing, text, app_id, "send")

    async def streamed(self, outgoing: Outgoing, app_id: str, *, complete: bool) -> None:
        """Record a message that was streamed into a card; if it broke off, what the card showed last."""
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
        """The chat that the platform delivered the message to; None when it must not be recorded."""
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
            cast("Any", first.create_time),  # in the platform's form; the store converts it
            first.thread_id,
            tuple(part.message_id for part in outgoing.delivered),
            first.root_id,
            first.msg_type,
            {"app_id": app_id},
        )
        message = OutboundMessage(key, text, reply_to=outgoing.trigger)

        async def recorded() -> None:
            self._answered(app_id, chat_id, outgoing.trigger, first.message_id, text)
            with suppress(StoreError):  # the entry in the record also tells that the bot sits here
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
    """The unfinished streamed messages of one channel, by nanobot's own key."""

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
        """Remove and return the oldest ones when there are too many: nanobot never ended them."""
        surplus: list[Outgoing] = []
        while len(self._open) > _OPEN_STREAMS:
            surplus.append(self._open.popitem(last=False)[1])
        return surplus


def _text(part: ConfirmedMessage) -> str:
    return text_of(part.msg_type, part.content)
