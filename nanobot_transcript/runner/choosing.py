"""Whether an agent answers a message: the gate's word, then the guard's, and the judge only when both leave it open."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from nanobot_transcript.conversation.people import Members
from nanobot_transcript.conversation.ports import InboundMessage
from nanobot_transcript.entry import Entry
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.relevance.decision import STOPS, Claiming, later
from nanobot_transcript.relevance.text import is_question
from nanobot_transcript.runner.deciding import Choice, Gate, addressed, before, note
from nanobot_transcript.turns.loop_guard import LoopGuard
from nanobot_transcript.turns.owner import owner_of
from nanobot_transcript.turns.speakers import hop_of, id_at

if TYPE_CHECKING:
    from nanobot_transcript.relevance.decision import Decision

__all__ = ["Chooser", "ClaimOpen"]

logger = logging.getLogger(__name__)

ClaimOpen: TypeAlias = Literal["questions", "all", "off"]
"""What one of several bots answers although nobody is addressed and none feels meant."""

_GUESSED: Final = frozenset({"score", "judge"})


class Chooser:
    """Decides for one agent; see ``AgentLoop`` for the parts."""

    def __init__(
        self,
        agent: AgentProfile,
        gate: Gate | None,
        guard: LoopGuard,
        members: Members,
        claim_open: ClaimOpen = "off",
    ) -> None:
        self._agent: AgentProfile = agent
        self._gate: Gate | None = gate
        self._guard: LoopGuard = guard
        self._members: Members = members
        self._claim_open: ClaimOpen = claim_open

    async def choose(self, inbound: InboundMessage, history: Sequence[Entry], now_ms: float) -> Choice:
        """Whether to answer. ``history`` are the recent entries, the message itself perhaps among them."""
        message = inbound.entry
        if inbound.private:
            return Choice(True, "private")
        members = self._members(inbound.session_key)
        if self._gate is None:
            meant = addressed(message, history, self._agent, members)
            return self._guarded(message, history, Choice(meant, "addressed"))
        decision = self._gate.decide(
            message,
            history,
            self._agent,
            members,
            owner=_owner(message, before(message, history), members),
            now_ms=now_ms,
            session_key=inbound.session_key,
        )
        wanted = Choice(decision.respond is not False or self._may_claim(message, decision), decision.reason)
        allowed = self._guarded(message, history, wanted)
        if decision.respond is None and not allowed.respond:
            decision = replace(decision, respond=False)  # no judge for what may not be answered anyway
        decision = await self._gate.resolve(decision)
        if not allowed.respond:
            self.stopped(inbound.session_key, message, allowed.reason)
            return allowed
        respond = bool(decision.respond) or self._may_claim(message, decision)
        contested = decision.stage in _GUESSED
        return Choice(respond, decision.reason, allowed.hop, contested, decision.score)

    def claimed(self, session_key: str, message: Entry, choice: Choice, reason: Claiming) -> None:
        """Note who answers what several may: this agent, or another one."""
        if self._gate is not None:
            note(self._gate, later(reason, session_key, message, self._agent.name, choice.score))

    def stopped(self, session_key: str, message: Entry, reason: str) -> None:
        """Note that the loop guard lets this agent not answer; nothing for other reasons."""
        if self._gate is not None and reason in STOPS:
            note(self._gate, later(reason, session_key, message, self._agent.name))

    def _may_claim(self, message: Entry, decision: "Decision") -> bool:
        """True for what nobody in particular is asked: one of the bots answers it, however little it feels meant."""
        if not decision.open or decision.stage != "score":
            return False
        return self._claim_open == "all" or (self._claim_open == "questions" and is_question(message["content"]))

    def _guarded(self, message: Entry, history: Sequence[Entry], choice: Choice) -> Choice:
        verdict = self._guard.allows(message, history, self._agent)
        hop = 1 + max(verdict.hops, hop_of(message))
        if choice.respond and not verdict.allowed:
            logger.info("%s does not answer %s: %s", self._agent.name, message["message_id"], verdict.reason)
            return choice._replace(respond=False, reason=verdict.reason)
        return choice._replace(hop=hop)


def _owner(message: Entry, earlier: Sequence[Entry], members: Sequence[AgentProfile]) -> str | None:
    thread, root = id_at(message, "thread_id"), id_at(message, "root_id")
    return owner_of(earlier, thread, root_id=root, bots=members, now_ms=message["ts"])
