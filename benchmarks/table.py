"""The rows of the result and how they are shown."""

import unicodedata
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

__all__ = ["Bar", "Row", "as_json", "columns", "render"]


@dataclass(frozen=True)
class Bar:
    """A limit on the ratio (``of="ratio"``) or on the measured value itself; ``kind`` says which side is good."""

    kind: str
    floor: float
    goal: float | None = None
    of: str = "ratio"

    def met(self, value: float, limit: float) -> bool:
        """True when the value is on the good side."""
        return value >= limit if self.kind == ">=" else value <= limit


@dataclass
class Row:
    """One measured thing: the medians of all runs, and the ratio of each run."""

    name: str
    unit: str
    measured: float
    baseline: str
    baseline_measured: float | None
    ratios: list[float]
    bar: Bar | None = None
    note: str = ""

    @property
    def ratio(self) -> float:
        """The median ratio; speeds are divided by the baseline's speed, times by its time."""
        return median(self.ratios)

    @property
    def verdict(self) -> str:
        """pass, goal, FAIL, or nothing for a row without a bar."""
        if self.bar is None:
            return ""
        value = self.ratio if self.bar.of == "ratio" else self.measured
        if not self.bar.met(value, self.bar.floor):
            return "FAIL"
        return "goal" if self.bar.goal is not None and self.bar.met(value, self.bar.goal) else "pass"


def as_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The rows as plain values."""
    return [asdict(row) | {"ratio": row.ratio, "verdict": row.verdict} for row in rows]


def render(rows: Sequence[Row]) -> str:
    """A table for people."""
    head = ("what", "measured", "baseline", "ratio (runs)", "floor", "goal", "", "")
    return columns([head, *(_cells(row) for row in rows)])


def columns(lines: Sequence[Sequence[str]]) -> str:
    """The cells of each line below one another; a rule stands under the first line."""
    widths = [max(map(_width, column)) for column in zip(*lines, strict=True)]
    rule = "  ".join("-" * width for width in widths).rstrip()
    text = ["  ".join(_pad(cell, width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    return "\n".join([text[0], rule, *text[1:]])


def _cells(row: Row) -> tuple[str, ...]:
    spread = f" ({_short(min(row.ratios))}–{_short(max(row.ratios))})" if len(row.ratios) > 1 else ""
    baseline = row.baseline
    if row.baseline_measured is not None:
        baseline += f" {_short(row.baseline_measured)}"
    return (
        row.name,
        f"{_short(row.measured)} {row.unit}",
        baseline,
        f"{_short(row.ratio)}{spread}",
        _limit(row.bar, row.bar.floor if row.bar else None, row.unit),
        _limit(row.bar, row.bar.goal if row.bar else None, row.unit),
        row.verdict,
        row.note,
    )


def _limit(bar: Bar | None, limit: float | None, unit: str) -> str:
    if bar is None or limit is None:
        return ""
    sign = "≥" if bar.kind == ">=" else "≤"
    return f"{sign} {_short(limit)}" + ("x" if bar.of == "ratio" else f" {unit}")


def _short(value: float) -> str:
    if abs(value) >= 10_000:
        return f"{value / 1000:,.0f}k"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def _pad(text: str, width: int) -> str:
    return text + " " * (width - _width(text))
