"""Reigns: the time in which one server accepts writes without a failover, a crash or a restart.

Session locks are lost between two reigns, and times noted in different reigns may come from different clocks.
"""

from typing import Final

from nanobot_transcript.sql.postgres.address import DatabaseAddress
from nanobot_transcript.sql.postgres.clock import NOW
from nanobot_transcript.sql.postgres.engine import Connection

__all__ = ["PRESENT", "begin_reign"]

PRESENT: Final = "(SELECT id FROM nanobot.reigns WHERE name = nanobot.reign())"
"""In SQL: the id of the current reign; NULL when nobody has noted it yet."""
_IS_NOTED: Final = f"SELECT {PRESENT} IS NOT NULL"
# ``nanobot.reigns`` is unlogged, so committing ``_NOTE`` waits for no standby; committing this message does.
_TAKES_WRITES: Final = "SELECT pg_logical_emit_message(true, 'nanobot-transcript', '')"
_NOTE: Final = f"""
INSERT INTO nanobot.reigns (name, began, last_word)
    SELECT nanobot.reign(), {NOW}, coalesce((SELECT max(renewed) FROM nanobot.processes), 0)
    ON CONFLICT DO NOTHING
"""


def begin_reign(connection: Connection, place: DatabaseAddress) -> None:
    """Note the current reign, once the server accepts writes, unless that was done. A server that was just promoted may
    first have to wait for a standby, however long that takes; until then no process can renew its row either.
    """
    (is_noted,) = connection.execute(place.sql(_IS_NOTED)).fetchone() or (False,)
    if not is_noted:
        connection.execute(_TAKES_WRITES)
        connection.execute(place.sql(_NOTE))
