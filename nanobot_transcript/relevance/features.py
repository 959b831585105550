"""Numbers about one member as the possible addressee of a message, from structure only.

What was learned in one channel has to hold in another, so only words that occur in any conversation count here.
Distances count lines and are taken as logarithms.
"""

from collections.abc import Mapping
from math import log1p
from typing import Final, NamedTuple

from nanobot_transcript.relevance.dialogue import NEVER, Dialogue, DialogueLine
from nanobot_transcript.relevance.reply_links import Links

__all__ = ["NAMES", "JudgedMessage", "features"]

NAMES: Final = (
    "gap",
    "gap_before",
    "own_gap",
    "said_gap",
    "heard_gap",
    "meant_gap",
    "felt_gap",
    "partner",
    "partner_gap",
    "exchanged",
    "own_target",
    "last_to_other",
    "asked_gap",
    "own_count",
    "share",
    "minutes",
    "named",
    "named_first",
    "names_other",
    "other_first",
    "hinted",
    "asks",
    "length",
    "last_length",
    "overlap",
    "later_partners",
    "members",
    "address_rate",
    "own_rate",
    "their_rate",
    "link",
    "links",
    "link_chain",
    "link_own",
    "link_whole",
    "link_best_other",
    "link_whole_other",
    "link_others",
    "link_total",
)
"""The order of the numbers; the weights file refers to these names, so a change here needs new weights."""

_FAR: Final = 120
_FAR_LOG: Final = log1p(_FAR)
_LOG: Final = tuple(log1p(value) for value in range(_FAR + 1))
_LONG: Final = 600
_OVERLAP_LINES: Final = 30


class JudgedMessage(NamedTuple):
    """What the features use of the message to decide about; members by position."""

    turn: DialogueLine
    first: int | None


def features(seen: Dialogue, message: JudgedMessage, found: Links, who: int) -> list[float]:
    """The numbers about member ``who`` in the order of ``NAMES``; ``found`` tells what the message answers."""
    own = seen.last.get(seen.speaker, NEVER)
    last = seen.last.get(who, NEVER)
    latest = seen.turns[last] if last >= 0 else None
    return [
        *_distances(seen, who, own, last),
        *_partners(seen, who),
        *_last_line(seen, who, latest),
        *_amounts(seen, message, who, latest),
        *_addressing(message, who),
        *_content(seen, message, who, latest),
        *_competition(seen, last),
        *_rates(seen, who),
        *_linked(found, who),
    ]


def _distances(seen: Dialogue, who: int, own: int, last: int) -> tuple[float, ...]:
    size = seen.size
    return (
        _log(size - last),
        _log(size - seen.before(who)),
        _log(size - own),
        _log(size - seen.said.get(who, NEVER)),
        _log(size - seen.heard.get(who, NEVER)),
        _log(size - seen.meant.get(who, NEVER)),
        _log(size - seen.felt.get(who, NEVER)),
    )


def _partners(seen: Dialogue, who: int) -> tuple[float, ...]:
    mine = seen.partner.get(seen.speaker)
    return (
        float(mine is not None and mine[0] == who),
        _log(seen.size - mine[1]) if mine else _FAR_LOG,
        _log(seen.exchanged.get(who, 0)),
        float(seen.own_target == who),
    )


def _last_line(seen: Dialogue, who: int, latest: DialogueLine | None) -> tuple[float, ...]:
    to = latest.to if latest else ()
    return (float(bool(to) and seen.speaker not in to), _log(seen.size - seen.asked.get(who, NEVER)))


def _amounts(seen: Dialogue, message: JudgedMessage, who: int, latest: DialogueLine | None) -> tuple[float, ...]:
    since = message.turn.minutes_since(latest) if latest else float(_LONG)
    # Rounded, because the weights were fitted on logs with whole minutes; and by difference, so that two lines a second
    # apart are never a minute apart, even across the end of a minute.
    minutes = round(min(max(since, 0.0), _LONG))
    return (
        _log(seen.count.get(seen.speaker, 0)),
        seen.count.get(who, 0) / seen.size if seen.size else 0.0,
        log1p(minutes),
    )


def _addressing(message: JudgedMessage, who: int) -> tuple[float, ...]:
    to, first = message.turn.to, message.first
    return (
        float(who in to),
        float(first == who),
        float(bool(to) and who not in to),
        float(first is not None and first != who),
        float(who in message.turn.hinted),
        float(message.turn.asks),
    )


def _content(seen: Dialogue, message: JudgedMessage, who: int, latest: DialogueLine | None) -> tuple[float, ...]:
    terms = message.turn.terms
    overlap = 0
    if terms and latest is not None:
        for turn in seen.turns[-_OVERLAP_LINES:]:
            if turn.who == who:
                overlap += len(terms & turn.terms)
    return (log1p(message.turn.length), log1p(latest.length) if latest else 0.0, float(min(overlap, 6)))


def _competition(seen: Dialogue, last: int) -> tuple[float, ...]:
    ends = seen.last
    return (float(sum(ends.get(other, NEVER) > last for other in seen.said.keys() | seen.heard.keys())),)


def _rates(seen: Dialogue, who: int) -> tuple[float, ...]:
    return (
        _log(len(seen.last)),
        seen.explicit / seen.size if seen.size else 0.0,
        _rate(seen, seen.speaker),
        _rate(seen, who),
    )


def _rate(seen: Dialogue, who: int) -> float:
    return seen.spoken_to.get(who, 0) / seen.count[who] if who in seen.count else -1.0


def _linked(found: Links, who: int) -> tuple[float, ...]:
    best, whole = found.best.get(who, 0.0), found.whole.get(who, 0.0)
    return (
        best,
        found.sums.get(who, 0.0),
        found.chain.get(who, 0.0),
        found.own,
        whole,
        _most(found.best, who),
        _most(found.whole, who),
        sum(found.whole.values()) - whole,
        found.total,
    )


def _most(shares: Mapping[int, float], who: int) -> float:
    """The largest share of anybody but ``who``."""
    return max((share for other, share in shares.items() if other != who), default=0.0)


def _log(distance: int) -> float:
    return _LOG[distance] if 0 <= distance < _FAR else _FAR_LOG
