"""One agent at work: which messages it answers, what it is told, what becomes of its answer."""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from nanobot_transcript.conversation.decision import Choice, ClaimOpen, Decider, Gate, Informed, before
from nanobot_transcript.conversation.people import Members
from nanobot_transcript.conversation.ports import InboundMessage
from nanobot_transcript.conversation.prompt import ContextLimits, Prompt, build_messages
from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import StoreError
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.runner.answering import AnswerLimits
from nanobot_transcript.runner.bus import MessageBus
from nanobot_transcript.runner.lanes import Lanes
from nanobot_transcript.runner.outcomes import Answering, Working
from nanobot_transcript.runner.replying import Replies
from nanobot_transcript.runner.responders.contract import Responder
from nanobot_transcript.runner.sessions import Sessions
from nanobot_transcript.store.async_front import AsyncGroupTranscriptStore
from nanobot_transcript.turns.ageing import age_ms
from nanobot_transcript.turns.claim import AnswerClaims, Claim, is_answered
from nanobot_transcript.turns.loop_guard import LoopGuard
from nanobot_transcript.turns.speakers import id_at, ids_of

__all__ = ["AgentLoop", "LoopOptions"]

logger = logging.getLogger(__name__)

_HISTORY: Final = 120
_REMEMBERED: Final = 4096


@dataclass(frozen=True, slots=True)
class LoopOptions:
    """How an agent works.

    ``instructions`` go into every prompt. Messages older than ``stale_after`` seconds are recorded and not answered.
    At most ``parallel_chats`` chats are answered at a time, and ``backlog`` messages of one chat wait. ``stream``
    shows an answer while it is being written, where the channel can. ``claim_open`` says what one of several bots
    answers although nobody is addressed and none feels meant.
    """

    instructions: str = ""
    context: ContextLimits = field(default_factory=ContextLimits)
    answer: AnswerLimits = field(default_factory=AnswerLimits)
    stale_after: float = 1800.0
    parallel_chats: int = 8
    backlog: int = 200
    stream: bool = True
    claim_open: ClaimOpen = "questions"
    reaction: str = ""
    failure_text: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class _Turn:
    """A message to be handled; ``claim`` when it was won only after another bot had failed to answer."""

    inbound: InboundMessage
    claim: Claim | None = None
    choice: Choice | None = None


class AgentLoop:
    """Handles the messages of one agent: in order within a chat, chats side by side.

    Without ``transcript_store`` it is an ordinary bot that knows only what it heard and said itself. Without ``gate``
    it answers what mentions it or replies to it. ``guard`` bounds what bots say to each other, ``claims`` lets one of
    several bots answer what is addressed to nobody. ``working`` shows that it answers. ``now_ms`` is the time in
    milliseconds since 1970.
    """

    def __init__(
        self,
        agent: AgentProfile,
        responder: Responder,
        bus: MessageBus,
        transcript_store: AsyncGroupTranscriptStore | None = None,
        *,
        gate: Gate | None = None,
        guard: LoopGuard | None = None,
        claims: AnswerClaims | None = None,
        members: Members | None = None,
        informed: Informed | None = None,
        options: LoopOptions | None = None,
        working: Working | None = None,
        now_ms: Callable[[], float] = lambda: time.time() * 1000,
    ) -> None:
        self.agent: AgentProfile = agent
        self._bus: MessageBus = bus
        self._store: AsyncGroupTranscriptStore | None = transcript_store
        self._members: Members = members or (lambda _: (agent,))
        self._options: LoopOptions = options or LoopOptions()
        self._now_ms: Callable[[], float] = now_ms
        self._decider: Decider = Decider(
            agent, gate, guard or LoopGuard(), self._members, claims, self._options.claim_open, informed=informed
        )
        self._claims_what_is_open: bool = claims is not None
        self._sessions: Sessions = Sessions()
        self._handled: OrderedDict[tuple[str, str], None] = OrderedDict()
        parallel, backlog = self._options.parallel_chats, self._options.backlog
        limits, stream = self._options.answer, self._options.stream
        self._answering: Answering = Answering(
            agent,
            Replies(responder, bus, limits, stream=stream),
            bus,
            self._decider,
            self._sessions,
            transcript_store,
            self.build_messages,
            working=working,
            failure_text=self._options.failure_text,
        )
        self._lanes: Lanes[_Turn] = Lanes(self._handle, parallel=parallel, backlog=backlog)

    async def run(self) -> None:
        """Take messages from the bus until it is closed."""
        async for inbound in self._bus.inbound():
            self._put(_Turn(inbound))

    def _put(self, turn: _Turn) -> None:
        """Let a message wait for its turn; the oldest one makes room where too many wait."""
        pushed_out = self._lanes.put(turn.inbound.session_key, turn)
        if pushed_out is not None:
            logger.warning("%s is too busy to answer %s", self.agent.name, pushed_out.inbound.message_id)
            if pushed_out.claim is not None:
                pushed_out.claim.release()

    async def settled(self) -> None:
        """Wait until everything that came in is dealt with, by this agent or by the one that claimed it."""
        while self._bus.waiting or self._lanes.busy or self._decider.stands_by:
            await self._lanes.finish()
            await self._decider.stood_by()
            await asyncio.sleep(0)

    async def finish(self, grace: float) -> None:
        """Begin nothing new; give the answers under way ``grace`` seconds, then break them off."""
        await self._decider.close()
        if left := self._lanes.clear():
            logger.warning("%s stops and leaves %d messages unanswered", self.agent.name, len(left))
        for turn in left:
            if turn.claim is not None:
                turn.claim.release()
        if not await self._lanes.finish(grace):
            logger.warning("%s broke off an answer that took longer than %g s to finish", self.agent.name, grace)

    def stopped(self, session_key: str, entry: Entry, reason: str) -> None:
        """The loop guard did not let the relay hand out what another bot said."""
        self._decider.stopped(session_key, entry, reason)

    def forget(self, session_key: str, message_id: str) -> None:
        """A message was taken back."""
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
        choice = await self._check_relevance(inbound, history)
        logger.debug("%s: %s %s: %s", self.agent.name, inbound.message_id, choice.respond, choice.reason)
        if not choice.respond:
            return
        if choice.contested and self._claims_what_is_open:
            await self._answer_if_claimed(inbound, history, choice)
        else:
            await self._answering.answer(inbound, history, choice, None)

    def _is_new(self, inbound: InboundMessage) -> bool:
        """False for a message that was handled already: platforms push again, relays overlap with pushes."""
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
        """The newest entries of the chat; of a private chat, or without a record, what this agent heard itself."""
        if self._store is not None and not inbound.private:
            try:
                return (await self._store.recent(inbound.session_key, _HISTORY)).entries
            except StoreError as error:
                logger.error("%s goes by its own memory, the record cannot be read: %s", self.agent.name, error)
        return self._sessions.history(inbound.session_key)

    async def _check_relevance(self, inbound: InboundMessage, history: Sequence[Entry]) -> Choice:
        """Whether to answer a message, seen against the recent entries of its chat."""
        return await self._decider.choose(inbound, history, self._now_ms())

    # --- what nobody is addressed with

    async def _answer_if_claimed(self, inbound: InboundMessage, history: Sequence[Entry], choice: Choice) -> None:
        """Answer if this process is the first to claim the message; otherwise wait beside the lane for its turn."""

        async def take_over(claim: Claim) -> None:
            self._put(_Turn(inbound, claim, choice))

        claim = await self._decider.claim(inbound, choice, take_over)
        if claim is not None:
            async with claim:
                await self._answering.answer(inbound, history, choice, claim)

    # --- the answer

    async def build_messages(self, inbound: InboundMessage, transcript_history: Sequence[Entry]) -> Prompt:
        """The prompt for a message; ``transcript_history`` are the recent entries of its chat."""
        group = not inbound.private
        return build_messages(
            self.agent,
            inbound.session_key,
            inbound.entry,
            transcript_history=transcript_history if group else None,
            session_history=() if group else before(inbound.entry, transcript_history),
            members=self._members(inbound.session_key) if group else (),
            quoted=await self._quoted(inbound, transcript_history) if group else None,
            instructions=self._options.instructions,
            limits=self._options.context,
        )

    async def _quoted(self, inbound: InboundMessage, shown: Sequence[Entry]) -> Entry | None:
        """The message that is replied to, when it is too old to be among those that are shown."""
        target = id_at(inbound.entry, "reply_to")
        newest = shown[-self._options.context.max_entries :]
        if self._store is None or not target or any(target in ids_of(entry) for entry in newest):
            return None
        return await self._store.get(inbound.session_key, target)
