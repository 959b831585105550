"""Positions in a chat that a client can name: at a message, or at a time. (The store's own cursors are another kind.)

A position at a message is given to clients as an opaque string. It identifies the message by a digest, not by its place
in the file, so it stays valid whatever is recorded, edited or recalled; if the message is gone, its time is used.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from hashlib import blake2b
from typing import Final, TypeAlias

from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import InvalidCursorError
from nanobot_transcript.store.lines.order import SLACK

__all__ = ["AtMessage", "AtTime", "Position", "position", "said_at"]

_CURSOR: Final = re.compile(
    r"m1\.([0-9a-f]{6})\.(-?[0-9a-f]{1,16})\.([0-9a-f]{12})\.([0-9a-f]{1,12})(?:~([\x21-\x7e]{1,100}))?"
)
_AGE: Final = re.compile(r"(\d{1,6})\s*(s|m|min|h|d|w)")
_UNITS: Final = {"s": "seconds", "m": "minutes", "min": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")
_AHEAD_MS: Final = 300_000


@dataclass(frozen=True, slots=True)
class AtMessage:
    """At one message. ``depth``: roughly how many messages followed when this was made. ``bound``: a cursor of the
    store behind everything that is shown before the message.
    """

    ts: int
    digest: str
    depth: int = 0
    bound: str | None = None

    @classmethod
    def of(cls, entry: Entry, depth: int = 0, bound: str | None = None) -> "AtMessage":
        """The place of an entry."""
        return cls(int(entry["ts"]), _digest(entry), depth, bound)

    def cursor(self, session_key: str) -> str:
        """The string that ``position`` parses."""
        sign, ts = ("-" if self.ts < 0 else ""), abs(self.ts)
        bound = f"~{self.bound}" if self.bound else ""
        return f"m1.{_chat(session_key)}.{sign}{ts:x}.{self.digest}.{self.depth:x}{bound}"

    def find(self, entries: Sequence[Entry], *, whole: bool) -> tuple[int, int] | None:
        """How many of ``entries`` (oldest first) are before this position, and how many up to it.

        None when the position may be before all of them, unless they are the ``whole`` chat.
        """
        at = self._at(entries)
        if at is not None:
            return at, at + 1
        return AtTime(self.ts).find(entries, whole=whole)

    def count_before(self, entries: Sequence[Entry]) -> int:
        """How many of ``entries`` (in the order of ``said_at``, all before its ``bound``) are before it."""
        at = self._at(entries)
        return bisect_right(entries, self.ts, key=said_at) if at is None else at

    def _at(self, entries: Sequence[Entry]) -> int | None:
        return next((at for at, entry in enumerate(entries) if _digest(entry) == self.digest), None)


@dataclass(frozen=True, slots=True)
class AtTime:
    """At a time, in milliseconds since 1970; messages of that very moment are after it."""

    ts: float
    depth: int = 0

    def find(self, entries: Sequence[Entry], *, whole: bool) -> tuple[int, int] | None:
        """See ``AtMessage.find``."""
        at = next((at for at, entry in enumerate(entries) if said_at(entry) >= self.ts), len(entries))
        return (at, at) if whole or at >= SLACK else None


Position: TypeAlias = AtMessage | AtTime


def position(session_key: str, text: str, where: tzinfo | None) -> Position | None:
    """Parses a cursor, an age such as ``2h``, a date, or a date and time; None for other texts.

    A time without an offset is in the zone ``where`` (None: this machine's). Raises InvalidCursorError for the cursor
    of another chat.
    """
    text = text.strip()
    cursor, age = _CURSOR.fullmatch(text), _AGE.fullmatch(text)
    if cursor:
        if cursor[1] != _chat(session_key):
            raise InvalidCursorError("The cursor belongs to another chat.", hint="Keep one cursor per chat.")
        return AtMessage(int(cursor[2], 16), cursor[3], int(cursor[4], 16), cursor[5])
    try:
        if age:
            moment = datetime.now().astimezone() - timedelta(**{_UNITS[age[2]]: int(age[1])})
        elif _DAY.match(text):
            moment = datetime.fromisoformat(text)
        else:
            return None
        moment = moment if moment.tzinfo else moment.replace(tzinfo=where) if where else moment.astimezone()
        return AtTime(moment.timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        return None


def said_at(entry: Entry) -> float:
    """When a message was said (ms); an impossible time, far after its arrival, is replaced by the arrival's."""
    ts, arrived = entry["ts"], entry.get("rts")
    if not isinstance(arrived, int | float) or 0 < ts <= arrived + _AHEAD_MS:
        return ts
    return arrived


def _chat(session_key: str) -> str:
    return blake2b(session_key.encode("utf-8", "surrogatepass"), digest_size=3).hexdigest()


def _digest(entry: Entry) -> str:
    known = entry["message_id"] or f"{entry['sender']}\0{entry['content']}"
    return blake2b(known.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
