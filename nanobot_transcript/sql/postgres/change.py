"""One change of a room's database, made once, also where the connection breaks while it is being kept.

Each change leaves a token in the table ``changes``, which holds those of the last ones. Who was cut off before the
server said what became of a change looks for its token on another connection. The status of its transaction would not
do: a server that crashed, or took over from another one, may have given the same number to another transaction.
"""

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final, Generic, NamedTuple, TypeVar

import psycopg

from nanobot_transcript.errors import StoreUnavailableError
from nanobot_transcript.sql.contract import Sql
from nanobot_transcript.sql.postgres.engine import Connection
from nanobot_transcript.sql.postgres.errors import is_lost
from nanobot_transcript.sql.postgres.statements import Statements

__all__ = ["Ledger", "RoomChange", "roll_back"]

_T = TypeVar("_T")

_BEGIN: Final = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
_REMEMBERED: Final = 4096
"""So many of the last changes can be told to have been kept, at least."""
_FORGETS: Final = 64
"""One change in so many removes the tokens that are too old."""
_ASKED_FOR: Final = 45.0
"""Seconds in which it is worth asking whether a change was kept: longer than a failover takes."""


class Ledger(NamedTuple):
    """Where the changes of the database ``name`` are counted and noted: in the tables ``databases`` and ``changes`` of
    the ``schema`` (quoted) at a ``place`` (for a person). ``lock`` is the number of the lock under which it is changed,
    ``wait`` how many seconds to wait for that.
    """

    place: str
    schema: str
    name: str
    lock: int
    wait: float

    @property
    def opening(self) -> Sequence[str]:
        """What goes before a change. The last statement tells how many there were."""
        return (
            _BEGIN,
            f"SET LOCAL lock_timeout = {max(1, int(self.wait * 1000))}",
            f"SELECT pg_advisory_xact_lock({self.lock})",
            f"SELECT changes {self._row}",
        )

    def looking(self, token: int) -> str:
        """What tells how many changes there were (``changes``), and whether one left this token (``kept``)."""
        found = f"SELECT FROM {self.schema}.changes WHERE name = '{self.name}' AND token = {token}"
        return f"SELECT changes, EXISTS ({found}) AS kept {self._row}"

    def noting(self, token: int) -> Iterator[str]:
        """What notes one more."""
        counted = (
            f"UPDATE {self.schema}.databases SET changes = changes + 1 WHERE name = '{self.name}' RETURNING changes"
        )
        yield (
            f"WITH counted AS ({counted})"
            f" INSERT INTO {self.schema}.changes SELECT '{self.name}', changes, {token} FROM counted"
        )
        if token % _FORGETS == 0:
            last = f"(SELECT changes {self._row})"
            yield f"DELETE FROM {self.schema}.changes WHERE name = '{self.name}' AND number <= {last} - {_REMEMBERED}"

    @property
    def _row(self) -> str:
        return f"FROM {self.schema}.databases WHERE name = '{self.name}'"


class _Sent(NamedTuple):
    """A change that the server was told to keep, and has not said that it did. ``changes`` is how many there had been
    before, ``until`` (``time.monotonic``) when it is given up.
    """

    result: Any
    token: int
    changes: int
    until: float


class RoomChange(Generic[_T]):
    """``work`` as one transaction, to be made on one connection after the other until it is done or fails by itself."""

    def __init__(self, ledger: Ledger, work: Callable[[Sql], _T]) -> None:
        self.is_kept: bool = False
        """Whether it is known that something was changed, and stands."""
        self._ledger: Ledger = ledger
        self._work: Callable[[Sql], _T] = work
        self._sent: _Sent | None = None

    @property
    def is_in_doubt(self) -> bool:
        """Whether it may have been kept, and nobody knows."""
        return self._sent is not None

    @property
    def is_given_up(self) -> bool:
        """Whether it was in doubt for too long."""
        return self._sent is not None and time.monotonic() > self._sent.until

    def make(self, connection: Connection, statements: Statements) -> _T:
        """What the work gives. ``statements`` begin with the ``opening`` of the ledger."""
        try:
            if self._sent is not None and self._was_kept(self._sent, statements):
                return self._sent.result
            self._sent = None
            result = self._work(statements)
            if statements.changed:
                self._keep(result, statements)
            elif statements.is_begun:
                statements.finish("ROLLBACK")
            return result
        finally:
            roll_back(connection)

    def unknown(self) -> StoreUnavailableError:
        """What to say when nobody will know any more."""
        self._sent = None
        return StoreUnavailableError(
            f"{self._ledger.place}: the connection broke while something was being kept.",
            hint="It may have been kept or not. Look, then try again.",
        )

    def _keep(self, result: _T, statements: Statements) -> None:
        before = statements.answer_before
        token, changes = secrets.randbits(63), before["changes"] if before is not None else 0
        self._sent = _Sent(result, token, changes, time.monotonic() + _ASKED_FOR)
        try:
            told = statements.finish(*self._ledger.noting(token), "COMMIT")
        except psycopg.Error as error:
            if not is_lost(error):
                self._sent = None
            raise
        self._sent = None
        if told != "COMMIT":
            raise RuntimeError("The transaction had failed, and went on without a savepoint to return to.")
        self.is_kept = True

    def _was_kept(self, sent: _Sent, statements: Statements) -> bool:
        """Its transaction is over, one way or the other: it had the lock."""
        row = statements.ask(self._ledger.looking(sent.token))
        self.is_kept = row is not None and bool(row["kept"])
        if not self.is_kept and (row is None or row["changes"] - sent.changes > _REMEMBERED):
            raise self.unknown()
        return self.is_kept


def roll_back(connection: Connection) -> None:
    """End what is under way, as far as the connection still stands."""
    if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
        with suppress(psycopg.Error):
            connection.execute("ROLLBACK")
