"""Inboxes and outboxes a page at a time, in the order in which messages were accepted, the newest first.

The order is that of the messages' numbers, which never changes. So each page starts exactly where the previous one
ended, whatever arrived meanwhile and however many messages share a timestamp.
"""

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

from nanobot_transcript.entry import well_formed
from nanobot_transcript.errors import InvalidLetterError, LetterNotFoundError
from nanobot_transcript.sql.contract import Row, Sql

__all__ = ["COUNTED", "LAST", "MOST", "MOST_FOUND", "Bounds", "LetterBox", "bounded", "number_of", "place_in_list"]

MOST: Final = 1000
"""Most messages in one answer."""

MOST_FOUND: Final = 100
"""Most messages in one answer of a search."""

LAST: Final = 2**63 - 1
"""Above every message's number."""

COUNTED: Final = 1000
"""Messages beyond a page are counted up to here: a page must not cost as much as the whole list."""

_BEGINNING: Final = -1.0
"""A time before any message."""

_OLDER: Final = 200
"""How many messages up to a time are examined to find the one sent at exactly that time."""


@dataclass(frozen=True, slots=True)
class LetterBox:
    """Messages that somebody received or sent, as parts of an SQL statement.
    ``table`` finds them by an index, ``joined`` adds the other tables, ``wanted`` is the condition (with ``:owner``);
    ``number`` is the column with the messages' numbers.
    """

    table: str
    joined: str
    wanted: str
    number: str

    def sql(self, columns: str) -> str:
        """The statement that reads at most ``:most`` messages, the newest first."""
        return (
            f"SELECT {columns} FROM {self.table} {self.joined} WHERE {self.wanted} AND {self.number} > :floor"
            f" AND {self.number} < :below AND messages.created_ts > :since ORDER BY {self.number} DESC LIMIT :most"
        )

    def stretch(self, db: Sql, owner: int, since_ts: Any, before: str | None) -> "Bounds":
        """The messages accepted after a time and before the message with an id.
        Raises InvalidLetterError for an invalid time, LetterNotFoundError for an unknown id.
        """
        below = LAST if not before else number_of(db, before)
        floor, since = self._since(db, owner, _moment(since_ts))
        return Bounds(self, {"owner": owner, "floor": floor, "below": below, "since": since})

    def _since(self, db: Sql, owner: int, since: float) -> tuple[int, float]:
        """The number and the time that bound the messages which came since a time.
        Times rise with the numbers unless a clock was set back. Then a message with an older time may come later; so
        everything accepted after the very message that a caller saw last counts as new, whatever its time.
        """
        if since <= 0:
            return 0, _BEGINNING
        rows = db.execute(
            f"SELECT {self.number} AS number, messages.created_ts FROM {self.table} {self.joined} WHERE {self.wanted}"
            f" AND messages.created_ts <= :since ORDER BY {self.number} DESC LIMIT {_OLDER}",
            {"owner": owner, "since": since},
        )
        older: list[int] = []
        with closing(rows):
            for row in rows:
                if row["created_ts"] == since:
                    return row["number"], _BEGINNING
                older.append(row["number"])
        return (older[-1] if len(older) == _OLDER else 0), since


@dataclass(frozen=True, slots=True)
class Bounds:
    """The messages of a box between two bounds."""

    box: LetterBox
    bounds: dict[str, Any]

    def rows(self, db: Sql, columns: str, most: int) -> Generator[Row]:
        """At most ``most`` messages, the newest first, read lazily."""
        rows = db.execute(self.box.sql(columns), self.bounds | {"most": most})
        with closing(rows):
            yield from rows

    def count(self, db: Sql, below: int) -> int:
        """How many of them come after the one numbered ``below``; ``COUNTED`` also stands for any larger count."""
        by_time = self.bounds["since"] > _BEGINNING
        joined = f"{self.box.joined} WHERE messages.created_ts > :since AND" if by_time else "WHERE"
        sql = (
            f"SELECT count(*) FROM (SELECT 1 FROM {self.box.table} {joined} {self.box.wanted}"
            f" AND {self.box.number} > :floor AND {self.box.number} < :below LIMIT {COUNTED}) AS found"
        )
        return db.execute(sql, self.bounds | {"below": below}).fetchone()[0]


def number_of(db: Sql, message_id: Any) -> int:
    """The number of the message with an id. Raises LetterNotFoundError."""
    clean = well_formed(str(message_id))
    row = db.execute("SELECT seq FROM messages WHERE id = ?", (clean,)).fetchone()
    if row is None:
        raise LetterNotFoundError(
            f"There is no message {clean[:80]}, so nothing comes before it.",
            hint="Pass `before` exactly as an earlier answer gave it: the id of the last message you have seen.",
        )
    return row["seq"]


def bounded(limit: Any) -> int:
    """``limit`` within the bounds of an answer. Raises InvalidLetterError if it is not a whole number."""
    if not isinstance(limit, int) or isinstance(limit, bool):
        raise InvalidLetterError(f"limit must be a whole number, not {str(limit)[:40]!r}.", hint=f"Up to {MOST}.")
    return min(max(1, limit), MOST)


def place_in_list(before: str) -> int:
    """The number at which a list in order of numbers continues. Raises InvalidLetterError if it is not a number."""
    if not (before.isascii() and before.isdigit() and len(before) < 19):
        raise InvalidLetterError(
            f"{before[:40]!r} is not a position in this list.",
            hint="Pass `before` exactly as an earlier answer gave it.",
        )
    return int(before)


def _moment(since: Any) -> float:
    """``since`` as a number; 0 without one. Raises InvalidLetterError."""
    if since is None:
        return 0.0
    if not isinstance(since, int | float) or isinstance(since, bool) or since != since:
        raise InvalidLetterError(
            f"since_ts must be a number of seconds since 1970, not {str(since)[:40]!r}.", hint="Such as 1761232934.5."
        )
    return float(since)
