"""A room's database in PostgreSQL: the same statements as in SQLite, over the connections of an engine.

One writes at a time, as in SQLite: rooms look something up and then write what follows from it, and number what they
write in the order in which others see it. A lock that PostgreSQL frees with the transaction, one for each database of
rooms, keeps it so for all processes. Nobody who reads waits for it.
"""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

import psycopg

from nanobot_transcript.errors import StoreUnavailableError
from nanobot_transcript.sql.contract import Schema, Sql
from nanobot_transcript.sql.postgres.engine import Connection, Engine
from nanobot_transcript.sql.postgres.migrations import Part, lock_number
from nanobot_transcript.sql.postgres.statements import Statements
from nanobot_transcript.sql.postgres.tables import names_of, part_of

if TYPE_CHECKING:
    from nanobot_transcript.sql.postgres.translation import Names

__all__ = ["PostgresDatabase"]

_T = TypeVar("_T")

_BEGIN: Final = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
_OWN: Final = (
    "pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace"
    " WHERE c.relkind = 'r' AND n.nspname = %s AND c.relname LIKE %s"
)
_TABLES: Final = f"SELECT c.relname FROM {_OWN}"
_SIZE: Final = f"SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM {_OWN}"
_LOOK: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


class PostgresDatabase:
    """``Database`` called ``name`` (letters) at an engine's place. ``busy`` bounds (seconds) the wait for another
    process's transaction.
    """

    def __init__(self, engine: Engine, name: str, schema: Schema, *, busy: float) -> None:
        self._engine: Engine = engine
        self._schema: Schema = schema
        self._names: Names = names_of(name, schema, engine.place.quoted_schema)
        self._part: Part = part_of(self._names, schema)
        lock = lock_number(f"nanobot-transcript database {engine.place.schema} {name}")
        self._before: Sequence[str] = (
            _BEGIN,
            f"SET LOCAL lock_timeout = {max(1, int(busy * 1000))}",
            f"SELECT pg_advisory_xact_lock({lock})",
        )
        databases = f"{engine.place.quoted_schema}.databases"
        self._noted: str = f"UPDATE {databases} SET changes = changes + 1 WHERE name = '{name}'"
        self._state: bytes = f"SELECT identity, changes FROM {databases} WHERE name = '{name}'".encode()
        # Who waits for the lock has a connection; others of this process must not use up all of them.
        self._writing: threading.Lock = threading.Lock()
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
                _roll_back(connection)

        return self._engine.read(self._part, looking, missing)

    def write(self, work: Callable[[Sql], _T]) -> _T:
        """See ``Database.write``: on the server's disk when this returns. Where the connection breaks before the end
        was told, ``work`` begins anew.
        """
        is_kept = False

        def transaction(connection: Connection) -> _T:
            nonlocal is_kept
            if is_kept:
                raise StoreUnavailableError(
                    f"{self._engine.place.name}: the connection broke while something was being kept.",
                    hint="It may have been kept or not. Look, then try again.",
                )
            statements = self._statements(connection, self._before)
            try:
                result = work(statements)
                is_kept = statements.changed
                self._commit(statements)
            except BaseException:
                _roll_back(connection)
                raise
            return result

        with self._writing:
            return self._engine.write(self._part, transaction, again=True)

    def edition(self) -> int | None:
        """See ``Database.edition``."""
        found = self._found()
        return None if found is None else found[1] - self._own_changes

    def identity(self) -> object:
        """See ``Database.identity``."""
        found = self._found()
        return None if found is None else found[0]

    def size(self) -> int:
        """See ``Database.size``: of the tables with their indexes."""

        def work(connection: Connection) -> int:
            row = connection.execute(_SIZE, self._place).fetchone()
            return int(row[0])  # pyright: ignore[reportOptionalSubscript] -- a sum is a row

        return self._engine.read(self._part, work, 0)

    def damage(self) -> str:
        """See ``Database.damage``. PostgreSQL looks after its own disk; here, each table is read from."""

        def work(connection: Connection) -> str:
            for table in self._tables(connection):
                connection.execute(f"SELECT FROM {table} LIMIT 1".encode())
            return ""

        return self._engine.read(self._part, work, "")

    def settle(self) -> None:
        """See ``Database.settle``: what was removed leaves the tables. It stays in the WAL until that is used anew."""

        def work(connection: Connection) -> None:
            connection.execute(f"VACUUM {', '.join(self._tables(connection))}".encode())

        self._engine.read(self._part, work, None)

    def close(self) -> None:
        """See ``Database.close``. The connections are the engine's."""

    def _statements(self, connection: Connection, before: Sequence[str] = ()) -> Statements:
        return Statements(connection, self._names, self._schema, before)

    def _commit(self, statements: Statements) -> None:
        if not statements.has_begun:
            return
        if not statements.changed:
            statements.finish("ROLLBACK")
            return
        if statements.finish(self._noted, "COMMIT") != "COMMIT":
            raise RuntimeError("The transaction had failed, and went on without a savepoint to return to.")
        self._own_changes += 1

    def _found(self) -> tuple[str, int] | None:
        return self._engine.read(self._part, lambda connection: connection.execute(self._state).fetchone(), None)

    def _tables(self, connection: Connection) -> list[str]:
        """Those that there are: some were given other names by later versions."""
        rows = connection.execute(_TABLES, self._place)
        return sorted(f"{self._names.schema}.{row[0]}" for row in rows)


def _roll_back(connection: "psycopg.Connection[Any]") -> None:
    if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
        with suppress(psycopg.Error):
            connection.execute("ROLLBACK")
