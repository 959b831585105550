"""Inboxes and outboxes, a page at a time: in the order in which messages were accepted, the newest first.

The order is that of the messages' numbers, which never changes. So a page goes on exactly behind the one before it,
whatever came meanwhile and however many messages share a moment.
"""

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

from nanobot_transcript.entry import well_formed
from nanobot_transcript.errors import InvalidLetterError, LetterNotFoundError
from nanobot_transcript.sql.contract import Row, Sql

__all__ = ["COUNTED", "LAST", "MOST", "Bounds", "LetterBox", "bounded", "number_of", "place_in_list"]

MOST: Final = 1000
"""Messages of one answer."""

LAST: Final = 2**63 - 1
"""What every message's number is below."""

COUNTED: Final = 1000
"""Up to here it is counted how many more there are: a page must not cost as much as all of them."""

_BEGINNING: Final = -1.0
"""A time before all messages."""

_OLDER: Final = 200
"""How many messages from before a time are looked at for the one that was sent at that very time."""


@dataclass(frozen=True, slots=True)
class LetterBox:
    """Messages that somebody got or sent, as parts of a statement.

    ``table`` finds them by an index, ``joined`` is what else a message needs, ``wanted`` says whose (``:owner``) and
    which; ``number`` is the column with their numbers.
    """

    table: str
    joined: str
    wanted: str
    number: str

    def sql(self, columns: str) -> str:
        """The statement that reads it, the newest message first, ``:most`` of them."""
        return (
            f"SELECT {columns} FROM {self.table} {self.joined} WHERE {self.wanted} AND {self.number} > :floor"
            f" AND {self.number} < :below AND messages.created_ts > :since ORDER BY {self.number} DESC LIMIT :most"
        )

    def stretch(self, db: Sql, owner: int, since_ts: Any, before: str | None) -> "Bounds":
        """What was accepted since a time, and before the message with an id.

        Raises InvalidLetterError for what is no time, LetterNotFoundError for an id that no message has.
        """
        below = LAST if not before else number_of(db, before)
        floor, since = self._since(db, owner, _moment(since_ts))
        return Bounds(self, {"owner": owner, "floor": floor, "below": below, "since": since})

    def _since(self, db: Sql, owner: int, since: float) -> tuple[int, float]:
        """Behind which number, and after which time, lies what came since.

        Times rise with the messages unless a clock was set back. Then an older one may come first; and what was
        accepted after the very message that somebody has seen last is new, whatever its time.
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
        """The newest of its messages, the newest first, read as they are asked for."""
        rows = db.execute(self.box.sql(columns), self.bounds | {"most": most})
        with closing(rows):
            yield from rows

    def count(self, db: Sql, below: int) -> int:
        """How many of them come behind the one with the number ``below``; ``COUNTED`` stands for more than that."""
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
    """How many messages one answer may have. Raises InvalidLetterError for what is no number."""
    if not isinstance(limit, int) or isinstance(limit, bool):
        raise InvalidLetterError(f"limit must be a whole number, not {str(limit)[:40]!r}.", hint=f"Up to {MOST}.")
    return min(max(1, limit), MOST)


def place_in_list(before: str) -> int:
    """Where a list goes on that is in the order of numbers. Raises InvalidLetterError for what no answer told."""
    if not (before.isascii() and before.isdigit() and len(before) < 19):
        raise InvalidLetterError(
            f"{before[:40]!r} is not a position in this list.",
            hint="Pass `before` exactly as an earlier answer gave it.",
        )
    return int(before)


def _moment(since: Any) -> float:
    """A time to look back to; the beginning without one. Raises InvalidLetterError."""
    if since is None:
        return 0.0
    if not isinstance(since, int | float) or isinstance(since, bool) or since != since:
        raise InvalidLetterError(
            f"since_ts must be a number of seconds since 1970, not {str(since)[:40]!r}.", hint="Such as 1761232934.5."
        )
    return float(since)
