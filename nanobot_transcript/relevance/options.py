"""How the gate decides: plain values with defaults that need no change."""

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

__all__ = ["STYLES", "GateOptions", "Style", "Thresholds"]

Style: TypeAlias = Literal["quiet", "balanced", "eager"]
"""How readily bots speak when nobody calls them; docs/en/gate.md tells what each costs."""


class Thresholds(NamedTuple):
    """The scores from which a bot answers, and from which a message is for a person."""

    bots: float
    members: float


STYLES: Final[dict[Style, Thresholds]] = {
    "quiet": Thresholds(0.6, 0.6),
    "balanced": Thresholds(0.45, 0.44),
    "eager": Thresholds(0.3, 0.3),
}


@dataclass(frozen=True, slots=True)
class GateOptions:
    """Times in seconds, probabilities from 0 to 1.

    Without a judge the score alone decides, at the threshold of the ``style``. With a judge, scores from ``judge_from``
    up to ``judge_below`` are undecided. ``on_judge_failure`` says what happens when the judge is late, fails, gives no
    verdict or has no budget left: ``score`` decides by the threshold, ``open`` answers, ``closed`` stays silent.
    """

    stale_after: float = 30 * 60
    style: Style = "balanced"
    judge_from: float = 0.2
    judge_below: float = 0.8
    judge_timeout: float = 5.0
    judge_lines: int = 20
    on_judge_failure: Literal["score", "open", "closed"] = "score"

    @property
    def thresholds(self) -> Thresholds:
        """The thresholds of the style."""
        return STYLES[self.style]
