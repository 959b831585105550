"""Creating and migrating the tables of each part, once, by whichever process comes first."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import psycopg
from psycopg import sql

from nanobot_transcript.errors import StoreUnavailableError
from nanobot_transcript.sql.postgres.address import DatabaseAddress
from nanobot_transcript.sql.postgres.errors import ENCODING, is_missing

__all__ = ["TableSet", "lock_number", "migrate", "refuse_narrow", "refuse_newer", "version"]

_LOCK: Final = "nanobot-transcript migrations"
_LOCK_WAIT: Final = "30s"
_WIDE: Final = ("UTF8", "SQL_ASCII")
_VERSIONS: Final = "CREATE TABLE IF NOT EXISTS nanobot.versions (part text PRIMARY KEY, version integer NOT NULL)"


@dataclass(frozen=True, slots=True)
class TableSet:
    """Tables that belong together. ``steps`` are the statements that lead from each version to the next.

    Statements use the schema ``nanobot``; the engine replaces it with the actual one.
    """

    name: str
    steps: Sequence[Sequence[str]]


def version(connection: psycopg.Connection, part: TableSet, place: DatabaseAddress) -> int | None:
    """The version of a part's tables; None when there are none."""
    try:
        row = connection.execute(
            place.sql("SELECT version FROM nanobot.versions WHERE part=%s"), (part.name,)
        ).fetchone()
    except psycopg.Error as error:
        if is_missing(error):
            return None
        raise
    return None if row is None else row[0]


def refuse_newer(found: int | None, part: TableSet, where: str) -> None:
    """Raise StoreUnavailableError when a newer version of this product has written there."""
    if found is not None and found > len(part.steps):
        raise StoreUnavailableError(
            f"{where} was written by a newer version ({part.name} {found}).",
            hint="Update this installation of nanobot-transcript.",
        )


def migrate(connection: psycopg.Connection, part: TableSet, place: DatabaseAddress) -> None:
    """Bring a part to the current version, all or nothing, one process at a time. ``connection`` is in autocommit."""
    refuse_narrow(connection, place.name)
    with connection.transaction():
        connection.execute("SELECT set_config('lock_timeout', %s, true)", (_LOCK_WAIT,))
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (lock_number(f"{_LOCK} {place.schema}"),))
        _make_schema(connection, place)
        row = connection.execute(
            place.sql("SELECT version FROM nanobot.versions WHERE part=%s"), (part.name,)
        ).fetchone()
        found = 0 if row is None else row[0]
        refuse_newer(found, part, place.name)
        if found == len(part.steps):
            return
        for step in part.steps[found:]:
            for statement in step:
                connection.execute(place.sql(statement))
        connection.execute(
            place.sql(
                "INSERT INTO nanobot.versions VALUES (%s, %s) ON CONFLICT (part) DO UPDATE SET version=excluded.version"
            ),
            (part.name, len(part.steps)),
        )


def refuse_narrow(connection: psycopg.Connection, where: str) -> None:
    """Raise StoreUnavailableError for a database whose encoding lacks most letters: it could not store names
    and words.
    """
    encoding = connection.info.parameter_status("server_encoding")
    if encoding not in _WIDE:
        raise StoreUnavailableError(f"{where} cannot hold every letter: its encoding is {encoding}.", hint=ENCODING)


def _make_schema(connection: psycopg.Connection, place: DatabaseAddress) -> None:
    """Only when it is missing: a user who may not create schemas may still use an existing one."""
    if connection.execute("SELECT 1 FROM pg_namespace WHERE nspname=%s", (place.schema,)).fetchone() is None:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(place.schema)))
    connection.execute(place.sql(_VERSIONS))


def lock_number(name: str) -> int:
    """The number of an advisory lock (a signed bigint) for a name."""
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=8).digest(), signed=True)
