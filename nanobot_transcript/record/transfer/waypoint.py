"""How far a chat has been moved: saved in the place that it is moved into."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from typing import Any, Final, Self, cast

import msgspec

from nanobot_transcript.coordination.contract import KeptMark, digest_of
from nanobot_transcript.entry import Entry

__all__ = ["MOVED", "Checked", "Waypoint", "is_same", "known_by", "order_of", "said_as"]

MOVED: Final = "moved"
"""The kind of a move's own marks. Also a key in every mark that a move has copied: the digest of the copy. It is gone
as soon as anybody else writes the mark.
"""

_STEPS: Final = 64


@dataclass(frozen=True, slots=True)
class Checked:
    """Up to which cursors the lines of both places were compared, how many they were, and their digest."""

    source: str
    target: str
    lines: int = 0
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Waypoint:
    """``lines`` of a chat are in the target up to the cursor ``target``; in the source they end at ``source``, and
    ``last`` identifies the last one.

    ``apart`` are the cursors behind which somebody else writes in the target, too. ``steps`` are corresponding places
    in both, oldest first. ``purged_ms`` is the last known purge of the source. ``anew``: what was moved is about to be
    removed, because the source was purged.
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
        """Nothing has been moved yet."""
        return cls(origin, chat, source, target, Checked(source, target), purged_ms=purged_ms)

    def moved(self, source: str, target: str, lines: int, last: Entry) -> Self:
        """The waypoint so many lines further; ``last`` is the last of them."""
        steps = (*self.steps, (source, target)) if self.apart is None else self.steps
        if len(steps) > _STEPS:
            steps = steps[1::2]
        return replace(
            self, source=source, target=target, lines=self.lines + lines, last=known_by(last), steps=steps, anew=False
        )

    def parted(self) -> Self:
        """The waypoint from which somebody else also writes there."""
        return self if self.apart is not None else replace(self, apart=(self.source, self.target))

    def as_mark(self) -> KeptMark:
        """The mark to save."""
        return KeptMark(MOVED, digest_of(MOVED, (self.origin, self.chat)), asdict(self))

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Waypoint | None":
        """The waypoint from a saved document; None when it is not one."""
        try:
            return msgspec.convert(document, cls, strict=True)
        except msgspec.ValidationError:
            return None


def known_by(entry: Entry) -> str:
    """What still identifies a line when its text is erased."""
    return blake2b(msgspec.json.encode(_head(entry)), digest_size=8).hexdigest()


def said_as(entry: Entry) -> str:
    """The same with the text, to tell apart lines that somebody wrote within one millisecond."""
    return blake2b(msgspec.json.encode([*_head(entry), entry["content"]]), digest_size=8).hexdigest()


def is_same(one: Entry, other: Entry) -> bool:
    """True when both are the same line; its text may have been erased in one of the places."""
    texts = one["content"], other["content"]
    return known_by(one) == known_by(other) and (texts[0] == texts[1] or "" in texts)


def _head(entry: Entry) -> list[Any]:
    line = cast("dict[str, Any]", entry)
    return [line.get(name) for name in ("role", "sender", "message_id", "ts", "rts", "op", "target")]


def order_of(cursor: str) -> tuple[int, ...]:
    """A sort key for the cursors of one chat."""
    return tuple(int(number, 16) for number in cursor.split(".")[2:])
