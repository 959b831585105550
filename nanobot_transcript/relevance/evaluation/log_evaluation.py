"""Evaluates labelled logs: the gate next to simple rules."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import comb
from typing import Any, Final

from nanobot_transcript.relevance.evaluation.baselines import BASELINES, Rule
from nanobot_transcript.relevance.evaluation.calibration import Calibration
from nanobot_transcript.relevance.evaluation.irc import Log
from nanobot_transcript.relevance.evaluation.scores import Counts, Scores, scores
from nanobot_transcript.relevance.evaluation.task import LabelledCase, cases, names
from nanobot_transcript.relevance.gate import RelevanceGate

__all__ = ["BOTS", "Evaluation", "evaluate"]

BOTS: Final = 4
"""Bots in a group, by default."""


@dataclass(slots=True)
class Evaluation:
    """The scores by rule, over all decisions and over those whose member is not named in the text."""

    all: dict[str, Scores] = field(default_factory=dict)
    no_nick: dict[str, Scores] = field(default_factory=dict)
    messages: int = 0
    decisions: int = 0
    ms_per_decision: float = 0.0
    mentions: int = 0
    mentions_answered: int = 0
    intrusions_per_100: float = 0.0
    misses_per_100: float = 0.0
    calibration: Calibration = field(default_factory=Calibration)

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "all": {name: one.document() for name, one in self.all.items()},
            "no_nick": {name: one.document() for name, one in self.no_nick.items()},
            "decisions": self.decisions,
            "intrusions_per_100": round(self.intrusions_per_100, 2),
            "misses_per_100": round(self.misses_per_100, 2),
            **self.calibration.document(),
            "ms_per_decision": round(self.ms_per_decision, 4),
        }


def evaluate(
    logs: Sequence[Log],
    gate: RelevanceGate,
    progress: Callable[[int, int | None], None] | None = None,
    *,
    bots: int = BOTS,
) -> Evaluation:
    """Let ``gate`` and each baseline decide every case of ``logs``; ``progress`` gets logs done and in total. The rates
    per 100 messages are for a group with this number of ``bots`` among its members.
    """
    made = Evaluation()
    everything: dict[str, list[Counts]] = {name: [] for name in ("gate", *BASELINES)}
    unnamed: dict[str, list[Counts]] = {name: [] for name in everything}
    seconds = 0.0
    for done, log in enumerate(logs):
        for case in cases(log):
            began = time.process_time()
            decisions = [gate.decide(case.message, case.history, member, case.members) for member in case.candidates]
            seconds += time.process_time() - began
            answers = frozenset(one.agent for one in decisions if one.respond)
            for one in decisions:
                made.calibration.add(one.score, meant=one.agent in case.meant)
            made.intrusions_per_100 += _intrusion(answers, case, bots)
            _count(made, case, answers, everything, unnamed)
        if progress is not None:
            progress(done + 1, len(logs))
    made.all = {name: scores(counts) for name, counts in everything.items()}
    made.no_nick = {name: scores(counts) for name, counts in unnamed.items()}
    made.intrusions_per_100 *= 100 / made.messages if made.messages else 0.0
    made.misses_per_100 = 100 * (1 - made.all["gate"].r)
    made.ms_per_decision = 1000 * seconds / made.decisions if made.decisions else 0.0
    return made


def _count(
    made: Evaluation,
    case: LabelledCase,
    answers: frozenset[str],
    everything: Mapping[str, list[Counts]],
    unnamed: Mapping[str, list[Counts]],
) -> None:
    asked = frozenset(member.name for member in case.candidates)
    named = frozenset(nick for nick in asked if names(case.message["content"], nick))
    meant = case.meant & asked
    made.messages += 1
    made.decisions += len(asked)
    made.mentions += len(named & meant)
    made.mentions_answered += len(named & meant & answers)
    for name, yes in [("gate", answers), *((name, rule(case)) for name, rule in _rules())]:
        everything[name].append(_compared(yes, meant))
        unnamed[name].append(_compared(yes - named, meant - named))


def _intrusion(answers: frozenset[str], case: LabelledCase, bots: int) -> float:
    """The probability that a bot speaks without being addressed, when ``bots`` of the candidates, chosen at random, are
    bots.
    """
    wrong, count = len(answers - case.meant), len(case.candidates)
    drawn = min(bots, count)
    return 1 - comb(count - wrong, drawn) / comb(count, drawn) if count else 0.0


def _rules() -> list[tuple[str, Rule]]:
    return list(BASELINES.items())


def _compared(yes: frozenset[str], meant: frozenset[str]) -> Counts:
    return Counts(len(yes & meant), len(yes - meant), len(meant - yes))
