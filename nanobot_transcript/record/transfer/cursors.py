"""Translating cursors of one record into cursors of the other."""

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from nanobot_transcript.entry import Entry
from nanobot_transcript.record.transfer.contract import TransferPlace
from nanobot_transcript.record.transfer.waypoint import Waypoint, known_by, order_of

__all__ = ["Cursors", "Mapped", "is_cursor"]

_CURSOR: Final = re.compile(r"[ce]1\.[0-9a-f]{6}(?:\.[0-9a-f]{1,15}){1,2}")
_NEWEST: Final = 256
"""At most so many messages are listed in ``Mapped.again``."""

_Order = tuple[int, ...]


class Mapped(NamedTuple):
    """The corresponding place in the target. ``again`` are the newest messages that stood before the place in the
    source and stand behind it in the target: others have written in between, so no place in the target has exactly the
    same messages before it.
    """

    cursor: str
    again: tuple[Entry, ...] = ()


def is_cursor(value: object) -> bool:
    """True for a text that a record has handed out as a cursor."""
    return isinstance(value, str) and _CURSOR.fullmatch(value) is not None


class Cursors:
    """``waypoints`` are those of all moved chats."""

    def __init__(self, source: TransferPlace, target: TransferPlace, waypoints: Mapping[str, Waypoint]) -> None:
        self._source: TransferPlace = source
        self._target: TransferPlace = target
        self._waypoints: Mapping[str, Waypoint] = waypoints
        self._of_suffix: dict[str, list[str]] = {}
        for key in waypoints:
            self._of_suffix.setdefault(_suffix(source.transcripts.start(key)), []).append(key)
        self._stretch: tuple[tuple[str, str], list[tuple[_Order, str]]] | None = None

    def chat_of(self, cursor: str, hints: Iterable[str]) -> str | None:
        """The chat that a cursor belongs to; when several are possible, the one that a hint names."""
        found = [key for key in self._of_suffix.get(_suffix(cursor), ()) if self._is_of(key, cursor)]
        if len(found) > 1:
            told = list(hints)
            found = [key for key in found if any(key in hint or (hint and hint in key) for hint in told)]
        return found[0] if len(found) == 1 else None

    def _is_of(self, key: str, cursor: str) -> bool:
        """Also checks the kind of record: a cursor that could not be translated in the last move is not of this
        one.
        """
        return self._source.transcripts.start(key).partition(".")[0] == cursor.partition(".")[0]

    def mapped(self, key: str, cursor: str) -> Mapped:
        """The place in the target for a cursor of a chat."""
        waypoint, order = self._waypoints[key], order_of(cursor)
        if waypoint.apart is not None and order > order_of(waypoint.apart[0]):
            return Mapped(waypoint.apart[1], self._between(key, waypoint.apart[0], cursor))
        if order >= order_of(waypoint.source):
            return Mapped(waypoint.target)
        starts = self._source.transcripts.start(key), self._target.transcripts.start(key)
        steps = [starts, *waypoint.steps]
        at = bisect_right(steps, order, key=lambda step: order_of(step[0])) - 1
        if at < 0:
            return Mapped(starts[1])
        if order_of(steps[at][0]) == order:
            return Mapped(steps[at][1])
        ends = steps[at + 1] if at + 1 < len(steps) else (waypoint.source, waypoint.target)
        same = self._same(key, steps[at], ends)
        place = bisect_right(same, order, key=lambda one: one[0]) - 1
        return Mapped(same[place][1] if place >= 0 else steps[at][1])

    def _same(self, key: str, after: tuple[str, str], upto: tuple[str, str]) -> list[tuple[_Order, str]]:
        """The place of each line of a part in both records, in the order of the source."""
        if self._stretch is None or self._stretch[0] != after:
            there: dict[str, deque[str]] = {}
            for line in self._target.transcripts.lines(key, after[1], upto[1]):
                if line.entry is not None:
                    there.setdefault(known_by(line.entry), deque()).append(line.cursor)
            found: list[tuple[_Order, str]] = []
            for line in self._source.transcripts.lines(key, after[0], upto[0]):
                places = there.get(known_by(line.entry)) if line.entry is not None else None
                if places:
                    found.append((order_of(line.cursor), places.popleft()))
            self._stretch = after, found
        return self._stretch[1]

    def _between(self, key: str, after: str, upto: str) -> tuple[Entry, ...]:
        lines = self._source.transcripts.lines(key, after, upto)
        return tuple(deque((line.entry for line in lines if line.entry is not None), maxlen=_NEWEST))


def _suffix(cursor: str) -> str:
    return cursor.split(".")[1]
