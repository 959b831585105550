"""What can be known about one member as the one whom a message is meant for: numbers, from structure only.

No word of any language decides anything here but question marks and particles, so that what was learned in one channel
holds in another. Distances count lines and are taken as logarithms.
"""

from math import log1p
from typing import Final, NamedTuple

from nanobot_transcript.relevance.scene import NEVER, Scene, Turn

__all__ = ["NAMES", "Message", "features"]

NAMES: Final = (
    "gap",
    "gap_before",
    "spoke_last",
    "between",
    "own_gap",
    "said_gap",
    "heard_gap",
    "meant_gap",
    "felt_gap",
    "partner",
    "partner_gap",
    "partner_of",
    "busy",
    "exchanged",
    "pending",
    "pending_others",
    "own_target",
    "own_target_other",
    "last_to_other",
    "last_free",
    "last_asks",
    "asked_gap",
    "newcomer",
    "count",
    "own_count",
    "share",
    "minutes",
    "named",
    "named_first",
    "names_other",
    "other_first",
    "hinted",
    "hints_other",
    "stranger",
    "asks",
    "length",
    "last_length",
    "overlap_last",
    "overlap",
    "overlap_own",
    "closer_partners",
    "later_partners",
    "members",
    "answered",
    "order",
    "address_rate",
    "own_rate",
    "their_rate",
)
"""The order of the numbers; the weights name it, so a change here asks for new weights."""

_FAR: Final = 120
_FAR_LOG: Final = log1p(_FAR)
_LOG: Final = tuple(log1p(value) for value in range(_FAR + 1))
_LONG: Final = 600
_OVERLAP_LINES: Final = 30
_NOT_YET: Final = 9
_EMPTY: Final[frozenset[int]] = frozenset()


class Message(NamedTuple):
    """What the features look at in the message to decide about; members by position."""

    turn: Turn
    first: int | None
    hinted: frozenset[int]
    stranger: bool


def features(seen: Scene, message: Message, who: int) -> list[float]:
    """The numbers about member ``who`` in the order of ``NAMES``."""
    own = seen.last.get(seen.speaker, NEVER)
    last = seen.last.get(who, NEVER)
    latest = seen.turns[last] if last >= 0 else None
    return [
        *_distances(seen, who, own, last),
        *_partners(seen, who),
        *_last_line(seen, who, latest),
        *_amounts(seen, message, who, latest),
        *_addressing(message, who),
        *_content(seen, message, who, latest, own),
        *_competition(seen, who, last),
        *_rates(seen, who),
    ]


def _distances(seen: Scene, who: int, own: int, last: int) -> tuple[float, ...]:
    size = seen.size
    between = 0
    for at in seen.last.values():
        between += at > last
    return (
        _log(size - last),
        _log(size - seen.before(who)),
        float(size - last == 1),
        _log(between - (own > last)),
        _log(size - own),
        _log(size - seen.said.get(who, NEVER)),
        _log(size - seen.heard.get(who, NEVER)),
        _log(size - seen.meant.get(who, NEVER)),
        _log(size - seen.felt.get(who, NEVER)),
    )


def _partners(seen: Scene, who: int) -> tuple[float, ...]:
    mine, theirs, target = seen.partner.get(seen.speaker), seen.partner.get(who), seen.own_target
    pending = seen.pending
    return (
        float(mine is not None and mine[0] == who),
        _log(seen.size - mine[1]) if mine else _FAR_LOG,
        float(theirs is not None and theirs[0] == seen.speaker),
        float(theirs is not None and theirs[0] != seen.speaker),
        _log(seen.exchanged.get(who, 0)),
        _log(pending.get(who, 0)),
        float(len(pending) - (who in pending)),
        float(target == who),
        float(target is not None and target != who),
    )


def _last_line(seen: Scene, who: int, latest: Turn | None) -> tuple[float, ...]:
    to = latest.to if latest else _EMPTY
    return (
        float(bool(to) and seen.speaker not in to),
        float(latest is not None and not to),
        float(latest is not None and latest.asks),
        _log(seen.size - seen.asked.get(who, NEVER)),
        _log(seen.size - seen.first.get(who, NEVER)),
    )


def _amounts(seen: Scene, message: Message, who: int, latest: Turn | None) -> tuple[float, ...]:
    count = seen.count.get(who, 0)
    since = message.turn.minutes_since(latest) if latest else float(_LONG)
    # Rounded, as the weights were fitted on logs of whole minutes: of lines a second apart none are a minute apart,
    # wherever the minute of the clock ends.
    minutes = round(min(max(since, 0.0), _LONG))
    return (
        _log(count),
        _log(seen.count.get(seen.speaker, 0)),
        count / seen.size if seen.size else 0.0,
        log1p(minutes),
    )


def _addressing(message: Message, who: int) -> tuple[float, ...]:
    to, first, hinted = message.turn.to, message.first, message.hinted
    return (
        float(who in to),
        float(first == who),
        float(bool(to) and who not in to),
        float(first is not None and first != who),
        float(who in hinted),
        float(bool(hinted) and who not in hinted),
        float(message.stranger),
        float(message.turn.asks),
    )


def _content(seen: Scene, message: Message, who: int, latest: Turn | None, own: int) -> tuple[float, ...]:
    terms = message.turn.terms
    overlap = overlap_last = overlap_own = 0
    if terms and latest is not None:
        overlap_last = len(terms & latest.terms)
        for turn in seen.turns[-_OVERLAP_LINES:]:
            if turn.who == who:
                overlap += len(terms & turn.terms)
    if terms and own >= 0:
        overlap_own = len(terms & seen.turns[own].terms)
    return (
        log1p(message.turn.length),
        log1p(latest.length) if latest else 0.0,
        float(overlap_last),
        float(min(overlap, 6)),
        float(overlap_own),
    )


def _competition(seen: Scene, who: int, last: int) -> tuple[float, ...]:
    said, heard, ends = seen.said, seen.heard, seen.last
    touch = max(said.get(who, NEVER), heard.get(who, NEVER))
    closer = later = 0
    for other in said.keys() | heard.keys():
        if other != who:
            closer += max(said.get(other, NEVER), heard.get(other, NEVER)) > touch
            later += ends.get(other, NEVER) > last
    return (float(closer), float(later))


def _rates(seen: Scene, who: int) -> tuple[float, ...]:
    return (
        _log(len(seen.last)),
        float(min(seen.answered.get(who, 0), 4)),
        float(min(seen.order.get(who, _NOT_YET), _NOT_YET)),
        seen.explicit / seen.size if seen.size else 0.0,
        _rate(seen, seen.speaker),
        _rate(seen, who),
    )


def _rate(seen: Scene, who: int) -> float:
    return seen.spoken_to.get(who, 0) / seen.count[who] if who in seen.count else -1.0


def _log(distance: int) -> float:
    return _LOG[distance] if 0 <= distance < _FAR else _FAR_LOG
