"""How the bots of a group behave in everyday scenes: who answers each line, compared with who was expected to."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from nanobot_transcript.relevance.choice import answering
from nanobot_transcript.relevance.decision import Decision
from nanobot_transcript.relevance.evaluation.calibration import Calibration
from nanobot_transcript.relevance.evaluation.scenes import Group, LabelledLine, labelled_lines
from nanobot_transcript.relevance.gate import RelevanceGate

__all__ = ["Conduct", "Kept", "Wrong", "conduct", "decisions"]


@dataclass(slots=True)
class Kept:
    """Lines of one kind: how many there are, and how many went as expected."""

    lines: int = 0
    met: int = 0

    @property
    def share(self) -> float:
        """The share of lines that went as expected."""
        return self.met / self.lines if self.lines else 0.0


class Wrong(NamedTuple):
    """A line that did not go as expected: who answered, and the scores of the bots that did or should have."""

    labelled: LabelledLine
    answered: frozenset[str]
    scores: dict[str, float]

    def document(self) -> dict[str, Any]:
        """For JSON. ``line`` is the file, the scene and the line in it: ``club 3.2``."""
        _, message, _, expected, kind = self.labelled
        return {
            "line": message["message_id"],
            "kind": kind,
            "from": message.get("sender_name"),
            "text": message["content"],
            "expected": sorted(expected.bots),
            "one_of": expected.one,
            "answered": sorted(self.answered),
            "scores": {bot: round(score, 4) for bot, score in self.scores.items()},
        }


@dataclass(slots=True)
class Conduct:
    """What the bots did. ``intrusions`` are lines that a bot answered without being addressed, ``misses`` lines that an
    addressed bot left unanswered; ``meant`` were for a bot, out of ``lines``. ``wrong`` lists the lines that did not go
    as expected.
    """

    kinds: dict[str, Kept] = field(default_factory=dict)
    lines: int = 0
    met: int = 0
    meant: int = 0
    intrusions: int = 0
    misses: int = 0
    wrong: list[Wrong] = field(default_factory=list)
    calibration: Calibration = field(default_factory=Calibration)

    @property
    def intrusions_per_100(self) -> float:
        """How many of 100 messages of people a bot answers without being addressed."""
        return 100 * self.intrusions / self.lines if self.lines else 0.0

    @property
    def misses_per_100(self) -> float:
        """How many of 100 messages for a bot get no answer from it."""
        return 100 * self.misses / self.meant if self.meant else 0.0

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "lines": self.lines,
            "as_expected": round(self.met / self.lines, 4) if self.lines else 0.0,
            "intrusions_per_100": round(self.intrusions_per_100, 2),
            "misses_per_100": round(self.misses_per_100, 2),
            **self.calibration.document(),
            "kinds": {
                kind: {"lines": one.lines, "as_expected": round(one.share, 4)} for kind, one in self.kinds.items()
            },
        }

    def count(self, labelled: LabelledLine, decisions: Sequence[Decision]) -> None:
        """Add a line: what each of the bots decided about it in the end."""
        for one in decisions:
            self.calibration.add(one.score, meant=one.agent in labelled.expected.bots)
        answered = answering(decisions)
        self._count(labelled, answered)
        if not labelled.expected.is_met(answered):
            involved = labelled.expected.bots | answered
            scores = {one.agent: one.score for one in decisions if one.agent in involved}
            self.wrong.append(Wrong(labelled, answered, scores))

    def _count(self, labelled: LabelledLine, answered: frozenset[str]) -> None:
        kept = self.kinds.setdefault(labelled.kind, Kept())
        bots, one = labelled.expected
        self.lines += 1
        kept.lines += 1
        self.meant += bool(bots)
        self.intrusions += bool(answered - bots) or (one and len(answered) > 1)
        self.misses += bool(bots) and not (answered & bots if one else bots <= answered)
        if labelled.expected.is_met(answered):
            self.met += 1
            kept.met += 1


def decisions(gate: RelevanceGate, labelled: LabelledLine) -> list[Decision]:
    """What each bot of the group decides about a line."""
    group = labelled.group
    return [gate.decide(labelled.message, labelled.history, bot, group.members) for bot in group.bots]


def conduct(
    groups: Sequence[Group],
    gate: RelevanceGate,
    *,
    warm: bool,
    progress: Callable[[int, int | None], None] | None = None,
) -> Conduct:
    """Let all bots of each group decide about each judged line; ``progress`` gets groups done and in total."""
    made = Conduct()
    for done, group in enumerate(groups, 1):
        for labelled in labelled_lines(group, warm=warm):
            made.count(labelled, decisions(gate, labelled))
        if progress is not None:
            progress(done, len(groups))
    return made
