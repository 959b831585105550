"""How far a chat has been carried: kept in the place that it is carried into."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from typing import Any, Final, Self, cast

import msgspec

from nanobot_transcript.coordination.contract import KeptMark, digest_of
from nanobot_transcript.entry import Entry

__all__ = ["MOVED", "Checked", "Waypoint", "is_same", "known_by", "order_of", "said_as"]

MOVED: Final = "moved"
"""The kind of the marks of which this room makes use."""

_STEPS: Final = 64


@dataclass(frozen=True, slots=True)
class Checked:
    """Up to which cursors the lines of both places were compared, how many they were, and what they come to."""

    source: str
    target: str
    lines: int = 0
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Waypoint:
    """``lines`` of a chat stand in the target up to the cursor ``target``; in the source they end at ``source``.

    ``last`` tells the last of them. ``apart`` are the cursors behind which somebody else writes in the target, too.
    ``steps`` are places in both that are the same, oldest first. ``purged_ms`` is the last purge of the source that is
    known. ``anew``: what was carried is about to be removed, because it was purged in the source.
    """

    origin: str
    chat: str
    source: str
    target: str
    checked: Checked
    lines: int = 0
    last: str = ""
    apart: tuple[str, str] | None = None
    steps: tuple[tuple[str, str], ...] = ()
    purged_ms: float = 0
    anew: bool = False

    @classmethod
    def beginning(cls, origin: str, chat: str, source: str, target: str, purged_ms: float) -> Self:
        """Nothing is carried yet."""
        return cls(origin, chat, source, target, Checked(source, target), purged_ms=purged_ms)

    def moved(self, source: str, target: str, lines: int, last: Entry) -> Self:
        """So many more lines on; the last of them is this one."""
        steps = (*self.steps, (source, target)) if self.apart is None else self.steps
        if len(steps) > _STEPS:
            steps = steps[1::2]
        return replace(
            self, source=source, target=target, lines=self.lines + lines, last=known_by(last), steps=steps, anew=False
        )

    def parted(self) -> Self:
        """From here on somebody else writes there, too."""
        return self if self.apart is not None else replace(self, apart=(self.source, self.target))

    def as_mark(self) -> KeptMark:
        """What is kept of it."""
        return KeptMark(MOVED, digest_of(MOVED, (self.origin, self.chat)), asdict(self))

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Waypoint | None":
        """What was kept; None for what is none."""
        try:
            return msgspec.convert(document, cls, strict=True)
        except msgspec.ValidationError:
            return None


def known_by(entry: Entry) -> str:
    """What a line stays known by when its text is erased."""
    return blake2b(msgspec.json.encode(_head(entry)), digest_size=8).hexdigest()


def said_as(entry: Entry) -> str:
    """The same with its text: by which lines are told apart that somebody wrote within one millisecond."""
    return blake2b(msgspec.json.encode([*_head(entry), entry["content"]]), digest_size=8).hexdigest()


def is_same(one: Entry, other: Entry) -> bool:
    """Whether both are one line. Its text may have been erased in one of the two places."""
    texts = one["content"], other["content"]
    return known_by(one) == known_by(other) and (texts[0] == texts[1] or "" in texts)


def _head(entry: Entry) -> list[Any]:
    line = cast("dict[str, Any]", entry)
    return [line.get(name) for name in ("role", "sender", "message_id", "ts", "rts", "op", "target")]


def order_of(cursor: str) -> tuple[int, ...]:
    """By which the cursors of one chat can be put in order."""
    return tuple(int(number, 16) for number in cursor.split(".")[2:])
