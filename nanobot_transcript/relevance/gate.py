"""The relevance gate: decides for one agent whether a message is for it."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.relevance import judge as judging
from nanobot_transcript.relevance import rules
from nanobot_transcript.relevance.decision import Case, Decision, Reason, Stage
from nanobot_transcript.relevance.features import NAMES, features
from nanobot_transcript.relevance.judge import Judge
from nanobot_transcript.relevance.log import DecisionLog
from nanobot_transcript.relevance.model import Model, shipped_model
from nanobot_transcript.relevance.observe import Observation, Observer
from nanobot_transcript.relevance.options import GateOptions
from nanobot_transcript.relevance.past import past_of

__all__ = ["RelevanceGate"]

logger = logging.getLogger(__name__)

_OPEN_AFTER: Final = 12
_TALKING_MINUTES: Final = 10  # the loop guard's idle time: what was said before it is another conversation
_GOING_ON: Final = 0.7
_LATE_IN_A_ROW: Final = 2
_REST: Final = 30.0
"""Seconds for which a judge is left alone that did not answer in time: messages behind wait for it, too."""
_PARTNER: Final = NAMES.index("partner")


class RelevanceGate:
    """Who answers? Every process that reads the same record comes to the same verdict.

    ``decide`` is pure and quick; ``resolve`` asks the ``judge`` about what is left undecided and notes the decision in
    the ``log``, where there are such. ``allow`` is called before each question to the judge, in a thread, and says
    whether there is budget left. One gate serves any number of agents and chats; it is not to be used by two threads at
    once.
    """

    def __init__(
        self,
        options: GateOptions | None = None,
        judge: Judge | None = None,
        log: DecisionLog | None = None,
        *,
        allow: Callable[[], bool] | None = None,
        model: Model | None = None,
    ) -> None:
        self.options: GateOptions = options or GateOptions()
        self.judge: Judge | None = judge
        self.log: DecisionLog | None = log
        self._allow = allow
        self._model: Model = model or shipped_model()
        self._observer: Observer = Observer()
        self._late: int = 0
        self._rested_at: float = 0.0

    @property
    def threshold(self) -> float:
        """The score from which the agent answers, where no judge is asked."""
        return self._model.threshold if self.options.threshold is None else self.options.threshold

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
    ) -> Decision:
        """Whether ``agent`` should answer ``message``; never raises because of what is in the entries.

        ``history`` holds the entries before it, oldest first, other bots' included; the last 100 count, and the
        message's own copy among them does no harm. ``members`` are the people and bots of the group as far as they are
        known. ``owner`` is the name of the agent that owns the message's thread (an empty text: nobody does); without
        it the history tells. It counts for messages with a ``thread_id``. ``now_ms`` is the time now; without it the
        time of receipt (``rts``) counts, and what was not pushed (imported, from the history) came in time.
        """
        case = Case(message, history, agent, members, session_key)
        past = past_of(history, message.get("message_id") if isinstance(message, dict) else None)
        reason = rules.never(message, past, agent, now_ms, self.options.stale_after * 1000)
        if reason is not None:
            return _decided(case, False, reason, 0.0, Stage.NEVER)
        seen = self._observer.observe(message, past.lines, agent, members, session_key)
        if rules.for_other_bot(message, seen):
            return _decided(case, False, Reason.COMMAND_FOR_OTHER, 0.0, Stage.NEVER)
        reason = rules.certain(seen)
        if reason is not None:
            return _decided(case, True, reason, 1.0, Stage.CERTAIN)
        if seen.everyone and not seen.mentioned:
            return self._for_everyone(case, seen)
        if owner is None:
            owner = rules.thread_owner(message, past.lines, members)
        verdict = rules.others(seen, message, agent, owner)
        if verdict is not None:
            reason, mine = verdict
            return _decided(case, mine, reason, float(mine), Stage.CERTAIN if mine else Stage.OTHERS)
        if rules.calls_other(seen, message):
            return _decided(case, False, Reason.OTHER_NAMED, 0.0, Stage.OTHERS)
        return self._scored(case, seen)

    async def resolve(self, decision: Decision) -> Decision:
        """The final decision: the judge's when it was undecided. Never raises; notes it in the log."""
        if decision.respond is None:
            decision = await self._judged(decision)
        self.note(decision)
        return decision

    def note(self, decision: Decision) -> None:
        """Note a decision in the log, where there is one. Never raises."""
        if self.log is not None:
            self.log.write(decision.session_key, decision)

    async def aclose(self) -> None:
        """Close the judge's connections, where it has any; whoever made the gate calls this at its end."""
        close = getattr(self.judge, "aclose", None)
        if close is not None:
            await close()

    def explain(
        self, message: Entry, history: Sequence[Entry], agent: AgentProfile, members: Sequence[AgentProfile]
    ) -> tuple[dict[str, float], list[tuple[str, float]]]:
        """The features of a message for an agent, and what each of them adds to its score, the strongest first."""
        seen = Observer().observe(message, past_of(history, message.get("message_id")).lines, agent, members)
        values = features(seen.scene, seen.message, seen.me)
        return dict(zip(NAMES, values, strict=True)), self._model.reasons(values)

    def _for_everyone(self, case: Case, seen: Observation) -> Decision:
        """No by itself, or all bots would answer; the score says who is first to claim what a person asks."""
        score = self._model.score(features(seen.scene, seen.message, seen.me))
        return _decided(case, False, Reason.EVERYONE, score, Stage.SCORE, is_open=not _from_bot(seen))

    def _scored(self, case: Case, seen: Observation) -> Decision:
        values = features(seen.scene, seen.message, seen.me)
        score, options = self._model.score(values), self.options
        awaited = rules.goes_on(seen)
        if awaited:
            score = max(score, _GOING_ON)
        if rules.begins_with_other(seen) and score < self.threshold:
            return _decided(case, False, Reason.OTHER_NAMED, score, Stage.OTHERS)
        if self.judge is not None and options.judge_from <= score < options.judge_below:
            return _decided(case, None, Reason.UNDECIDED, score, Stage.SCORE, is_open=_is_open(seen))
        if score >= self.threshold:
            talking = awaited or (values[_PARTNER] and _is_talking(seen))
            reason = Reason.PARTNER if talking else Reason.SCORE_HIGH
            return _decided(case, True, reason, score, Stage.SCORE)
        return _decided(case, False, Reason.SCORE_LOW, score, Stage.SCORE, is_open=_is_open(seen))

    async def _judged(self, decision: Decision) -> Decision:
        case = decision.case
        if self.judge is None or case is None:
            return self._without_judge(decision, Reason.JUDGE_FAILED)
        if asyncio.get_running_loop().time() < self._rested_at:
            return self._without_judge(decision, Reason.JUDGE_TIMEOUT)
        try:  # judge and budget are somebody else's code: whatever they raise, the message waits for a decision
            if self._allow is not None and not await asyncio.to_thread(self._allow):  # a lock may be held
                return self._without_judge(decision, Reason.JUDGE_BUDGET)
            answer = await self._asked(self.judge, case)
        except Exception:
            logger.exception("the judge could not be asked")
            return self._without_judge(decision, Reason.JUDGE_FAILED)
        if answer is None:
            return self._without_judge(decision, Reason.JUDGE_TIMEOUT)
        verdict = judging.verdict(answer[0])
        if verdict is None:
            return self._without_judge(decision, Reason.JUDGE_UNCLEAR)
        reason = Reason.JUDGE_YES if verdict else Reason.JUDGE_NO
        return replace(decision, respond=verdict, reason=reason, stage=Stage.JUDGE)

    async def _asked(self, judge: Judge, case: Case) -> tuple[Any] | None:
        """The judge's answer; None when it came too late."""
        question = judging.prompt(case, self.options.judge_lines)
        limit = asyncio.timeout(self.options.judge_timeout)
        try:
            async with limit:
                answer = await judge(question)
        except TimeoutError:
            if limit.expired():  # else the judge gave up by itself
                self._came_late()
            return None
        self._late = 0
        return (answer,)

    def _came_late(self) -> None:
        self._late += 1
        if self._late >= _LATE_IN_A_ROW:
            self._rested_at = asyncio.get_running_loop().time() + _REST
            logger.warning("The judge does not answer in time and is not asked for %g s", _REST)

    def _without_judge(self, decision: Decision, reason: Reason) -> Decision:
        fallback = self.options.on_judge_failure
        respond = decision.score >= self.threshold if fallback == "score" else fallback == "open"
        return replace(decision, respond=respond, reason=reason, stage=Stage.JUDGE)


def _decided(
    case: Case, respond: bool | None, reason: Reason, score: float, stage: Stage, *, is_open: bool = False
) -> Decision:
    message_id = case.message.get("message_id") if isinstance(case.message, dict) else None
    known = message_id if isinstance(message_id, str) else None
    return Decision(respond, reason, score, stage, case.agent.name, known, is_open, case.session_key, case)


def _is_open(seen: Observation) -> bool:
    """True when a person speaks to nobody: no name, no reply, and no dialogue just now that this could belong to."""
    return not (seen.message.turn.to or seen.message.hinted or _from_bot(seen) or _is_talking(seen))


def _is_talking(seen: Observation) -> bool:
    """True when the speaker was in touch with somebody just now, by lines and by the clock."""
    scene, partner = seen.scene, seen.scene.partner.get(seen.speaker)
    if partner is None or scene.size - partner[1] > _OPEN_AFTER:
        return False
    return seen.message.turn.minutes_since(scene.turns[partner[1]]) <= _TALKING_MINUTES


def _from_bot(seen: Observation) -> bool:
    return seen.roster.members[seen.speaker].kind == "bot"
