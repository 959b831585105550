"""Earlier purges, applied to lines that are handed on late: what a purge erased must not come back."""

from typing import Any, Final, NamedTuple

from nanobot_transcript.entry import Entry
from nanobot_transcript.sql.postgres.address import DatabaseAddress
from nanobot_transcript.sql.postgres.engine import Connection
from nanobot_transcript.store.lines.erasure import Purged

__all__ = ["NONE", "Purges", "note", "now_ms", "purges"]

_KEPT_DAYS: Final = 90
"""Lines that waited longer than this in a spool may undo a purge."""
_NOW_MS: Final = "extract(epoch FROM clock_timestamp()) * 1000"
_ALONE: Final = "SELECT pg_advisory_xact_lock(hashtextextended('nanobot.purges', 0))"
"""Numbers are assigned under this lock, so knowing one purge means knowing all with lower numbers."""
_NOTE: Final = f"INSERT INTO nanobot.purges (at, chat, senders, before) VALUES ({_NOW_MS}, %s, %s, %s)"
_OLD: Final = f"DELETE FROM nanobot.purges WHERE at < {_NOW_MS} - %s * 86400000.0"
_SINCE: Final = """
SELECT number, at, senders, before FROM nanobot.purges WHERE chat IS NULL OR chat = %s ORDER BY number
"""


class Purges(NamedTuple):
    """The purges of one chat, oldest first, and the number of the last."""

    number: int
    purges: tuple[Purged, ...]

    def left_of(self, line: Entry, received_ms: float) -> Entry | None:
        """What they leave of a line received at a time (ms, by the clock of the database); None for nothing."""
        left: Entry | None = line
        for purge in self.purges:
            left = purge.left_of(left, received_ms) if left is not None else None
        return left

    def is_since(self, received_ms: float) -> bool:
        """True when there was one after that moment."""
        return any(received_ms < purge.at_ms for purge in self.purges)


NONE: Final = Purges(0, ())


def note(
    connection: Connection, place: DatabaseAddress, tag: str | None, senders: frozenset[str], before_ms: float | None
) -> None:
    """Note that a purge of one chat or (None) of all chats begins. Waits for lines that are being handed on: later ones
    know of the purge, and the purge finds all earlier ones.
    """
    with connection.transaction():
        connection.execute(place.sql(_ALONE))
        connection.execute(place.sql(_NOTE), (tag, sorted(senders), before_ms))
        connection.execute(place.sql(_OLD), (_KEPT_DAYS,))


def purges(connection: Connection, place: DatabaseAddress, tag: str) -> Purges:
    """The purges of a chat."""
    rows = connection.execute(place.sql(_SINCE), (tag,)).fetchall()
    found = tuple(Purged(at, frozenset(senders), before) for _, at, senders, before in rows)
    return Purges(rows[-1][0] if rows else 0, found)


def now_ms(connection: Connection) -> float:
    """The time by the clock of the database."""
    row: Any = connection.execute(f"SELECT ({_NOW_MS})::float8").fetchone()
    return row[0]
