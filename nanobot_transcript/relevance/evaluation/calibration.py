"""Whether a score is a probability: of what scored 0.7, seven of ten should have been meant."""

from typing import Any, Final

__all__ = ["Calibration"]

_BINS: Final = 10


class Calibration:
    """Collects scores and what was true, in ten bins."""

    def __init__(self) -> None:
        self._scores: list[float] = [0.0] * _BINS
        self._meant: list[int] = [0] * _BINS
        self._count: list[int] = [0] * _BINS
        self._squares: float = 0.0

    def add(self, score: float, *, meant: bool) -> None:
        """Take in one decision."""
        at = min(int(score * _BINS), _BINS - 1)
        self._scores[at] += score
        self._meant[at] += meant
        self._count[at] += 1
        self._squares += (score - meant) ** 2

    @property
    def brier(self) -> float:
        """The mean square of what scores are off by: 0 is best."""
        whole = sum(self._count)
        return self._squares / whole if whole else 0.0

    @property
    def bins(self) -> list[tuple[float, float, int]]:
        """(Mean score, share that was meant, decisions) of each bin that has any."""
        filled = [at for at in range(_BINS) if self._count[at]]
        return [
            (self._scores[at] / self._count[at], self._meant[at] / self._count[at], self._count[at]) for at in filled
        ]

    def document(self) -> dict[str, Any]:
        """For JSON."""
        bins = [{"score": round(one, 3), "meant": round(share, 3), "decisions": n} for one, share, n in self.bins]
        return {"brier": round(self.brier, 4), "reliability": bins}
