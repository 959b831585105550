"""How the gate decides: plain values with defaults that need no change."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["GateOptions"]


@dataclass(frozen=True, slots=True)
class GateOptions:
    """Times in seconds, probabilities from 0 to 1.

    Without a judge the score alone decides, at ``threshold`` (None = the one that the weights were tuned for). With a
    judge, scores from ``judge_from`` up to ``judge_below`` are undecided. ``on_judge_failure`` says what happens when
    the judge is late, fails, talks nonsense or has no budget left: ``score`` decides by the threshold, ``open``
    answers, ``closed`` stays silent.
    """

    stale_after: float = 30 * 60
    threshold: float | None = None
    judge_from: float = 0.2
    judge_below: float = 0.8
    judge_timeout: float = 5.0
    judge_lines: int = 20
    on_judge_failure: Literal["score", "open", "closed"] = "score"
