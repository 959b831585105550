"""Precision, recall and F1, with intervals from resampling whole messages."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

__all__ = ["Counts", "Scores", "interval", "scores"]

_SAMPLES: Final = 400
_TAIL: Final = 0.025
_SEED: Final = 7


class Counts(NamedTuple):
    """What a rule did for one message: answered rightly, answered wrongly, wrongly silent."""

    hits: int
    false: int
    missed: int


@dataclass(frozen=True, slots=True)
class Scores:
    """Precision, recall, F1 and the 95 % interval of F1."""

    p: float
    r: float
    f1: float
    low: float = 0.0
    high: float = 0.0

    def document(self) -> dict[str, object]:
        """For JSON, four digits."""
        figures = {"p": round(self.p, 4), "r": round(self.r, 4), "f1": round(self.f1, 4)}
        return {**figures, "f1_interval": [round(self.low, 4), round(self.high, 4)]}


def scores(counts: Sequence[Counts]) -> Scores:
    """The scores of all messages together."""
    low, high = interval(counts)
    hits, false, missed = (sum(column) for column in zip(*counts, strict=True)) if counts else (0, 0, 0)
    return Scores(_share(hits, hits + false), _share(hits, hits + missed), _f1(hits, false, missed), low, high)


def interval(counts: Sequence[Counts]) -> tuple[float, float]:
    """The 95 % bootstrap interval of F1; deterministic."""
    telling = [one for one in counts if any(one)]  # the others do not change any sum
    if not telling:
        return 0.0, 0.0
    dice = random.Random(_SEED)
    drawn = sorted(_resampled(dice, telling) for _ in range(_SAMPLES))
    return drawn[int(_TAIL * _SAMPLES)], drawn[int((1 - _TAIL) * _SAMPLES) - 1]


def _resampled(dice: random.Random, counts: Sequence[Counts]) -> float:
    hits = false = missed = 0
    for one in dice.choices(counts, k=len(counts)):
        hits += one[0]
        false += one[1]
        missed += one[2]
    return _f1(hits, false, missed)


def _f1(hits: int, false: int, missed: int) -> float:
    return _share(2 * hits, 2 * hits + false + missed)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
