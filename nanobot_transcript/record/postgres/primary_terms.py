"""Reigns: for how long one server has been the one that takes writes, without a failover, a crash or a restart.

Locks of sessions are lost between two reigns, and the times that were noted in one may be those of another clock.
"""

from typing import Final

from nanobot_transcript.sql.postgres.address import DatabaseAddress
from nanobot_transcript.sql.postgres.clock import NOW
from nanobot_transcript.sql.postgres.engine import Connection

__all__ = ["PRESENT", "begin_reign"]

"""In SQL: the server's time, in seconds since 1970."""
PRESENT: Final = "(SELECT id FROM nanobot.reigns WHERE name = nanobot.reign())"
"""In SQL: the id of the present reign; NULL where nobody has noted it yet."""
_IS_NOTED: Final = f"SELECT {PRESENT} IS NOT NULL"
# The commit of ``_NOTE`` waits for no standby, as that table is not logged; this one does.
_TAKES_WRITES: Final = "SELECT pg_logical_emit_message(true, 'nanobot-transcript', '')"
_NOTE: Final = f"""
INSERT INTO nanobot.reigns (name, began, last_word)
    SELECT nanobot.reign(), {NOW}, coalesce((SELECT max(renewed) FROM nanobot.processes), 0)
    ON CONFLICT DO NOTHING
"""


def begin_reign(connection: Connection, place: DatabaseAddress) -> None:
    """Note the present reign, from when the server takes writes, unless that was done. One that was just promoted may
    wait for a standby before, however long that takes, and then nobody can give its word.
    """
    (is_noted,) = connection.execute(place.sql(_IS_NOTED)).fetchone() or (False,)
    if not is_noted:
        connection.execute(_TAKES_WRITES)
        connection.execute(place.sql(_NOTE))
