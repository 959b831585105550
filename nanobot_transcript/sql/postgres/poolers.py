"""Detecting poolers that give each transaction another connection: nothing of a session can be relied on there."""

from typing import Any, Final

import psycopg

from nanobot_transcript.errors import StoreUnavailableError
from nanobot_transcript.sql.postgres.address import DatabaseAddress
from nanobot_transcript.sql.postgres.errors import typed

__all__ = ["is_passed_on", "leads_to_the_same", "refuse_shared"]

_BACKEND: Final = "SELECT pg_backend_pid()"
_SERVER: Final = "SELECT current_database(), pg_postmaster_start_time()"
_ATTEMPTS: Final = 3


def is_passed_on(connection: "psycopg.Connection[Any]") -> bool:
    """True when another server process answers than the one that accepted the connection: a pooler is in between."""
    return _backend(connection) != connection.info.backend_pid


def refuse_shared(connection: "psycopg.Connection[Any]", conninfo: str, where: str) -> None:
    """Raise StoreUnavailableError when a connection is not ours between two transactions: its session locks and LISTENs
    would be somebody else's at the next moment.
    """
    if is_passed_on(connection) and _is_shared(connection, conninfo):
        raise StoreUnavailableError(
            f"{where}: a pooler hands each transaction another connection, and nothing is heard through it.",
            hint="Name the server itself in record.listen_url.",
        )


def leads_to_the_same(place: DatabaseAddress, connection: "psycopg.Connection[Any]") -> bool:
    """True when the permanent connection reaches the same database as this one. Raises StoreError kinds, also for what
    ``refuse_shared`` refuses.
    """
    try:
        with psycopg.Connection.connect(place.direct_conninfo, autocommit=True, prepare_threshold=None) as direct:
            refuse_shared(direct, place.direct_conninfo, place.direct_name)
            return direct.execute(_SERVER).fetchone() == connection.execute(_SERVER).fetchone()
    except psycopg.Error as error:
        raise typed(error, place, direct=True) from error


def _is_shared(connection: "psycopg.Connection[Any]", conninfo: str) -> bool:
    """While another connection is in a transaction: do both have the same server process, or does this one change its
    process?
    """
    for _ in range(_ATTEMPTS):
        first = _backend(connection)
        with psycopg.Connection.connect(conninfo, prepare_threshold=None) as other:
            if _backend(other) == first or _backend(connection) != first:
                return True
    return False


def _backend(connection: "psycopg.Connection[Any]") -> int:
    row = connection.execute(_BACKEND).fetchone()
    return row[0] if row is not None else 0
