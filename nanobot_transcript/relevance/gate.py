"""The relevance gate: decides for one agent whether a message is for it."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.relevance import judge as judging
from nanobot_transcript.relevance import rules
from nanobot_transcript.relevance.decision import Case, Decision, Reason, Stage
from nanobot_transcript.relevance.features import NAMES, features
from nanobot_transcript.relevance.judge import Judge
from nanobot_transcript.relevance.log import DecisionLog
from nanobot_transcript.relevance.model import Model, shipped_model
from nanobot_transcript.relevance.observe import Observation, Observer, before, usable
from nanobot_transcript.relevance.options import GateOptions

__all__ = ["RelevanceGate"]

logger = logging.getLogger(__name__)

_OPEN_AFTER: Final = 12
_PARTNER: Final = NAMES.index("partner")


class RelevanceGate:
    """Who answers? Every process that reads the same record comes to the same verdict.

    ``decide`` is pure and quick; ``resolve`` asks the ``judge`` about what is left undecided and notes the decision in
    the ``log``, where there are such. ``allow`` is called before each question to the judge and says whether there is
    budget left. One gate serves any number of agents and chats; it is not to be used by two threads at once.
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
        known. ``owner`` is the name of the agent that owns the message's thread; it counts for messages with a
        ``thread_id``. ``now_ms`` is the time now; without it the time of receipt (``rts``) counts.
        """
        case = Case(message, history, agent, members, session_key)
        entries = usable(history)
        reason = rules.never(message, entries, agent, now_ms, self.options.stale_after * 1000)
        if reason is not None:
            return _decided(case, False, reason, 0.0, Stage.NEVER)
        seen = self._observer.observe(message, before(entries, message.get("message_id")), agent, members)
        if rules.for_other_bot(message, seen):
            return _decided(case, False, Reason.COMMAND_FOR_OTHER, 0.0, Stage.NEVER)
        reason = rules.certain(seen)
        if reason is not None:
            return _decided(case, True, reason, 1.0, Stage.CERTAIN)
        verdict = rules.others(seen, message, agent, owner)
        if verdict is not None:
            reason, mine = verdict
            return _decided(case, mine, reason, float(mine), Stage.CERTAIN if mine else Stage.OTHERS)
        return self._scored(case, seen)

    async def resolve(self, decision: Decision) -> Decision:
        """The final decision: the judge's when it was undecided. Never raises; notes it in the log."""
        if decision.respond is None:
            decision = await self._judged(decision)
        if self.log is not None:
            self.log.write(decision.session_key, decision)
        return decision

    def explain(
        self, message: Entry, history: Sequence[Entry], agent: AgentProfile, members: Sequence[AgentProfile]
    ) -> tuple[dict[str, float], list[tuple[str, float]]]:
        """The features of a message for an agent, and what each of them adds to its score, the strongest first."""
        known = before(usable(history), message.get("message_id"))
        seen = self._observer.observe(message, known, agent, members)
        values = features(seen.scene, seen.message, seen.me)
        return dict(zip(NAMES, values, strict=True)), self._model.reasons(values)

    def _scored(self, case: Case, seen: Observation) -> Decision:
        values = features(seen.scene, seen.message, seen.me)
        score = self._model.score(values)
        options = self.options
        if rules.begins_with_other(seen) and score < self.threshold:
            return _decided(case, False, Reason.OTHER_NAMED, score, Stage.OTHERS)
        if self.judge is not None and options.judge_from <= score < options.judge_below:
            return _decided(case, None, Reason.UNDECIDED, score, Stage.SCORE, is_open=_is_open(seen))
        if score >= self.threshold:
            reason = Reason.PARTNER if values[_PARTNER] else Reason.SCORE_HIGH
            return _decided(case, True, reason, score, Stage.SCORE)
        return _decided(case, False, Reason.SCORE_LOW, score, Stage.SCORE, is_open=_is_open(seen))

    async def _judged(self, decision: Decision) -> Decision:
        case = decision.case
        if self.judge is None or case is None:
            return self._without_judge(decision, Reason.JUDGE_FAILED)
        if self._allow is not None and not self._allow():
            return self._without_judge(decision, Reason.JUDGE_BUDGET)
        question = judging.prompt(case, self.options.judge_lines)
        try:
            async with asyncio.timeout(self.options.judge_timeout):
                answer = await self.judge(question)
        except TimeoutError:
            return self._without_judge(decision, Reason.JUDGE_TIMEOUT)
        except Exception:  # a judge is somebody else's code: whatever it raises, the message waits for a decision
            logger.exception("the judge failed")
            return self._without_judge(decision, Reason.JUDGE_FAILED)
        verdict = judging.verdict(answer)
        if verdict is None:
            return self._without_judge(decision, Reason.JUDGE_UNCLEAR)
        reason = Reason.JUDGE_YES if verdict else Reason.JUDGE_NO
        return replace(decision, respond=verdict, reason=reason, stage=Stage.JUDGE)

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
    """True when a person speaks to nobody: no name, no reply, and no dialogue that this could belong to."""
    if seen.message.turn.to or seen.message.hinted or seen.roster.members[seen.speaker].kind == "bot":
        return False
    partner = seen.scene.partner.get(seen.speaker)
    return partner is None or seen.scene.size - partner[1] > _OPEN_AFTER
