"""Runs the task over labelled logs: the gate beside simple rules."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nanobot_transcript.relevance.evaluation.baselines import BASELINES, Rule
from nanobot_transcript.relevance.evaluation.irc import Log
from nanobot_transcript.relevance.evaluation.scores import Counts, Scores, scores
from nanobot_transcript.relevance.evaluation.task import Case, cases, names
from nanobot_transcript.relevance.gate import RelevanceGate

__all__ = ["Evaluation", "evaluate"]


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

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "all": {name: one.document() for name, one in self.all.items()},
            "no_nick": {name: one.document() for name, one in self.no_nick.items()},
            "decisions": self.decisions,
            "ms_per_decision": round(self.ms_per_decision, 4),
        }


def evaluate(
    logs: Sequence[Log], gate: RelevanceGate, progress: Callable[[int, int | None], None] | None = None
) -> Evaluation:
    """Let ``gate`` and each baseline decide every case of ``logs``; ``progress`` gets logs done and in all."""
    made = Evaluation()
    everything: dict[str, list[Counts]] = {name: [] for name in ("gate", *BASELINES)}
    unnamed: dict[str, list[Counts]] = {name: [] for name in everything}
    seconds = 0.0
    for done, log in enumerate(logs):
        for case in cases(log):
            began = time.process_time()
            answers = frozenset(
                member.name
                for member in case.candidates
                if gate.decide(case.message, case.history, member, case.members).respond
            )
            seconds += time.process_time() - began
            _count(made, case, answers, everything, unnamed)
        if progress is not None:
            progress(done + 1, len(logs))
    made.all = {name: scores(counts) for name, counts in everything.items()}
    made.no_nick = {name: scores(counts) for name, counts in unnamed.items()}
    made.ms_per_decision = 1000 * seconds / made.decisions if made.decisions else 0.0
    return made


def _count(
    made: Evaluation,
    case: Case,
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


def _rules() -> list[tuple[str, Rule]]:
    return list(BASELINES.items())


def _compared(yes: frozenset[str], meant: frozenset[str]) -> Counts:
    return Counts(len(yes & meant), len(yes - meant), len(meant - yes))
