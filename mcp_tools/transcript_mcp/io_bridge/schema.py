"""The tables of the bridge, version by version. Sizes are bytes in UTF-8.

``created_ts`` and ``active_ts`` are seconds since 1970, for people. Expiry goes by ``used``: seconds during which one
of our processes was running (``clock.running``), so that neither a jumping clock nor a month without power expires
anything.
"""

from typing import TYPE_CHECKING, Final

from nanobot_transcript.sql.contract import Schema

if TYPE_CHECKING:
    from nanobot_transcript.sql.contract import Database
    from nanobot_transcript.sql.location import Shelf

__all__ = ["SCHEMA", "opened"]

_BUSY: Final = 10.0

_SESSIONS: Final = """
CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    created_ts REAL NOT NULL,
    active_ts REAL NOT NULL,
    used REAL NOT NULL
) WITHOUT ROWID
"""
_BY_USE: Final = "CREATE INDEX sessions_by_use ON sessions (used)"
# ``holder`` is the process that took an item. ``delivered`` stays set when an input is given back because nobody
# confirmed it in time. ``text`` is last, so that SQLite need not follow the overflow pages of a long text to read the
# other columns.
_ITEMS: Final = """
CREATE TABLE items (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    direction TEXT NOT NULL CHECK (direction IN ('in', 'out')),
    size INTEGER NOT NULL,
    created_ts REAL NOT NULL,
    holder TEXT,
    delivered INTEGER NOT NULL DEFAULT 0,
    text TEXT NOT NULL
)
"""
_QUEUES: Final = "CREATE INDEX items_in_queue ON items (session, direction, seq, size, holder, delivered)"
_HELD: Final = "CREATE INDEX items_held ON items (holder) WHERE holder IS NOT NULL"
_KEYS: Final = """
CREATE TABLE keys (
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    direction TEXT NOT NULL,
    key TEXT NOT NULL,
    seq INTEGER NOT NULL,
    used REAL NOT NULL,
    PRIMARY KEY (session, direction, key)
) WITHOUT ROWID
"""
_CLOCK: Final = "CREATE TABLE clock (id INTEGER PRIMARY KEY CHECK (id = 1), running REAL NOT NULL, wall REAL NOT NULL)"
_START: Final = "INSERT INTO clock VALUES (1, 0, 0)"

SCHEMA: Final = Schema(
    ((_SESSIONS, _BY_USE, _ITEMS, _QUEUES, _HELD, _KEYS, _CLOCK, _START),),
    tables={"sessions": ("id",), "items": ("seq",), "keys": ("session", "direction", "key"), "clock": ("id",)},
    set_aside=False,
    mending="Restore the file from a backup, or move it away to start with empty queues.",
)


def opened(shelf: "Shelf") -> "Database":
    """The database of queues on a shelf; in a folder that is ``io.sqlite3``."""
    return shelf.database("io", SCHEMA, file="io.sqlite3", lock="io.lock", busy=_BUSY)
