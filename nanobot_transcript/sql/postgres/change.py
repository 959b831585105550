"""One change of a room's database, made exactly once even when the connection breaks during COMMIT.

Each change leaves a token in the table ``changes``, which keeps the latest ones. If the connection breaks before the
server has confirmed a commit, the change looks for its token on another connection. The status of the transaction id
would not do: a server that crashed or was promoted may have given the same id to another transaction.
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
"""At least so many of the latest tokens are kept."""
_FORGETS: Final = 64
"""One in so many changes removes the tokens that are too old."""
_ASKED_FOR: Final = 45.0
"""Seconds for which to ask whether a change was committed; longer than a failover takes."""


class Ledger(NamedTuple):
    """Where the changes of the database ``name`` are counted and noted: in the tables ``databases`` and ``changes`` of
    the (quoted) ``schema`` at a ``place`` (as people write it). ``lock`` is the number of the advisory lock that
    serialises changes, ``wait`` how many seconds to wait for it.
    """

    place: str
    schema: str
    name: str
    lock: int
    wait: float

    @property
    def opening(self) -> Sequence[str]:
        """The statements before a change. The last one returns how many changes there were."""
        return (
            _BEGIN,
            f"SET LOCAL lock_timeout = {max(1, int(self.wait * 1000))}",
            f"SELECT pg_advisory_xact_lock({self.lock})",
            f"SELECT changes {self._row}",
        )

    def looking(self, token: int) -> str:
        """Asks how many changes there were (``changes``), and whether one left this token (``kept``)."""
        found = f"SELECT FROM {self.schema}.changes WHERE name = '{self.name}' AND token = {token}"
        return f"SELECT changes, EXISTS ({found}) AS kept {self._row}"

    def noting(self, token: int) -> Iterator[str]:
        """The statements that note one more change."""
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
    """A change whose COMMIT was sent but not confirmed. ``changes`` is how many there were before it, ``until``
    (``time.monotonic``) when to give up.
    """

    result: Any
    token: int
    changes: int
    until: float


class RoomChange(Generic[_T]):
    """``work`` as one transaction, run on one connection after another until it is done or fails by itself."""

    def __init__(self, ledger: Ledger, work: Callable[[Sql], _T]) -> None:
        self.is_kept: bool = False
        """True when something was changed and is known to be committed."""
        self._ledger: Ledger = ledger
        self._work: Callable[[Sql], _T] = work
        self._sent: _Sent | None = None

    @property
    def is_in_doubt(self) -> bool:
        """True when it may have been committed, and nobody knows."""
        return self._sent is not None

    @property
    def is_given_up(self) -> bool:
        """True when it was in doubt for too long."""
        return self._sent is not None and time.monotonic() > self._sent.until

    def make(self, connection: Connection, statements: Statements) -> _T:
        """The result of the work. ``statements`` begin with the ``opening`` of the ledger."""
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
        """The error when the outcome will never be known."""
        self._sent = None
        return StoreUnavailableError(
            f"{self._ledger.place}: the connection broke while something was being kept.",
            hint="It may have been kept or not. Look, then try again.",
        )

    def _keep(self, result: _T, statements: Statements) -> None:
        before = statements.answer_before
        token, changes = secrets.randbits(63), before["changes"] if before is not None else 0
        # Set before COMMIT is sent: if the connection breaks from here on, only the token can tell the outcome.
        self._sent = _Sent(result, token, changes, time.monotonic() + _ASKED_FOR)
        try:
            told = statements.finish(*self._ledger.noting(token), "COMMIT")
        except psycopg.Error as error:
            # The server answered: it has rolled back, so nothing is in doubt.
            if not is_lost(error):
                self._sent = None
            raise
        self._sent = None
        if told != "COMMIT":
            raise RuntimeError("The transaction had failed, and went on without a savepoint to return to.")
        self.is_kept = True

    def _was_kept(self, sent: _Sent, statements: Statements) -> bool:
        """Taking the lock in ``opening`` means that the earlier transaction has ended: so the token tells its outcome
        for certain.
        """
        row = statements.ask(self._ledger.looking(sent.token))
        self.is_kept = row is not None and bool(row["kept"])
        # After so many other changes a token that is missing may have been removed.
        if not self.is_kept and (row is None or row["changes"] - sent.changes > _REMEMBERED):
            raise self.unknown()
        return self.is_kept


def roll_back(connection: Connection) -> None:
    """Roll back what is under way, if the connection still works."""
    if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
        with suppress(psycopg.Error):
            connection.execute("ROLLBACK")
