"""Finds overlaps between many patterns without comparing every pair.

Two patterns can only overlap if the literal beginnings of their paths agree, and so do the literal beginnings and ends
of their last names. Patterns are put into buckets by these texts; ``patterns.overlap`` decides about the rest.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, Generic, NamedTuple, TypeVar

from transcript_mcp.mail.claims import patterns

__all__ = ["Meetings", "meetings"]

_MOST_WORK: Final = 10_000_000
"""Steps of comparisons: a few seconds in the worst case."""
_EACH: Final = 20
_PLAIN_IS_CHEAPER: Final = 8

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Meetings:
    """Pairs of a wanted and a held pattern that overlap, as indexes into the two lists, in order.

    Without ``complete``, comparing all would have taken too long, and only some pairs were compared.
    """

    found: Sequence[tuple[int, int]]
    complete: bool


class _Ends(NamedTuple):
    """The literal beginning of all paths that a pattern covers, and the literal beginning and end of the last name."""

    start: str
    head: str
    tail: str


def meetings(wanted: Sequence[str], held: Sequence[str]) -> Meetings:
    """The overlaps of normalised patterns."""
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
    pairs.sort()  # by held pattern, so that each is parsed once by the cached parser
    return sorted((here, there) for there, here in pairs if _meet(wanted[here], held[there]))


def _meet(wanted: str, held: str) -> bool:
    try:
        return patterns.overlap(wanted, held)
    except ValueError:  # stored by an earlier version, such as `~/x`: only conflicts with itself until it expires
        return wanted == held


class _Beginnings(Generic[_T]):
    """Values by text, found by any text that is a prefix of theirs or begins with theirs."""

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
