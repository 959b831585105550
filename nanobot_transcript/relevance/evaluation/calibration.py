"""Checks whether scores are probabilities: of messages that scored 0.7, seven of ten should have been for the bot."""

from typing import Any, Final

__all__ = ["Calibration"]

_BINS: Final = 10


class Calibration:
    """Collects scores and the truth, in ten bins."""

    def __init__(self) -> None:
        self._scores: list[float] = [0.0] * _BINS
        self._meant: list[int] = [0] * _BINS
        self._count: list[int] = [0] * _BINS
        self._squares: float = 0.0

    def add(self, score: float, *, meant: bool) -> None:
        """Add one decision."""
        at = min(int(score * _BINS), _BINS - 1)
        self._scores[at] += score
        self._meant[at] += meant
        self._count[at] += 1
        self._squares += (score - meant) ** 2

    @property
    def brier(self) -> float:
        """The mean squared error of the scores: 0 is best."""
        whole = sum(self._count)
        return self._squares / whole if whole else 0.0

    @property
    def bins(self) -> list[tuple[float, float, int]]:
        """(Mean score, share of true ones, decisions) for each bin that is not empty."""
        filled = [at for at in range(_BINS) if self._count[at]]
        return [
            (self._scores[at] / self._count[at], self._meant[at] / self._count[at], self._count[at]) for at in filled
        ]

    def document(self) -> dict[str, Any]:
        """For JSON."""
        bins = [{"score": round(one, 3), "meant": round(share, 3), "decisions": n} for one, share, n in self.bins]
        return {"brier": round(self.brier, 4), "reliability": bins}
