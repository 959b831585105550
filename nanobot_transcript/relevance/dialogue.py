"""Who talks with whom in the last lines of a group, from the point of view of one speaker.

One pass over the history, the same for every member. Positions count lines; a larger one is later. A line is *to*
somebody when it names, mentions or replies to them (explicitly); otherwise it is to the member with whom its speaker
was last in touch (effectively), as long as nothing contradicts that.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

__all__ = ["NEVER", "Dialogue", "DialogueLine"]

NEVER: Final = -1000
"""The position of a line that does not exist."""

_PARTNER_LINES: Final = 60
_MINUTE: Final = 60_000


class DialogueLine(NamedTuple):
    """One line: who spoke, to whom explicitly (in an order independent of how members are listed), whether it asks, the
    platform's time (ms), its terms, its length, how it opens (``opening_words.opening``), and whose name begins like
    its first word.
    """

    who: int
    to: tuple[int, ...]
    asks: bool
    ts: float
    terms: frozenset[str]
    length: int
    opening: int = 0
    hinted: frozenset[int] = frozenset()

    def minutes_since(self, earlier: "DialogueLine") -> float:
        """The time between two lines, negative when this one is earlier."""
        return (self.ts - earlier.ts) / _MINUTE


class Dialogue:
    """The state after ``turns``, for the ``speaker`` of the next line. Dictionaries are by member.

    For everybody: the ``last`` and ``first`` line, the ``count`` of lines and how many were ``spoken_to`` somebody, the
    ``partner`` (the member they were last in touch with, and the line), and when they last ``asked``. For the speaker:
    the last explicit and effective line to (``said``, ``meant``) and from (``heard``, ``felt``) each member, and the
    number of explicit ones (``exchanged``).
    """

    __slots__ = (
        "asked",
        "count",
        "exchanged",
        "explicit",
        "felt",
        "first",
        "heard",
        "last",
        "meant",
        "own_target",
        "partner",
        "said",
        "size",
        "speaker",
        "speakers",
        "spoken_to",
        "turns",
    )

    def __init__(self, turns: Sequence[DialogueLine], speaker: int) -> None:
        # Built for each message, so it has to be fast: bulk counting where possible, and only locals in the loop below.
        size = len(turns)
        whos = [turn.who for turn in turns]
        self.turns: Sequence[DialogueLine] = turns
        self.size: int = size
        self.speaker: int = speaker
        self.speakers: list[int] = whos
        self.last: dict[int, int] = dict(zip(whos, range(size), strict=True))
        self.first: dict[int, int] = dict(zip(reversed(whos), range(size - 1, -1, -1), strict=True))
        self.count: Counter[int] = Counter(whos)
        addressing = [turn.who for turn in turns if turn.to]
        self.explicit: int = len(addressing)
        self.spoken_to: Counter[int] = Counter(addressing)
        self.asked: dict[int, int] = {turn.who: at for at, turn in enumerate(turns) if turn.asks}
        self.partner: dict[int, tuple[int, int]] = {}
        self.said: dict[int, int] = {}
        self.heard: dict[int, int] = {}
        self.exchanged: dict[int, int] = {}
        self.meant: dict[int, int] = {}
        self.felt: dict[int, int] = {}
        self.own_target: int | None = None
        self._follow()

    def before(self, who: int) -> int:
        """The line of a member before the last one."""
        whos = self.speakers
        return next((at for at in range(self.last.get(who, 0) - 1, -1, -1) if whos[at] == who), NEVER)

    def _follow(self) -> None:
        speaker, partner = self.speaker, self.partner
        felt = self.felt
        for at, turn in enumerate(self.turns):
            who, to = turn[0], turn[1]
            if to:
                for other in to:
                    partner[who] = (other, at)
                    partner[other] = (who, at)
                target = speaker if speaker in to else to[0]
                if who == speaker or target == speaker:
                    self._explicit(at, who, to)
            else:
                known = partner.get(who)
                target = known[0] if known is not None and at - known[1] <= _PARTNER_LINES else None
            if who == speaker:
                self.own_target = target
                if target is not None:
                    self.meant[target] = at
                continue
            if target == speaker:
                felt[who] = at

    def _explicit(self, at: int, who: int, to: tuple[int, ...]) -> None:
        """A line from the speaker to somebody, or to the speaker."""
        lines = self.said if who == self.speaker else self.heard
        for other in to if who == self.speaker else (who,):
            lines[other] = at
            self.exchanged[other] = self.exchanged.get(other, 0) + 1
