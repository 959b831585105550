"""What a judge would change: who answers each line of everyday scenes with and without it, and what it costs."""

import asyncio
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeVar

from nanobot_transcript.relevance.decision import Decision, Reason
from nanobot_transcript.relevance.evaluation.conduct import Conduct, decisions
from nanobot_transcript.relevance.evaluation.recorded_answers import RecordedAnswer, RecordedJudge
from nanobot_transcript.relevance.evaluation.scenes import Group, LabelledLine, labelled_lines
from nanobot_transcript.relevance.gate import RelevanceGate
from nanobot_transcript.relevance.options import GateOptions

__all__ = ["Cost", "DecidedLine", "Trial", "decided", "tried"]

_Key = TypeVar("_Key")

_MOST: Final = 0.95


class DecidedLine(NamedTuple):
    """What all bots decide about a line: without a judge, and with one, where some may be undecided."""

    labelled: LabelledLine
    alone: list[Decision]
    asking: list[Decision]


@dataclass(slots=True)
class Cost:
    """What the judge ``model`` is asked in ``lines`` messages of people, and what its answers cost.

    ``asked_about`` counts messages with at least one question, ``questions`` those of all bots, ``decisions`` all
    decisions of the bots. ``missing`` questions have no recorded answer, ``late`` ones were answered after more than
    ``patience`` seconds, ``unclear`` ones with neither yes nor no. ``seconds`` and tokens are those of the recorded
    answers; tokens only where recorded.
    """

    model: str
    patience: float
    lines: int = 0
    asked_about: int = 0
    questions: int = 0
    decisions: int = 0
    missing: int = 0
    late: int = 0
    unclear: int = 0
    seconds: list[float] = field(default_factory=list)
    prompt_tokens: list[int] = field(default_factory=list)
    completion_tokens: list[int] = field(default_factory=list)

    def count(self, told: Sequence[RecordedAnswer | None], decisions: Sequence[Decision]) -> None:
        """Add a line: the judge's answers about it, and the final decisions."""
        answers = [answer for answer in told if answer is not None]
        self.lines += 1
        self.asked_about += bool(told)
        self.questions += len(told)
        self.decisions += len(decisions)
        self.missing += len(told) - len(answers)
        self.late += sum(answer.seconds > self.patience for answer in answers)
        self.unclear += sum(one.reason is Reason.JUDGE_UNCLEAR for one in decisions)
        self.seconds += [answer.seconds for answer in answers]
        self.prompt_tokens += [one.prompt_tokens for one in answers if one.prompt_tokens is not None]
        self.completion_tokens += [one.completion_tokens for one in answers if one.completion_tokens is not None]

    @property
    def asked_about_per_100(self) -> float:
        """About how many of 100 messages the judge is asked."""
        return 100 * self.asked_about / self.lines if self.lines else 0.0

    @property
    def questions_per_100(self) -> float:
        """Questions for 100 messages, of all bots together."""
        return 100 * self.questions / self.lines if self.lines else 0.0

    @property
    def questions_per_bot_per_100(self) -> float:
        """Questions for 100 messages, per bot of the group."""
        return 100 * self.questions / self.decisions if self.decisions else 0.0

    @property
    def median_seconds(self) -> float | None:
        """The median time of an answer; None when none is recorded."""
        return statistics.median(self.seconds) if self.seconds else None

    @property
    def most_seconds(self) -> float | None:
        """The time within which 95 of 100 answers came."""
        return sorted(self.seconds)[math.ceil(_MOST * len(self.seconds)) - 1] if self.seconds else None

    def tokens_per_100(self, tokens: Sequence[int]) -> float | None:
        """The tokens for 100 messages, estimated from the answers that have token counts; None when none has."""
        return statistics.fmean(tokens) * self.questions_per_100 if tokens else None

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "model": self.model,
            "timeout": self.patience,
            "asked_about_per_100": round(self.asked_about_per_100, 2),
            "questions_per_bot_per_100": round(self.questions_per_bot_per_100, 2),
            "questions_per_100": round(self.questions_per_100, 2),
            "prompt_tokens_per_100": _rounded(self.tokens_per_100(self.prompt_tokens), 1),
            "completion_tokens_per_100": _rounded(self.tokens_per_100(self.completion_tokens), 1),
            "median_seconds": _rounded(self.median_seconds, 3),
            "p95_seconds": _rounded(self.most_seconds, 3),
            "questions": self.questions,
            "late": self.late,
            "unclear": self.unclear,
            "missing": self.missing,
        }


@dataclass(slots=True)
class Trial:
    """The same lines with and without a judge, and the cost of the judge."""

    cost: Cost
    alone: Conduct = field(default_factory=Conduct)
    judged: Conduct = field(default_factory=Conduct)

    def document(self) -> dict[str, Any]:
        """For JSON: what ``Conduct`` gives without a judge, with the rest added. The scores are the same."""
        scored = self.judged.calibration.document()
        judged = {name: value for name, value in self.judged.document().items() if name not in scored}
        return {**self.alone.document(), "with_judge": judged, "judge": self.cost.document()}


def decided(
    groups: Sequence[Group],
    options: GateOptions,
    judge: RecordedJudge,
    *,
    warm: bool,
    progress: Callable[[int, int | None], None] | None = None,
) -> list[DecidedLine]:
    """What all bots decide about each judged line before the judge is asked; ``progress`` gets groups done and in
    total.

    A gate with a judge differs from one without only where it leaves a decision open.
    """
    gate, asking = RelevanceGate(options), RelevanceGate(options, judge)
    lines: list[DecidedLine] = []
    for done, group in enumerate(groups, 1):
        for labelled in labelled_lines(group, warm=warm):
            found = decisions(asking, labelled)
            is_open = any(one.respond is None for one in found)
            lines.append(DecidedLine(labelled, decisions(gate, labelled) if is_open else found, found))
        if progress is not None:
            progress(done, len(groups))
    return lines


async def tried(
    lines: Mapping[_Key, Sequence[DecidedLine]], options: GateOptions, judge: RecordedJudge
) -> dict[_Key, Trial]:
    """What becomes of ``lines`` when ``judge`` gives its recorded answers, by the same keys."""
    return {key: await _tried(some, options, judge) for key, some in lines.items()}


async def _tried(lines: Sequence[DecidedLine], options: GateOptions, judge: RecordedJudge) -> Trial:
    gate, made = RelevanceGate(options, judge), Trial(Cost(judge.model, judge.patience))
    for line in lines:
        await asyncio.sleep(0)  # nothing else yields here, and Ctrl-C has to work
        judge.told.clear()
        final = [await gate.resolve(one) for one in line.asking]
        made.alone.count(line.labelled, line.alone)
        made.judged.count(line.labelled, final)
        made.cost.count(judge.told, final)
    return made


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
