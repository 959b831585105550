"""The gate's decision: answer, do not answer, or undecided; why, and how certain."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from nanobot_transcript.entry import Entry, well_formed
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.turns.loop_guard import LOOP_RULES

if TYPE_CHECKING:
    from nanobot_transcript.relevance.corrections import Correction

__all__ = [
    "LATER",
    "OUTCOMES",
    "SENTENCES",
    "STOPS",
    "Case",
    "Claiming",
    "Decision",
    "Reason",
    "Stage",
    "TurnOutcome",
    "later",
    "sentence_of",
]

_LONGEST_WHY: Final = 200


class Stage(StrEnum):
    """Where a decision was made, in order; the last four come after the gate."""

    NEVER = "never"
    CERTAIN = "certain"
    OTHERS = "others"
    SCORE = "score"
    JUDGE = "judge"
    CLAIM = "claim"
    GUARD = "guard"
    ANSWER = "answer"
    CORRECTION = "correction"


class Reason(StrEnum):
    """Why: stable codes for logs and programs."""

    INVALID = "invalid"
    OWN = "own"
    DUPLICATE = "duplicate"
    RECALLED = "recalled"
    STALE = "stale"
    COMMAND_FOR_OTHER = "command_for_other"
    MENTIONED = "mentioned"
    NAMED = "named"
    REPLIED_TO = "replied_to"
    OWN_THREAD = "own_thread"
    OTHER_MENTIONED = "other_mentioned"
    EVERYONE = "everyone"
    OTHER_NAMED = "other_named"
    OTHER_REPLIED_TO = "other_replied_to"
    OTHERS_THREAD = "others_thread"
    PARTNER = "partner"
    SCORE_HIGH = "score_high"
    SCORE_LOW = "score_low"
    OPEN_QUESTION = "open_question"
    OTHER_FITS = "other_fits"
    NO_ANSWER_WANTED = "no_answer_wanted"
    UNDECIDED = "undecided"
    JUDGE_YES = "judge_yes"
    JUDGE_NO = "judge_no"
    JUDGE_UNCLEAR = "judge_unclear"
    JUDGE_TIMEOUT = "judge_timeout"
    JUDGE_FAILED = "judge_failed"
    JUDGE_BUDGET = "judge_budget"
    CLAIMED = "claimed"
    CLAIM_SEEN = "claim_seen"
    TAKEN_OVER = "taken_over"
    COURTESY = "courtesy"
    ECHO = "echo"
    HOP_LIMIT = "hop_limit"
    PAIR_BUDGET = "pair_budget"
    ANSWERED = "answered"
    FAILED = "failed"
    SAID_NOTHING = "said_nothing"
    WITHDRAWN = "withdrawn"
    LOST_CLAIM = "lost_claim"
    INTRUDED = "intruded"
    MISSED = "missed"


Claiming: TypeAlias = Literal["claimed", "claim_seen", "taken_over"]
"""The outcome of a claim: this agent answers, another one does, or this one takes over from it."""
TurnOutcome: TypeAlias = Literal["answered", "failed", "said_nothing", "withdrawn", "lost_claim"]
"""What became of an answer that was started."""
LATER: Final[frozenset[str]] = frozenset({Stage.CLAIM, Stage.GUARD, Stage.ANSWER, Stage.CORRECTION})
"""Stages of decisions made about a message after the gate's own."""
STOPS: Final[frozenset[str]] = frozenset(Reason(rule.reason) for rule in LOOP_RULES)
"""Reasons for which the loop guard keeps a bot from answering another one."""
OUTCOMES: Final[frozenset[str]] = frozenset(get_args(TurnOutcome))
"""The outcomes of answers, as reasons of the stage ``ANSWER``."""
_MISTAKES: Final[frozenset[str]] = frozenset({Reason.INTRUDED, Reason.MISSED})
"""Corrections by people, as reasons of the last stage."""

SENTENCES: Final[dict[Reason, str]] = {
    Reason.INVALID: "It is no message: sender or text are missing.",
    Reason.OWN: "The agent wrote it itself.",
    Reason.DUPLICATE: "The agent has answered it already.",
    Reason.RECALLED: "It was recalled.",
    Reason.STALE: "It is too old to be answered.",
    Reason.COMMAND_FOR_OTHER: "It is a command for another bot.",
    Reason.MENTIONED: "It mentions the agent.",
    Reason.NAMED: "It calls the agent by name or alias.",
    Reason.REPLIED_TO: "It replies to the agent.",
    Reason.OWN_THREAD: "It is in the agent's thread.",
    Reason.OTHER_MENTIONED: "It mentions somebody else, and not the agent.",
    Reason.EVERYONE: "It is for the whole group, and for nobody in particular.",
    Reason.OTHER_NAMED: "It calls somebody else by name.",
    Reason.OTHER_REPLIED_TO: "It replies to somebody else.",
    Reason.OTHERS_THREAD: "It is in another bot's thread.",
    Reason.PARTNER: "Its sender was just talking with the agent.",
    Reason.SCORE_HIGH: "What was said before suggests that the agent is meant.",
    Reason.SCORE_LOW: "What was said before does not suggest that the agent is meant.",
    Reason.OPEN_QUESTION: "It asks anyone who knows, and nobody in particular.",
    Reason.OTHER_FITS: "Another bot is more likely to be meant.",
    Reason.NO_ANSWER_WANTED: "It is thanks, consent or the like, or says that no answer is needed.",
    Reason.UNDECIDED: "The score is in the undecided band; the judge is asked.",
    Reason.JUDGE_YES: "The judge said yes.",
    Reason.JUDGE_NO: "The judge said no.",
    Reason.JUDGE_UNCLEAR: "The judge said neither yes nor no.",
    Reason.JUDGE_TIMEOUT: "The judge did not answer in time.",
    Reason.JUDGE_FAILED: "The judge could not be asked.",
    Reason.JUDGE_BUDGET: "The judge's budget for this hour is used up.",
    Reason.CLAIMED: "It was the first to claim the message, and answers.",
    Reason.CLAIM_SEEN: "Another bot has claimed the message.",
    Reason.TAKEN_OVER: "The bot that had claimed the message did not answer; this one steps in.",
    **{Reason(rule.reason): f"The loop guard: {rule.sentence}" for rule in LOOP_RULES},
    Reason.ANSWERED: "It answered.",
    Reason.FAILED: "It could not answer.",
    Reason.SAID_NOTHING: "It had nothing to say.",
    Reason.WITHDRAWN: "Its answer was not sent: the message was recalled, or the host did not accept it.",
    Reason.LOST_CLAIM: "Its answer was not sent: another bot is answering now.",
    Reason.INTRUDED: "People said afterwards that it was not meant.",
    Reason.MISSED: "People asked it again by name: it was meant and had not answered.",
}


@dataclass(frozen=True, slots=True)
class Case:
    """What a decision was about, for the judge and the log."""

    message: Entry
    history: Sequence[Entry]
    agent: AgentProfile
    members: Sequence[AgentProfile]
    session_key: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """The gate's answer. ``respond`` is None while undecided: ``await gate.resolve(decision)`` then asks the judge.

    ``score`` is the probability (0 to 1) that the agent is addressed; 1 and 0 where a rule was certain. ``open`` is
    True for a person's message that seems to be for nobody in particular: if no agent answers by itself, one of them
    may claim it. ``why`` says in a sentence what went wrong with a failed answer.

    ``corrects`` is what the message says about an earlier decision of the agent.

    ``alone`` is what an undecided decision becomes when the judge gives no verdict.

    ``is_first`` is False when another bot is more likely addressed, and so claims the message earlier.

    ``thanked`` is True for a person's thanks or consent that is for the agent and gets no answer: a reaction may
    replace it.
    """

    respond: bool | None
    reason: Reason
    score: float
    stage: Stage
    agent: str = ""
    message_id: str | None = None
    open: bool = False
    session_key: str = ""
    case: Case | None = field(default=None, repr=False, compare=False)
    why: str = ""
    is_first: bool = True
    thanked: bool = False
    corrects: "Correction | None" = field(default=None, repr=False, compare=False)
    alone: bool | None = None

    @property
    def sentence(self) -> str:
        """The reason in words."""
        return SENTENCES[self.reason]


def sentence_of(reason: str) -> str:
    """A logged reason in words; a code that this version does not know is returned unchanged."""
    return next((sentence for known, sentence in SENTENCES.items() if known == reason), reason)


def later(reason: str, session_key: str, message: Entry, agent: str, score: float = 0.0, *, why: str = "") -> Decision:
    """A decision made after the gate: by a claim, by the loop guard (one of ``STOPS``), by how the answer went (one of
    ``OUTCOMES``), or by people (one of ``_MISTAKES``; then ``respond`` is what would have been right). One line of at
    most 200 characters is kept of ``why``.
    """
    known = Reason(reason)
    return Decision(
        known in (Reason.CLAIMED, Reason.TAKEN_OVER, Reason.ANSWERED, Reason.MISSED),
        known,
        score,
        _later_stage(known),
        agent,
        message.get("message_id"),
        session_key=session_key,
        why=_one_line(why),
    )


def _later_stage(reason: Reason) -> Stage:
    if reason in STOPS:
        return Stage.GUARD
    if reason in _MISTAKES:
        return Stage.CORRECTION
    return Stage.ANSWER if reason in OUTCOMES else Stage.CLAIM


def _one_line(text: str) -> str:
    line = " ".join(well_formed(text).split())
    return line if len(line) <= _LONGEST_WHY else f"{line[: _LONGEST_WHY - 1]}…"
