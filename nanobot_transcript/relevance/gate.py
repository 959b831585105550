"""The relevance gate: decides for one agent whether a message is for it."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.relevance import judge as judging
from nanobot_transcript.relevance import rules
from nanobot_transcript.relevance.candidates import SIGNS, candidates
from nanobot_transcript.relevance.corrections import correction
from nanobot_transcript.relevance.decision import LATER, Case, Decision, Reason, Stage, later
from nanobot_transcript.relevance.decision_log import DecisionLog
from nanobot_transcript.relevance.expertise import read_words
from nanobot_transcript.relevance.features import features
from nanobot_transcript.relevance.judge import Judge
from nanobot_transcript.relevance.message_history import past_of
from nanobot_transcript.relevance.model import ScoreModel, shipped_model
from nanobot_transcript.relevance.observation import Observation, Observer
from nanobot_transcript.relevance.options import GateOptions
from nanobot_transcript.relevance.request_words import asks_anybody
from nanobot_transcript.relevance.text import is_question
from nanobot_transcript.relevance.thanks import is_thanked

if TYPE_CHECKING:
    from nanobot_transcript.relevance.reply_links import Links

__all__ = ["RelevanceGate"]

logger = logging.getLogger(__name__)

_OPEN_AFTER: Final = 12
_TALKING_MINUTES: Final = 10  # the loop guard's idle time: anything older is another conversation
_GOING_ON: Final = 0.85
"""A score above those about which a judge is asked."""
_NEARLY: Final = 0.75
"""Share of the highest score: a bot above it may be addressed as well, and steps in if the best does not claim."""
_LATE_IN_A_ROW: Final = 2
_REST: Final = 30.0
"""Seconds without questions to a judge that was late, because further messages would wait for it, too."""


class RelevanceGate:
    """Who answers? Every process that reads the same record comes to the same verdict.

    ``decide`` is pure and quick; ``resolve`` asks the ``judge`` about undecided messages and writes the decision to the
    ``log``, if there are any. ``allow`` is called before each question to the judge, in a thread, and says whether
    there is budget left. One gate serves any number of agents and chats; it must not be used by two threads at once.
    """

    def __init__(
        self,
        options: GateOptions | None = None,
        judge: Judge | None = None,
        log: DecisionLog | None = None,
        *,
        allow: Callable[[], bool] | None = None,
        model: ScoreModel | None = None,
    ) -> None:
        self.options: GateOptions = options or GateOptions()
        self.judge: Judge | None = judge
        self.log: DecisionLog | None = log
        self._allow = allow
        self._model: ScoreModel = model or shipped_model()
        read_words()  # takes 0.1 s: now, rather than on the event loop when the first message waits
        self._observer: Observer = Observer(self._model.links)
        self._scored: tuple[Any, Links, dict[int, float]] | None = None
        self._late: int = 0
        self._rested_at: float = 0.0

    @property
    def threshold(self) -> float:
        """The score from which a bot answers when no judge is asked."""
        return self.options.thresholds.bots

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
        """Whether ``agent`` should answer ``message``; never raises because of the content of entries.

        ``history`` holds the entries before it, oldest first, including those of other bots; the last 100 count, and a
        copy of the message itself does no harm. ``members`` are the known people and bots of the group. ``owner`` is
        the name of the agent that owns the message's thread (empty: nobody does); without it the history tells. It
        counts for messages with a ``thread_id``. ``now_ms`` is the current time; without it the time of receipt
        (``rts``) counts, and messages that were not pushed (imported, from the history) count as on time.
        """
        case = Case(message, history, agent, members, session_key)
        past = past_of(history, message.get("message_id") if isinstance(message, dict) else None)
        reason = rules.never(message, past, agent, now_ms, self.options.stale_after * 1000)
        if reason is not None:
            return _decided(case, False, reason, 0.0, Stage.NEVER)
        seen = self._observer.observe(message, past.lines, agent, members, session_key)
        if rules.for_other_bot(message, seen):
            return _decided(case, False, Reason.COMMAND_FOR_OTHER, 0.0, Stage.NEVER)
        if owner is None:
            owner = rules.thread_owner(message, past.lines, members)
        if agent.kind == "bot":
            decision = _with_thanks(self._of_bots(case, seen, past.lines, owner), seen)
            found = correction(seen, past.lines)
            return decision if found is None else replace(decision, corrects=found)
        reason = rules.certain(seen)
        if reason is not None:
            return _decided(case, True, reason, 1.0, Stage.CERTAIN)
        verdict = rules.others(seen, message, agent, owner)
        if verdict is not None:
            reason, mine = verdict
            return _decided(case, mine, reason, float(mine), Stage.CERTAIN if mine else Stage.OTHERS)
        return self._of_members(case, seen)

    async def resolve(self, decision: Decision) -> Decision:
        """The final decision: the judge's when it was undecided. Never raises. Logs it, with any correction in the
        message.
        """
        if decision.respond is None:
            decision = await self._judged(decision)
        self.note(decision)
        if decision.corrects is not None and self.log is not None:
            await asyncio.to_thread(self._note_correction, self.log, decision)
        return decision

    def note(self, decision: Decision) -> None:
        """Write a decision to the log, if there is one. Never raises."""
        if self.log is not None:
            self.log.write(decision.session_key, decision)

    async def aclose(self) -> None:
        """Close the judge's connections, if it has any; whoever created the gate calls this."""
        close = getattr(self.judge, "aclose", None)
        if close is not None:
            await close()

    def explain(
        self, message: Entry, history: Sequence[Entry], agent: AgentProfile, members: Sequence[AgentProfile]
    ) -> tuple[dict[str, float], list[tuple[str, float]]]:
        """The signs of a message for a bot, and what each adds to its score, strongest first."""
        lines = past_of(history, message.get("message_id")).lines
        seen = Observer(self._model.links).observe(message, lines, agent, members)
        bots = [member for member in seen.roster.members if member.kind == "bot"]
        rows = candidates(seen, lines, bots, self._model.members, self._model.phrases)
        values = rows[next(at for at, bot in enumerate(bots) if bot is agent)]
        return dict(zip(SIGNS, map(float, values), strict=True)), self._model.bots.reasons(values)

    def _of_members(self, case: Case, seen: Observation) -> Decision:
        """Whether a message is for a person: the same question, judged by structure alone."""
        score = self._model.members.score(features(seen.scene, seen.message, seen.found, seen.me))
        respond = score >= self.options.thresholds.members
        reason = Reason.NAMED if seen.me in seen.named else Reason.SCORE_HIGH
        return _decided(case, respond, reason if respond else Reason.SCORE_LOW, score, Stage.SCORE)

    def _of_bots(self, case: Case, seen: Observation, lines: Sequence[Entry], owner: str | None) -> Decision:
        """Whether a bot should answer: all bots of the group are compared."""
        unwanted = not _from_bot(seen) and rules.wants_no_answer(seen)
        if seen.me in seen.mentioned:
            return _settled(case, Reason.MENTIONED, 1.0, unwanted=unwanted)
        if owner == case.agent.name and rules.in_thread(case.message, seen):
            return _settled(case, Reason.OWN_THREAD, 1.0, unwanted=unwanted)
        if rules.is_clearly_called(seen, seen.me):
            return _settled(case, Reason.NAMED, 1.0, unwanted=unwanted)
        scores = self._scores(seen, lines)
        mine = scores[seen.me]
        if rules.is_called(seen, seen.me) and mine >= self.threshold:
            reason = Reason.NAMED if seen.me in seen.spelled else Reason.REPLIED_TO
            return _settled(case, reason, mine, unwanted=unwanted)
        reason = self._for_another(case, seen, scores, owner)
        if reason is not None:
            return _decided(case, False, reason, mine, Stage.OTHERS)
        return self._guessed(case, seen, scores, unwanted=unwanted)

    def _scores(self, seen: Observation, lines: Sequence[Entry]) -> dict[int, float]:
        """How likely each bot of the group is to answer, by position; computed once for all of them."""
        key = (id(seen.found), seen.text, seen.mentioned, seen.spelled, seen.everyone, seen.reply_author)
        if self._scored is None or self._scored[0] != key or self._scored[1] is not seen.found:
            places = [at for at, member in enumerate(seen.roster.members) if member.kind == "bot"]
            bots = [seen.roster.members[at] for at in places]
            rows = candidates(seen, lines, bots, self._model.members, self._model.phrases)
            made = {at: self._model.bots.score(row) for at, row in zip(places, rows, strict=True)}
            self._scored = (key, seen.found, made)
        return self._scored[2]

    def _for_another(
        self, case: Case, seen: Observation, scores: Mapping[int, float], owner: str | None
    ) -> Reason | None:
        """Why the message is for somebody else, when that is certain."""
        if seen.mentioned:
            return Reason.OTHER_MENTIONED
        if owner and owner != case.agent.name and rules.in_thread(case.message, seen):
            return Reason.OTHERS_THREAD
        for other, score in scores.items():
            if other in (seen.me, seen.speaker) or not rules.is_called(seen, other):
                continue
            if score >= self.threshold or rules.is_clearly_called(seen, other):
                return Reason.OTHER_NAMED if other in seen.spelled else Reason.OTHER_REPLIED_TO
        if seen.reply_author not in (None, seen.speaker, seen.me):
            return Reason.OTHER_REPLIED_TO
        return Reason.OTHER_NAMED if rules.calls_person(seen, case.message) else None

    def _guessed(self, case: Case, seen: Observation, scores: Mapping[int, float], *, unwanted: bool) -> Decision:
        mine, options = scores[seen.me], self.options
        if unwanted:
            return _decided(case, False, Reason.NO_ANSWER_WANTED, mine, Stage.OTHERS)
        awaited = rules.goes_on(seen)
        if awaited:
            mine = max(mine, _GOING_ON)
        elif rules.goes_on_with_other(seen):
            return _decided(case, False, Reason.SCORE_LOW, mine, Stage.SCORE, first=False)
        most = max(score for at, score in scores.items() if at != seen.speaker or at == seen.me)
        first = mine >= most
        nearly = mine >= _NEARLY * most
        alone = self._by_score(case, seen, scores, mine, most, is_awaited=awaited)
        if self.judge is not None and nearly and options.judge_from <= mine < options.judge_below:
            is_open = alone.open or _is_open(seen)
            undecided = _decided(case, None, Reason.UNDECIDED, mine, Stage.SCORE, is_open=is_open, first=first)
            return replace(undecided, alone=alone.respond)
        return alone

    def _by_score(
        self, case: Case, seen: Observation, scores: Mapping[int, float], mine: float, most: float, *, is_awaited: bool
    ) -> Decision:
        """What the scores decide when no judge is asked."""
        is_open, first, nearly = _is_open(seen), mine >= most, mine >= _NEARLY * most
        if mine >= self.threshold and not nearly:
            return _decided(case, False, Reason.OTHER_FITS, mine, Stage.SCORE, is_open=is_open, first=False)
        if mine >= self.threshold:
            talking = is_awaited or (
                seen.scene.partner.get(seen.speaker, (None, 0))[0] == seen.me and _is_talking(seen)
            )
            reason = Reason.PARTNER if talking else Reason.SCORE_HIGH
            return _decided(case, True, reason, mine, Stage.SCORE, is_open=is_open, first=first)
        if (is_open and _asks(seen, scores)) or (most < self.threshold and _asks_whoever_knows(seen)):
            return _decided(case, True, Reason.OPEN_QUESTION, mine, Stage.SCORE, is_open=True, first=first)
        if rules.begins_with_other(seen):
            return _decided(case, False, Reason.OTHER_NAMED, mine, Stage.OTHERS)
        reason = Reason.EVERYONE if seen.everyone else Reason.SCORE_LOW
        return _decided(case, False, reason, mine, Stage.SCORE, is_open=is_open, first=first)

    @staticmethod
    def _note_correction(log: DecisionLog, decision: Decision) -> None:
        """Log a correction in the message: once, and only when this agent had made that decision."""
        found, key = decision.corrects, decision.session_key
        if found is None or not found.message.get("message_id"):
            return
        try:
            noted = log.read(key, found.message["message_id"])
            mine = [one for one in noted if one.get("agent") == decision.agent]
            stages = [str(one.get("stage")) for one in mine]
            decided = [one.get("respond") is True for one, at in zip(mine, stages, strict=True) if at not in LATER]
            if decided and decided[-1] == (found.mistake == Reason.INTRUDED) and Stage.CORRECTION not in stages:
                log.write(key, later(found.mistake, key, found.message, decision.agent))
        except Exception:
            logger.exception("a correction could not be logged")

    async def _judged(self, decision: Decision) -> Decision:
        case = decision.case
        if self.judge is None or case is None:
            return self._without_judge(decision, Reason.JUDGE_FAILED)
        if asyncio.get_running_loop().time() < self._rested_at:
            return self._without_judge(decision, Reason.JUDGE_TIMEOUT)
        try:  # judge and budget are somebody else's code: whatever they raise, the message needs a decision
            if self._allow is not None and not await asyncio.to_thread(self._allow):  # it may wait for a lock
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
            if limit.expired():  # otherwise the judge itself timed out
                self._judge_was_late()
            return None
        self._late = 0
        return (answer,)

    def _judge_was_late(self) -> None:
        self._late += 1
        if self._late >= _LATE_IN_A_ROW:
            self._rested_at = asyncio.get_running_loop().time() + _REST
            logger.warning("The judge does not answer in time and is not asked for %g s", _REST)

    def _without_judge(self, decision: Decision, reason: Reason) -> Decision:
        fallback = self.options.on_judge_failure
        respond = decision.alone if fallback == "score" else fallback == "open"
        return replace(decision, respond=respond, reason=reason, stage=Stage.JUDGE)


def _settled(case: Case, reason: Reason, score: float, *, unwanted: bool) -> Decision:
    """A certain decision to answer, unless no answer is wanted."""
    if unwanted:
        return _decided(case, False, Reason.NO_ANSWER_WANTED, 0.0, Stage.CERTAIN)
    return _decided(case, True, reason, score, Stage.CERTAIN)


def _with_thanks(decision: Decision, seen: Observation) -> Decision:
    """The decision, with ``thanked`` set when the agent is thanked."""
    if decision.reason is not Reason.NO_ANSWER_WANTED or decision.case is None:
        return decision
    return replace(decision, thanked=is_thanked(seen, decision.case.message))


def _decided(
    case: Case,
    respond: bool | None,
    reason: Reason,
    score: float,
    stage: Stage,
    *,
    is_open: bool = False,
    first: bool = True,
) -> Decision:
    message_id = case.message.get("message_id") if isinstance(case.message, dict) else None
    known = message_id if isinstance(message_id, str) else None
    return Decision(
        respond, reason, score, stage, case.agent.name, known, is_open, case.session_key, case, is_first=first
    )


def _is_open(seen: Observation) -> bool:
    """True when a person speaks to nobody in particular: to the whole group, or without name, reply, or a current
    dialogue that the message could belong to.
    """
    if seen.everyone and not seen.mentioned and not _from_bot(seen):
        return True
    return not (seen.message.turn.to or seen.message.turn.hinted or _from_bot(seen) or _is_talking(seen))


def _asks(seen: Observation, bots: Iterable[int]) -> bool:
    """True for a question to anybody who knows; for any question when no bot says what it is for."""
    described = any(seen.roster.members[at].description for at in bots)
    return asks_anybody(seen.text) if described else is_question(seen.text)


def _asks_whoever_knows(seen: Observation) -> bool:
    """True when a person asks anybody who knows, and names nobody; even in the middle of a conversation with
    somebody.
    """
    return not (seen.message.turn.to or seen.message.turn.hinted or _from_bot(seen)) and asks_anybody(seen.text)


def _is_talking(seen: Observation) -> bool:
    """True when the speaker was in touch with somebody just now, by lines and by the clock."""
    scene, partner = seen.scene, seen.scene.partner.get(seen.speaker)
    if partner is None or scene.size - partner[1] > _OPEN_AFTER:
        return False
    return seen.message.turn.minutes_since(scene.turns[partner[1]]) <= _TALKING_MINUTES


def _from_bot(seen: Observation) -> bool:
    return seen.roster.members[seen.speaker].kind == "bot"
