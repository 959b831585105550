"""Which of many held patterns a call's patterns meet, without comparing each with each.

Two patterns meet only when what all their paths begin with fits together, and when the names at the end do, where both
say how those begin and end. Patterns are in buckets by these literal texts; ``patterns`` decides about what is left.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, Generic, NamedTuple, TypeVar

from transcript_mcp.mail.claims import patterns

__all__ = ["Meetings", "meetings"]

_MOST_WORK: Final = 10_000_000
"""Steps of comparing, a few seconds in the worst case."""
_EACH: Final = 20
_PLAIN_IS_CHEAPER: Final = 8

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Meetings:
    """Which wanted pattern meets which held one, as places in the two lists, in their order.

    Without ``complete`` it would have taken too long: only some of the pairs that might meet were looked at.
    """

    found: Sequence[tuple[int, int]]
    complete: bool


class _Ends(NamedTuple):
    """What every path that a pattern covers begins with, and what its last name begins and ends with; may be empty."""

    start: str
    head: str
    tail: str


def meetings(wanted: Sequence[str], held: Sequence[str]) -> Meetings:
    """Patterns as ``patterns.normalised`` gives them."""
    buckets: _Beginnings[_Beginnings[list[tuple[int, str]]]] = _Beginnings()
    for there, pattern in enumerate(held):
        ends = _ends(pattern)
        buckets.at(ends.start, _Beginnings).at(ends.head, list).append((there, ends.tail))
    pairs: list[tuple[int, int]] = []
    work = 0
    for here, pattern in enumerate(wanted):
        for there in _candidates(buckets, _ends(pattern)):
            work += _cost(pattern, held[there])
            if work > _MOST_WORK:
                return Meetings(_met(pairs, wanted, held), complete=False)
            pairs.append((there, here))
    return Meetings(_met(pairs, wanted, held), complete=True)


def _cost(a: str, b: str) -> int:
    product = len(a) * len(b)
    return _EACH + (product if _is_wild(a) and _is_wild(b) else product // _PLAIN_IS_CHEAPER)


def _is_wild(pattern: str) -> bool:
    return "*" in pattern or "?" in pattern or "[" in pattern


def _met(pairs: list[tuple[int, int]], wanted: Sequence[str], held: Sequence[str]) -> list[tuple[int, int]]:
    pairs.sort()  # one held pattern after the other: each is parsed once
    return sorted((here, there) for there, here in pairs if _meet(wanted[here], held[there]))


def _meet(wanted: str, held: str) -> bool:
    try:
        return patterns.overlap(wanted, held)
    except ValueError:  # kept by an earlier version, such as `~/x`: it ends one day, and stops nobody until then
        return wanted == held


class _Beginnings(Generic[_T]):
    """Values by text, found by texts of which one begins with the other."""

    def __init__(self) -> None:
        self._values: dict[str, _T] = {}
        self._sorted: list[str] | None = None

    def at(self, text: str, make: type[_T]) -> _T:
        if text not in self._values:
            self._values[text] = make()
            self._sorted = None
        return self._values[text]

    def fitting(self, text: str) -> Iterator[_T]:
        if self._sorted is None:
            self._sorted = sorted(self._values)
        for size in range(len(text)):
            if text[:size] in self._values:
                yield self._values[text[:size]]
        for known in islice(self._sorted, bisect_left(self._sorted, text), None):
            if not known.startswith(text):
                break
            yield self._values[known]


def _candidates(buckets: "_Beginnings[_Beginnings[list[tuple[int, str]]]]", ends: _Ends) -> Iterator[int]:
    for bucket in buckets.fitting(ends.start):
        for known in bucket.fitting(ends.head):
            for there, tail in known:
                if tail.endswith(ends.tail) or ends.tail.endswith(tail):
                    yield there


def _ends(pattern: str) -> _Ends:
    start = pattern[: _first_wild(pattern)].rstrip("/")
    if patterns.covers_below(pattern):
        return _Ends(start, "", "")
    name = pattern.rpartition("/")[2]
    return _Ends(start, name[: _first_wild(name)], name[max(name.rfind(each) for each in "*?]") + 1 :])


def _first_wild(text: str) -> int:
    return min((at for each in "*?[" if (at := text.find(each)) >= 0), default=len(text))
