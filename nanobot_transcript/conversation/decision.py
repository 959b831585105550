"""Whether a bot answers a message, and which of several: gate, loop guard, claim, and a log of each decision.

A host says when a message is decided and what happens then. The decision is the same everywhere.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias, cast

from nanobot_transcript.conversation.people import Members
from nanobot_transcript.conversation.ports import InboundMessage
from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import StoreError
from nanobot_transcript.identity import AgentProfile, wrote
from nanobot_transcript.relevance.choice import ClaimOpen, claim_score, is_contested, wants
from nanobot_transcript.relevance.decision import STOPS, Claiming, TurnOutcome, later
from nanobot_transcript.sql.outage import AwayError, level_of
from nanobot_transcript.turns.addressees import addresses, hop_of, id_at, ids_of
from nanobot_transcript.turns.claim import AnswerClaims, Claim
from nanobot_transcript.turns.loop_guard import LoopGuard
from nanobot_transcript.turns.owner import owner_of

if TYPE_CHECKING:
    from nanobot_transcript.relevance.decision import Decision

__all__ = ["PRIVATE", "Choice", "Decider", "Gate", "Informed", "TakeOver", "Thanked", "addressed", "before"]

logger = logging.getLogger(__name__)

PRIVATE: Final = "private"
"""The chat in the log for all private chats: who wrote, where, and why an answer failed is not logged."""
_PRIVATELY: Final = "It was in a private chat, of which no more is noted; the log of the bot says why."
_NO_MESSAGE: Final = cast("Entry", {"message_id": None})

Informed: TypeAlias = Callable[[str], Awaitable[None]]
"""Waits (briefly) until it is known who is in a chat, by session key."""
TakeOver: TypeAlias = Callable[[Claim], Awaitable[None]]
"""Called with the claim when the bot that had claimed a message died: this bot has it now."""
Thanked: TypeAlias = Callable[[InboundMessage], None]
"""Called with a person's thanks or consent for the bot, which get no answer. Must not wait or raise."""


class Gate(Protocol):
    """Says whether a message is for this agent; ``RelevanceGate`` is one.

    A gate with a method ``note`` is also told what was decided after it; see ``_note`` below.
    """

    def decide(
        self,
        message: Entry,
        history: Sequence[Entry],
        agent: AgentProfile,
        members: Sequence[AgentProfile],
        *,
        owner: str | None = None,
        now_ms: float | None = None,
        session_key: str = "",
    ) -> "Decision":
        """The decision; its ``respond`` is None while undecided. Does not wait."""
        ...

    async def resolve(self, decision: "Decision") -> "Decision":
        """The decision, settled by the judge if it was undecided, and logged."""
        ...


class Choice(NamedTuple):
    """Whether this agent answers a message, and why.

    ``hop`` is the hop of the answer. ``contested``: other agents may feel addressed as well, so only the first to claim
    the message answers it; the higher its ``score`` (0 to 1), the sooner an agent claims.
    """

    respond: bool
    reason: str
    hop: int = 1
    contested: bool = False
    score: float = 1.0


class Decider:
    """Decides for one bot. Without a ``gate`` it answers messages that mention it or reply to it; without ``claims`` it
    claims nothing. ``claim_open``: one of the bots answers a message that is addressed to nobody and for which none is
    responsible. ``informed`` is awaited unless the message mentions this bot; ``thanked`` is called for thanks. For one
    event loop.
    """

    def __init__(
        self,
        agent: AgentProfile,
        gate: Gate | None = None,
        guard: LoopGuard | None = None,
        members: Members | None = None,
        claims: AnswerClaims | None = None,
        claim_open: ClaimOpen = "questions",
        *,
        informed: Informed | None = None,
        thanked: Thanked | None = None,
    ) -> None:
        self.agent: AgentProfile = agent
        self._gate: Gate | None = gate
        self._guard: LoopGuard = guard or LoopGuard()
        self.members: Members = members or (lambda session_key: (agent,))
        """The members of a chat, this bot among them."""
        self._claims: AnswerClaims | None = claims
        self._claim_open: ClaimOpen = claim_open if claims is not None else "off"
        self._informed: Informed | None = informed
        self._thanked: Thanked | None = thanked
        self._standing_by: set[asyncio.Task[None]] = set()
        self._failed_privately: bool = False
        self._closed: bool = False

    def is_addressed(self, inbound: InboundMessage) -> bool:
        """True for a message that mentions this bot, whatever else was said."""
        return addresses(inbound.entry, self.agent, self.members(inbound.session_key))

    async def choose(self, inbound: InboundMessage, history: Sequence[Entry], now_ms: float) -> Choice:
        """Whether to answer. ``history`` are the recent entries, possibly including the message itself."""
        message = inbound.entry
        if inbound.private:
            return Choice(True, "private")
        members = self.members(inbound.session_key)
        if self._informed is not None and not addresses(message, self.agent, members):
            await self._informed(inbound.session_key)  # a member that is not known cannot be addressed
            members = self.members(inbound.session_key)
        agent = _as_known(self.agent, members)
        if self._gate is None:
            meant = addressed(message, history, agent, members)
            return self._guarded(message, history, Choice(meant, "addressed"))
        decision = self._gate.decide(
            message,
            history,
            agent,
            members,
            owner=_owner(message, before(message, history), members),
            now_ms=now_ms,
            session_key=inbound.session_key,
        )
        wanted = Choice(wants(decision, self._claim_open), decision.reason)
        allowed = self._guarded(message, history, wanted)
        if decision.respond is None and not allowed.respond:
            decision = replace(decision, respond=False)  # do not ask a judge when answering is not allowed anyway
        decision = await self._gate.resolve(decision)
        if decision.thanked and self._thanked is not None:
            self._thanked(inbound)
        if not allowed.respond:
            self.stopped(inbound.session_key, message, allowed.reason)
            return allowed
        respond = wants(decision, self._claim_open)
        contested = is_contested(decision) and self._claims is not None
        return Choice(respond, decision.reason, allowed.hop, contested, claim_score(decision))

    async def claim(self, message: InboundMessage, choice: Choice, take_over: TakeOver) -> Claim | None:
        """The claim of a message that several bots may answer; None when another bot has it, or may have it.

        Then this bot stands by, and ``take_over`` gets the claim if that bot leaves the message unanswered.
        """
        claims, key, entry = self._claims, message.session_key, message.entry
        if claims is None:
            return None
        alone = sum(member.kind == "bot" for member in self.members(key)) <= 1
        try:
            claim = await claims.win(key, entry, score=choice.score, alone=alone, stand_by=False)
        except StoreError as error:  # rather no answer than four
            why = "the database is away" if isinstance(error, AwayError) else f"{error} {error.hint}"
            logger.error("%s cannot claim %s: %s", self.agent.name, message.message_id, why)
            self.ended(message, "failed", str(error))
            return None
        self._note_claim(message, choice, "claim_seen" if claim is None else "claimed")
        if claim is None and not self._closed:
            waiting = asyncio.get_running_loop().create_task(self._stand_by(claims, message, choice, take_over))
            self._standing_by.add(waiting)
            waiting.add_done_callback(self._standing_by.discard)
        return claim

    @property
    def stands_by(self) -> bool:
        """True while this bot stands by for a message that another one answers."""
        return bool(self._standing_by)

    async def stood_by(self) -> None:
        """Wait until this bot stands by for nothing."""
        await asyncio.gather(*self._standing_by)

    async def close(self) -> None:
        """Stand by no longer, including for later claims."""
        self._closed = True
        for waiting in self._standing_by:
            waiting.cancel()
        await asyncio.gather(*self._standing_by, return_exceptions=True)

    def stopped(self, session_key: str, message: Entry, reason: str) -> None:
        """Log that the loop guard keeps this bot from answering; does nothing for other reasons."""
        if self._gate is not None and reason in STOPS:
            _note(self._gate, later(reason, session_key, message, self.agent.name))

    def ended(self, message: InboundMessage, outcome: TurnOutcome, why: str = "") -> None:
        """Log what became of the answer; ``why`` it failed, in a sentence.

        For private chats only a failure is logged, and that the next answer succeeded.
        """
        if self._gate is None:
            return
        if not message.private:
            _note(self._gate, later(outcome, message.session_key, message.entry, self.agent.name, why=why))
        elif outcome == "failed" or (outcome == "answered" and self._failed_privately):
            self._failed_privately = outcome == "failed"
            told = _PRIVATELY if self._failed_privately else ""
            _note(self._gate, later(outcome, PRIVATE, _NO_MESSAGE, self.agent.name, why=told))

    async def _stand_by(
        self, claims: AnswerClaims, message: InboundMessage, choice: Choice, take_over: TakeOver
    ) -> None:
        """Another bot answers. If it dies, this one takes over the message."""
        try:
            claim = await claims.win(message.session_key, message.entry, score=1.0, alone=True)
            if claim is None:
                logger.info("%s was answered by another bot", message.message_id)
                return
            self._note_claim(message, choice, "taken_over")
            await take_over(claim)
        except StoreError as error:
            logger.log(
                level_of(error, logging.WARNING),
                "%s does not stand by for %s: %s",
                self.agent.name,
                message.message_id,
                error,
            )
        except Exception:
            logger.exception("Taking over a message that another bot left unanswered failed")

    def _note_claim(self, message: InboundMessage, choice: Choice, reason: Claiming) -> None:
        """Log which bot answers a message that several may answer: this one or another."""
        if self._gate is not None:
            _note(self._gate, later(reason, message.session_key, message.entry, self.agent.name, choice.score))

    def _guarded(self, message: Entry, history: Sequence[Entry], choice: Choice) -> Choice:
        verdict = self._guard.allows(message, history, self.agent)
        hop = 1 + max(verdict.hops, hop_of(message))
        if choice.respond and not verdict.allowed:
            logger.info("%s does not answer %s: %s", self.agent.name, message["message_id"], verdict.reason)
            return choice._replace(respond=False, reason=verdict.reason)
        return choice._replace(hop=hop)


def _as_known(agent: AgentProfile, members: Sequence[AgentProfile]) -> AgentProfile:
    """The bot as the others know it: with the platform's name for it, and what it does."""
    known = (member for member in members if member.kind == "bot" and member.account == agent.account)
    return next(known, agent) if agent.account else agent


def _owner(message: Entry, earlier: Sequence[Entry], members: Sequence[AgentProfile]) -> str | None:
    thread, root = id_at(message, "thread_id"), id_at(message, "root_id")
    return owner_of(earlier, thread, root_id=root, bots=members, now_ms=message["ts"])


def _note(gate: Gate, decision: "Decision") -> None:
    """Tell a gate with a ``note`` method what was decided after it. Never raises: no answer may depend on the log."""
    take: Callable[[Decision], None] | None = getattr(gate, "note", None)
    if take is None:
        return
    try:
        take(decision)
    except Exception:  # a gate is somebody else's code
        logger.exception("The decision about %s could not be logged", decision.message_id)


def addressed(
    message: Entry, history: Sequence[Entry], agent: AgentProfile, members: Sequence[AgentProfile] = ()
) -> bool:
    """True when the message mentions the agent or replies to it: the rule without a gate."""
    target = id_at(message, "reply_to")
    mine = (entry for entry in history if wrote(agent, entry))
    return addresses(message, agent, members) or any(target in ids_of(entry) for entry in mine)


def before(message: Entry, history: Sequence[Entry]) -> list[Entry]:
    """The entries before the message: all, when it is not in the history."""
    ids = ids_of(message)
    for at, entry in enumerate(history):
        if entry is message or ids & ids_of(entry):
            return list(history[:at])
    return list(history)
