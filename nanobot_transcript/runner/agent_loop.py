"""One agent at work: takes its messages in order, decides on each, and answers those that are for it."""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from nanobot_transcript.conversation.decision import Choice, Decider
from nanobot_transcript.conversation.ports import InboundMessage
from nanobot_transcript.conversation.prompt import ContextLimits
from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import StoreError
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.runner.answer import Answering, Working
from nanobot_transcript.runner.bus import MessageBus
from nanobot_transcript.runner.chat_queues import Lanes
from nanobot_transcript.runner.memory import Sessions
from nanobot_transcript.runner.reply_stream import AnswerLimits, Replies
from nanobot_transcript.runner.responders.contract import Responder
from nanobot_transcript.sql.outage import level_of
from nanobot_transcript.store.async_front import AsyncGroupTranscriptStore
from nanobot_transcript.turns.addressees import ids_of
from nanobot_transcript.turns.claim import Claim, is_answered
from nanobot_transcript.turns.message_age import age_ms

__all__ = ["AgentLoop", "LoopOptions"]

logger = logging.getLogger(__name__)

_HISTORY: Final = 120
_REMEMBERED: Final = 4096


@dataclass(frozen=True, slots=True)
class LoopOptions:
    """How an agent works.

    ``instructions`` go into every prompt. Messages older than ``stale_after`` seconds are recorded and not answered. At
    most ``parallel_chats`` chats are answered at a time, and ``backlog`` messages of one chat wait. ``stream`` shows an
    answer while it is being written, where the channel can; ``reaction`` is shown on a message while it is being
    answered. ``failure_text`` is sent to a person who addressed the agent when its responder fails; empty sends
    nothing.
    """

    instructions: str = ""
    context: ContextLimits = field(default_factory=ContextLimits)
    answer: AnswerLimits = field(default_factory=AnswerLimits)
    stale_after: float = 1800.0
    parallel_chats: int = 8
    backlog: int = 200
    stream: bool = True
    reaction: str = ""
    failure_text: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class _Turn:
    """A message to handle; ``claim`` is set when it was won only after another bot had failed to answer."""

    inbound: InboundMessage
    claim: Claim | None = None
    choice: Choice | None = None


class AgentLoop:
    """Handles the messages of one agent: in order within a chat, several chats at a time.

    Without ``transcript_store`` it is an ordinary bot that knows only what it heard and said itself. Without a
    ``decider`` it answers messages that mention it or reply to it. ``working`` shows that it is answering. ``now_ms``
    is the time in milliseconds since 1970.
    """

    def __init__(
        self,
        agent: AgentProfile,
        responder: Responder,
        bus: MessageBus,
        transcript_store: AsyncGroupTranscriptStore | None = None,
        *,
        decider: Decider | None = None,
        options: LoopOptions | None = None,
        working: Working | None = None,
        now_ms: Callable[[], float] = lambda: time.time() * 1000,
    ) -> None:
        self.agent: AgentProfile = agent
        self._bus: MessageBus = bus
        self._store: AsyncGroupTranscriptStore | None = transcript_store
        self._options: LoopOptions = options or LoopOptions()
        self._now_ms: Callable[[], float] = now_ms
        self._decider: Decider = decider or Decider(agent)
        self._sessions: Sessions = Sessions()
        self._handled: OrderedDict[tuple[str, str], None] = OrderedDict()
        parallel, backlog = self._options.parallel_chats, self._options.backlog
        replies = Replies(responder, bus, self._options.answer, stream=self._options.stream)
        self._answering: Answering = Answering(
            agent,
            replies,
            bus,
            self._decider,
            self._sessions,
            transcript_store,
            instructions=self._options.instructions,
            context=self._options.context,
            working=working,
            failure_text=self._options.failure_text,
        )
        self._lanes: Lanes[_Turn] = Lanes(self._handle, parallel=parallel, backlog=backlog)

    async def run(self) -> None:
        """Take messages from the bus until it is closed."""
        async for inbound in self._bus.inbound():
            self._put(_Turn(inbound))

    def _put(self, turn: _Turn) -> None:
        """Queue a message; when too many wait, the oldest one is dropped."""
        pushed_out = self._lanes.put(turn.inbound.session_key, turn)
        if pushed_out is not None:
            logger.warning("%s is too busy and does not answer %s", self.agent.name, pushed_out.inbound.message_id)
            if pushed_out.claim is not None:
                pushed_out.claim.release()

    async def settled(self) -> None:
        """Wait until every message is dealt with, by this agent or by the one that claimed it."""
        while self._bus.waiting or self._lanes.busy or self._decider.stands_by:
            await self._lanes.finish()
            await self._decider.stood_by()
            await asyncio.sleep(0)

    async def finish(self, grace: float) -> None:
        """Start nothing new; give running answers ``grace`` seconds, then cancel them."""
        await self._decider.close()
        if left := self._lanes.clear():
            logger.warning("%s stops and leaves %d messages unanswered", self.agent.name, len(left))
        for turn in left:
            if turn.claim is not None:
                turn.claim.release()
        if not await self._lanes.finish(grace):
            logger.warning("%s stopped an answer that took longer than %g s to finish", self.agent.name, grace)

    def stopped(self, session_key: str, entry: Entry, reason: str) -> None:
        """The loop guard kept the relay from passing on another bot's message."""
        self._decider.stopped(session_key, entry, reason)

    def forget(self, session_key: str, message_id: str) -> None:
        """A message was recalled."""
        self._sessions.forget(session_key, message_id)

    # --- one message

    async def _handle(self, turn: _Turn) -> None:
        inbound = turn.inbound
        if turn.claim is not None and turn.choice is not None:
            async with turn.claim:
                await self._answering.answer(inbound, await self._history(inbound), turn.choice, turn.claim)
            return
        if not self._is_new(inbound):
            return
        history = await self._history(inbound)
        self._sessions.add(inbound.session_key, inbound.entry)
        if self._is_stale(inbound.entry, history) or is_answered(inbound.entry, history, by=self.agent):
            return
        choice = await self._decider.choose(inbound, history, self._now_ms())
        logger.debug("%s: %s %s: %s", self.agent.name, inbound.entry["message_id"], choice.respond, choice.reason)
        if not choice.respond:
            return
        if not choice.contested:
            await self._answering.answer(inbound, history, choice, None)
            return

        async def take_over(claim: Claim) -> None:
            self._put(_Turn(inbound, claim, choice))

        claim = await self._decider.claim(inbound, choice, take_over)
        if claim is not None:
            async with claim:
                await self._answering.answer(inbound, history, choice, claim)

    def _is_new(self, inbound: InboundMessage) -> bool:
        """False for a message that was handled already: platforms push again, and relayed messages may also be
        pushed.
        """
        handled = [(inbound.session_key, known) for known in ids_of(inbound.entry)]
        if any(one in self._handled for one in handled):
            return False
        self._handled.update(dict.fromkeys(handled))
        while len(self._handled) > _REMEMBERED:
            self._handled.popitem(last=False)
        return True

    def _is_stale(self, message: Entry, history: Sequence[Entry]) -> bool:
        return age_ms(message, history, self._now_ms()) > self._options.stale_after * 1000

    async def _history(self, inbound: InboundMessage) -> list[Entry]:
        """The newest entries of the chat; for a private chat, or without a record, what this agent itself heard."""
        if self._store is not None and not inbound.private:
            try:
                return (await self._store.recent(inbound.session_key, _HISTORY)).entries
            except StoreError as error:
                logger.log(
                    level_of(error, logging.WARNING),
                    "%s answers from its own memory, because the record cannot be read: %s",
                    self.agent.name,
                    error,
                )
        return self._sessions.history(inbound.session_key)
