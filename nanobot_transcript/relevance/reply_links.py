"""Which earlier line a line answers, and so whom: a probability for each line just before it, learned from
structure.

A line is judged together with the ``WINDOW`` lines before it, so the result does not depend on lines behind it. A line
that answers its own writer's earlier line continues it, and is for the same members.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import log, log1p, sqrt
from typing import Final, NamedTuple, TypeAlias

from nanobot_transcript.relevance.dialogue import DialogueLine
from nanobot_transcript.relevance.trees import Trees

__all__ = ["PAIRS", "WINDOW", "Links", "links", "pairs"]

WINDOW: Final = 60
_BACK: Final = 40
_PER_MEMBER: Final = 4
_OWN_LINES: Final = 20
_LEAST: Final = 0.1
"""The least probability of an own line for which it is worth finding out whom that one was for."""
_NAMED: Final = 0.9
_SUPPOSED: Final = 0.6
_NEVER: Final = 120

PAIRS: Final = (
    "dist",
    "mins",
    "speakers_between",
    "own_between",
    "theirs_between",
    "own",
    "to_me",
    "to_other",
    "supposed_me",
    "supposed_other",
    "named",
    "other_named",
    "hinted",
    "they_ask",
    "asks",
    "their_last",
    "overlap",
    "likeness",
    "their_length",
    "length",
    "partner",
    "partner_of",
    "partner_gap",
    "their_answers",
    "answered",
    "before_own",
    "their_opening",
    "opening",
    "share",
    "span",
    "pending",
)
"""The numbers about a line and an earlier one, in order; the weights file refers to these names."""


class Links(NamedTuple):
    """Whom a line is for, judged by what it answers. By member: ``best`` is their most likely line, ``sums`` all of
    their lines, ``chain`` what comes by way of the writer's own lines, ``whole`` the sums and the chain together, at
    most 1. ``own`` is how likely it continues the writer's own line, ``total`` that it answers anything (more than 1
    when several lines are possible).
    """

    best: dict[int, float]
    sums: dict[int, float]
    chain: dict[int, float]
    whole: dict[int, float]
    own: float
    total: float


class _Past:
    """What the lines before one tell about who talks with whom."""

    def __init__(self, turns: Sequence[DialogueLine], end: int, speaker: int) -> None:
        self.start: int = max(0, end - WINDOW)
        self.last: dict[int, int] = {}
        self.partner: dict[int, tuple[int, int]] = {}
        self.supposed: dict[int, int] = {}
        self.count: Counter[int] = Counter()
        self.documents: Counter[str] = Counter()
        last, partner, supposed = self.last, self.partner, self.supposed
        for at in range(self.start, end):
            turn = turns[at]
            who, to = turn.who, turn.to
            last[who] = at
            self.count[who] += 1
            self.documents.update(turn.terms)
            if to:
                for other in to:
                    partner[who] = (other, at)
                    partner[other] = (who, at)
                supposed[at] = speaker if speaker in to else to[0]
            elif who in partner:
                supposed[at] = partner[who][0]


def pairs(turns: Sequence[DialogueLine], end: int, line: DialogueLine) -> Iterator[tuple[int, list[float]]]:
    """The earlier lines that ``line`` may answer, latest first, with the numbers about each; the line follows
    ``turns[:end]``.
    """
    yield from _pairs(turns, end, line, _Past(turns, end, line.who))


def links(turns: Sequence[DialogueLine], end: int, line: DialogueLine, model: Trees) -> Links:
    """Whom ``line`` is for, which follows ``turns[:end]``."""
    return _links(turns, end, line, model, deep=True)


def _links(turns: Sequence[DialogueLine], end: int, line: DialogueLine, model: Trees, *, deep: bool) -> Links:
    me = line.who
    past = _Past(turns, end, me)
    best: dict[int, float] = {}
    sums: dict[int, float] = {}
    chain: dict[int, float] = {}
    own = total = 0.0
    for at, values in _pairs(turns, end, line, past):
        likely = model.score(values)
        who = turns[at].who
        total += likely
        if who != me:
            best[who] = max(best.get(who, 0.0), likely)
            sums[who] = sums.get(who, 0.0) + likely
            continue
        own += likely
        if deep and likely >= _LEAST and end - at <= _OWN_LINES and not turns[at].to:
            whom = _links(turns, at, turns[at], model, deep=False).whole
        else:
            whom = _supposed(turns[at], past.supposed.get(at))
        for other, share in whom.items():
            chain[other] = chain.get(other, 0.0) + likely * share
    whole = {who: min(1.0, sums.get(who, 0.0) + chain.get(who, 0.0)) for who in sums | chain}
    for other in line.to:
        whole[other] = max(whole.get(other, 0.0), _NAMED)
    return Links(best, sums, chain, whole, own, total)


def _supposed(turn: DialogueLine, partner: int | None) -> dict[int, float]:
    if turn.to:
        return dict.fromkeys(turn.to, _NAMED)
    return {} if partner is None else {partner: _SUPPOSED}


_Pair: TypeAlias = tuple[int, list[float]]
"""The position of an earlier line, and the features of the two lines."""


def _pairs(turns: Sequence[DialogueLine], end: int, line: DialogueLine, past: _Past) -> Iterator[_Pair]:
    me, to, terms, documents = line.who, line.to, line.terms, past.documents
    lines = end - past.start
    whole = log(lines + 1)
    own = past.last.get(me, -1)
    mine = past.partner.get(me)
    size = sqrt(sum((whole - log(documents[term]) if term in documents else whole) ** 2 for term in terms))
    span = line.minutes_since(turns[past.start]) if lines else 0.0
    length, begins, hinted = log1p(line.length), line.opening, line.hinted
    own_between = pending = 0
    seen, answers, answered = Counter[int](), Counter[int](), Counter[int]()
    for at in range(end - 1, max(past.start, end - _BACK) - 1, -1):
        turn = turns[at]
        who, towards = turn.who, turn.to
        to_me = me in towards
        if seen[who] < _PER_MEMBER:
            overlap, likeness = _alike(terms, turn.terms, documents, whole, size)
            theirs, supposed = past.partner.get(who), past.supposed.get(at)
            yield (
                at,
                [
                    end - at,
                    round(line.minutes_since(turn)),
                    len(seen),
                    own_between,
                    seen[who],
                    who == me,
                    to_me,
                    bool(towards) and not to_me,
                    supposed == me,
                    supposed is not None and supposed != me,
                    who in to,
                    bool(to) and who not in to,
                    who in hinted,
                    turn.asks,
                    line.asks,
                    past.last[who] == at,
                    overlap,
                    likeness,
                    log1p(turn.length),
                    length,
                    mine is not None and mine[0] == who,
                    theirs is not None and theirs[0] == me,
                    end - mine[1] if mine else _NEVER,
                    answers[who],
                    answered[who],
                    own > at,
                    turn.opening,
                    begins,
                    past.count[who] / lines,
                    round(span),
                    pending,
                ],
            )
        own_between += who == me
        seen[who] += 1
        pending += to_me
        answers.update(towards)
        if who == me:
            answered.update(towards)


def _alike(
    terms: frozenset[str], others: frozenset[str], documents: Counter[str], whole: float, size: float
) -> tuple[float, float]:
    """What two lines have in common, weighted by rarity: the sum, and the cosine."""
    shared = terms & others
    if not shared:
        return 0.0, 0.0
    overlap = square = 0.0
    for term in shared:
        weight = whole - log(documents[term])
        overlap += weight
        square += weight * weight
    theirs = sqrt(sum((whole - log(documents[term])) ** 2 for term in others))
    return overlap, square / (size * theirs + 1e-9)
