"""What the last lines of a group say about who talks with whom, from the point of view of one speaker.

One pass over the history, the same for every member. Positions count lines; a larger one is later. A line is *to*
somebody when it names, mentions or replies to them (explicitly), or else, as long as nothing says otherwise, to the
one with whom its speaker last was in touch (effectively).
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

__all__ = ["NEVER", "Scene", "Turn"]

NEVER: Final = -1000
"""The position of a line that does not exist."""

_PARTNER_LINES: Final = 60


class Turn(NamedTuple):
    """One line: who spoke, to whom explicitly, whether it asks, its minute, its terms, its length."""

    who: int
    to: frozenset[int]
    asks: bool
    minute: int
    terms: frozenset[str]
    length: int


class Scene:
    """The state after ``turns``, for the ``speaker`` of the next line. Dictionaries are by member.

    For everybody: the ``last`` line and the one ``before`` it, the ``first`` line, the ``count`` of lines and how many
    were ``spoken_to`` somebody, the ``partner`` (whom they were last in touch with, and the line), and when they last
    ``asked``. For the speaker: the last explicit and effective line to (``said``, ``meant``) and from (``heard``,
    ``felt``) each member and how many explicit ones (``exchanged``). Since the speaker's own last line: lines that
    were for the speaker (``pending``), free lines (``answered``), and the ``order`` in which others spoke up.
    """

    __slots__ = (
        "answered",
        "asked",
        "before",
        "count",
        "exchanged",
        "explicit",
        "felt",
        "first",
        "heard",
        "last",
        "meant",
        "order",
        "own_target",
        "partner",
        "pending",
        "said",
        "size",
        "speaker",
        "spoken_to",
        "turns",
    )

    def __init__(self, turns: Sequence[Turn], speaker: int) -> None:
        self.turns: Sequence[Turn] = turns
        self.size: int = len(turns)
        self.speaker: int = speaker
        self.last: dict[int, int] = {}
        self.before: dict[int, int] = {}
        self.first: dict[int, int] = {}
        self.count: dict[int, int] = {}
        self.spoken_to: dict[int, int] = {}
        self.partner: dict[int, tuple[int, int]] = {}
        self.asked: dict[int, int] = {}
        self.said: dict[int, int] = {}
        self.heard: dict[int, int] = {}
        self.meant: dict[int, int] = {}
        self.felt: dict[int, int] = {}
        self.exchanged: dict[int, int] = {}
        self.pending: dict[int, int] = {}
        self.answered: dict[int, int] = {}
        self.order: dict[int, int] = {}
        self.explicit: int = 0
        self.own_target: int | None = None
        for at, turn in enumerate(turns):
            self._take(at, turn)

    def _take(self, at: int, turn: Turn) -> None:
        who, to, speaker = turn.who, turn.to, self.speaker
        target = self._explicit_target(at, who, to) if to else self._effective_target(at, who)
        if who == speaker:
            self.pending.clear()
            self.answered.clear()
            self.order.clear()
            self.own_target = target
            if target is not None:
                self.meant[target] = at
        else:
            if target == speaker:
                self.felt[who] = at
                self.pending[who] = self.pending.get(who, 0) + 1
            elif not to and speaker in self.last:
                self.answered[who] = self.answered.get(who, 0) + 1
            if who not in self.order and speaker in self.last:
                self.order[who] = len(self.order)
        if turn.asks:
            self.asked[who] = at
        if who in self.last:
            self.before[who] = self.last[who]
            self.count[who] += 1
        else:
            self.first[who] = at
            self.count[who] = 1
        self.last[who] = at

    def _explicit_target(self, at: int, who: int, to: frozenset[int]) -> int:
        self.explicit += 1
        self.spoken_to[who] = self.spoken_to.get(who, 0) + 1
        speaker, partner = self.speaker, self.partner
        for other in to:
            partner[who] = (other, at)
            partner[other] = (who, at)
            if who == speaker:
                self.said[other] = at
                self.exchanged[other] = self.exchanged.get(other, 0) + 1
            elif other == speaker:
                self.heard[who] = at
                self.exchanged[who] = self.exchanged.get(who, 0) + 1
        return speaker if speaker in to else min(to)

    def _effective_target(self, at: int, who: int) -> int | None:
        known = self.partner.get(who)
        return known[0] if known is not None and at - known[1] <= _PARTNER_LINES else None
