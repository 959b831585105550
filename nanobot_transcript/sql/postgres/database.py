"""A room's database in PostgreSQL: the same statements as in SQLite, over the connections of an engine.

One writer at a time, as in SQLite: rooms read something and then write what follows from it, and assign numbers in the
order in which others see them. An advisory lock per database, which PostgreSQL frees with the transaction, ensures that
for all processes. Readers do not wait for it.
"""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, LiteralString, TypeVar

import psycopg

from nanobot_transcript.errors import StoreBusyError, StoreError
from nanobot_transcript.sql.contract import Schema, Sql
from nanobot_transcript.sql.outage import AwayError
from nanobot_transcript.sql.postgres.change import Ledger, RoomChange, roll_back
from nanobot_transcript.sql.postgres.engine import Connection, Engine
from nanobot_transcript.sql.postgres.migrations import TableSet, lock_number
from nanobot_transcript.sql.postgres.statements import Statements
from nanobot_transcript.sql.postgres.tables import names_of, part_of

if TYPE_CHECKING:
    from nanobot_transcript.sql.postgres.translation import Names

__all__ = ["PostgresDatabase"]

_T = TypeVar("_T")

_OWN: Final = (
    "pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace"
    " WHERE c.relkind = 'r' AND n.nspname = %s AND c.relname LIKE %s"
)
_TABLES: Final = f"SELECT c.relname FROM {_OWN}"
_SIZE: Final = f"SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM {_OWN}"
_LOOK: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_PAUSE: Final = 0.5
"""Seconds between two queries whether a change was committed."""


class PostgresDatabase:
    """``Database`` called ``name`` (letters) at an engine's place. ``busy`` (seconds) bounds the wait for another
    process's transaction.
    """

    def __init__(self, engine: Engine, name: str, schema: Schema, *, busy: float) -> None:
        self._engine: Engine = engine
        self._schema: Schema = schema
        self._names: Names = names_of(name, schema, engine.place.quoted_schema)
        self._part: TableSet = part_of(self._names, schema)
        lock = lock_number(f"nanobot-transcript database {engine.place.schema} {name}")
        self._ledger: Ledger = Ledger(engine.place.name, engine.place.quoted_schema, name, lock, busy)
        self._state: LiteralString = engine.place.sql(
            f"SELECT identity, changes FROM nanobot.databases WHERE name = '{name}'"
        )
        self._own_changes: int = 0
        self._place: tuple[str, str] = engine.place.schema, f"{name}\\_%"

    @property
    def row_errors(self) -> tuple[type[Exception], ...]:
        """See ``Database.row_errors``."""
        return psycopg.IntegrityError, psycopg.DataError

    def read(self, work: Callable[[Sql], _T], missing: _T) -> _T:
        """See ``Database.read``."""
        return self._engine.read(self._part, lambda connection: work(self._statements(connection)), missing)

    def read_at_once(self, work: Callable[[Sql], _T], missing: _T) -> _T:
        """See ``Database.read_at_once``."""

        def looking(connection: Connection) -> _T:
            try:
                return work(self._statements(connection, [_LOOK]))
            finally:
                roll_back(connection)

        return self._engine.read(self._part, looking, missing)

    def write(self, work: Callable[[Sql], _T]) -> _T:
        """See ``Database.write``: on the server's disk when this returns. When the connection breaks, ``work`` runs
        again unless its change was committed, which is asked for as long as a failover may take.
        """
        change, opening = RoomChange(self._ledger, work), self._ledger.opening
        while True:
            try:
                # Waiting for the lock takes up a connection: let one thread wait, or this process soon has no
                # connection left.
                with self._engine.turn(self._ledger.name, self._ledger.wait):
                    result = self._engine.write(
                        self._part, lambda at: change.make(at, self._statements(at, opening)), again=True
                    )
                    self._own_changes += change.is_kept
            except StoreError as error:
                if not change.is_in_doubt:
                    raise
                if change.is_given_up or not isinstance(error, AwayError | StoreBusyError):
                    raise change.unknown() from error
            else:
                return result
            time.sleep(_PAUSE)

    def edition(self) -> int | None:
        """See ``Database.edition``."""
        found = self._found()
        return None if found is None else found[1] - self._own_changes

    def identity(self) -> object:
        """See ``Database.identity``."""
        found = self._found()
        return None if found is None else found[0]

    def size(self) -> int:
        """See ``Database.size``: tables and indexes."""

        def work(connection: Connection) -> int:
            row = connection.execute(_SIZE, self._place).fetchone()
            return int(row[0])  # pyright: ignore[reportOptionalSubscript] -- a sum is a row

        return self._engine.read(self._part, work, 0)

    def damage(self) -> str:
        """See ``Database.damage``. PostgreSQL takes care of its own disk; this only reads from each table."""

        def work(connection: Connection) -> str:
            for table in self._tables(connection):
                connection.execute(f"SELECT FROM {table} LIMIT 1".encode())
            return ""

        return self._engine.read(self._part, work, "")

    def settle(self) -> None:
        """See ``Database.settle``: VACUUM removes the data from the tables. It stays in the WAL until that is
        recycled.
        """

        def work(connection: Connection) -> None:
            connection.execute(f"VACUUM {', '.join(self._tables(connection))}".encode())

        self._engine.read(self._part, work, None)

    def close(self) -> None:
        """See ``Database.close``. The connections are the engine's."""

    def _statements(self, connection: Connection, before: Sequence[str] = ()) -> Statements:
        return Statements(connection, self._names, self._schema, before)

    def _found(self) -> tuple[str, int] | None:
        return self._engine.read(self._part, lambda connection: connection.execute(self._state).fetchone(), None)

    def _tables(self, connection: Connection) -> list[str]:
        """The existing tables; later versions have renamed some."""
        rows = connection.execute(_TABLES, self._place)
        return sorted(f"{self._names.schema}.{row[0]}" for row in rows)
