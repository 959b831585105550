"""The connections of one process to a database; driver errors become our own."""

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from select import POLLIN, poll
from typing import Any, Final, TypeVar
from weakref import WeakSet

import psycopg
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from nanobot_transcript.errors import StoreBusyError, StoreError
from nanobot_transcript.sql.outage import AwayError
from nanobot_transcript.sql.postgres.address import DatabaseAddress
from nanobot_transcript.sql.postgres.clock import ServerClock
from nanobot_transcript.sql.postgres.errors import AGAIN, LOOK, is_lost, is_missing, typed
from nanobot_transcript.sql.postgres.fair_lock import TurnLock
from nanobot_transcript.sql.postgres.listener import Listener, hang_up
from nanobot_transcript.sql.postgres.migrations import TableSet, lock_number, migrate, refuse_newer, version
from nanobot_transcript.sql.postgres.outage_log import Outage
from nanobot_transcript.sql.postgres.poolers import is_passed_on

__all__ = ["Connection", "Engine"]

_T = TypeVar("_T")

Connection = psycopg.Connection[Any]
"""In autocommit; work that needs a transaction begins one."""

_PATIENCE: Final = 5.0
"""Seconds that a call waits for a connection while all are in use."""
_GLANCE: Final = 0.05
"""Seconds between two checks whether the pool was refused a connection, which it does not tell waiting callers."""
_GIVES_UP: Final = 0.1
"""Seconds after which the pool stops trying to connect; the next call starts again."""
_KNOWN_DOWN: Final = 1.0
"""Seconds without another attempt after the database could not be reached."""
_IDLE: Final = 300.0
_TRUSTED: Final = 5.0
"""Seconds between two checks of the tables' version, which a newer installation may change."""
_GRACE: Final = 5.0
"""Seconds for running work to finish after ``close``."""


class Engine:
    """The database at ``place`` for this process. For any thread, and after a fork; connects on first use.

    ``parts`` are what has tables there. All calls wait for the network and raise StoreError kinds.
    """

    def __init__(self, place: DatabaseAddress) -> None:
        self.place: DatabaseAddress = place
        self.listener: Listener = Listener(place)
        self.clock: ServerClock = ServerClock(self.connection)
        self._mutex: threading.RLock = threading.RLock()
        self._pool: ConnectionPool[Connection] | None = None
        self._of_parents: list[object] = []
        self._ready: dict[str, float] = {}
        """The parts whose tables have the current version, and when (``time.monotonic``) that was checked."""
        self._refused: tuple[float, psycopg.Error] | None = None
        self.outage: Outage = Outage()
        self._connecting: int = 0
        self._lost: float = 0.0
        """When a connection was last lost; older ones may be lost as well."""
        self._lent: dict[int, Connection] = {}
        self._turns: dict[str, TurnLock] = {}
        _engines.add(self)

    def read(self, part: TableSet, work: Callable[[Connection], _T], missing: _T) -> _T:
        """The result of ``work``; ``missing`` when there are no tables yet. A lost connection is replaced, and ``work``
        runs again once.
        """
        try:
            return self._reading(part, work, missing)
        except _LostError:
            return self._reading(part, work, missing)

    def write(self, part: TableSet, work: Callable[[Connection], _T], *, again: bool = False) -> _T:
        """The result of ``work``; tables are created first. With ``again``, for ``work`` that may be done twice, it
        runs again once when the connection is lost; otherwise nobody knows whether it was done.
        """
        try:
            return self._writing(part, work)
        except _LostError:
            if not again:
                raise
            return self._writing(part, work)

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection for the duration of the ``with``; driver errors become StoreError kinds."""
        with self._errors(), self._borrowed() as connection:
            yield connection

    @contextmanager
    def turn(self, name: str, max_wait: float) -> Iterator[None]:
        """One thread of this process at a time, in order. Raises StoreBusyError when its turn has not come within
        ``max_wait`` seconds.
        """
        with self._mutex:
            turn = self._turns.setdefault(name, TurnLock())
        if not turn.take(max_wait):
            raise StoreBusyError(f"{self.place.name}: another change has not come to its end.", hint=AGAIN)
        try:
            yield
        finally:
            turn.give_on()

    @contextmanager
    def alone(self, work: str, max_wait: float) -> Iterator[None]:
        """Keep other processes from the same ``work`` (as people call it: "moving posts"), with a lock on a separate
        connection. It is a transaction's lock, because a pooler may be in between.

        Raises StoreBusyError when another process has held it for ``max_wait`` seconds.
        """
        number = lock_number(f"nanobot-transcript {work} {self.place.schema}")
        with self._errors(), psycopg.Connection.connect(self.place.conninfo) as connection:
            try:
                connection.execute("SELECT set_config('lock_timeout', %s, true)", (f"{max_wait * 1000:.0f}ms",))
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (number,))
            except psycopg.errors.LockNotAvailable as error:
                raise StoreBusyError(
                    f"Another process is {work} in {self.place.name}.", hint="Wait for its end, then run it again."
                ) from error
            yield

    def exists(self, part: TableSet) -> bool:
        """True when the tables of a part exist."""
        return self.read(part, lambda _: True, missing=False)

    def writable(self) -> bool:
        """True when the server accepts writes; a standby does not."""
        with self.connection() as connection:
            row = connection.execute("SELECT NOT pg_is_in_recovery()").fetchone()
            return row is not None and row[0]

    def close(self) -> None:
        """Release the connections; they open again when needed. Running work has a few seconds to finish."""
        with self._mutex:
            pool, self._pool = self._pool, None
            lent = dict(self._lent)
        self.listener.close()
        if pool is not None:
            pool.close()
        if lent:
            timer = threading.Timer(_GRACE, self._hang_up, (lent,))
            timer.daemon = True
            timer.start()

    def after_fork(self) -> None:
        """In a forked child: the connections are the parent's, and must not even be closed here."""
        self._mutex = threading.RLock()
        if self._pool is not None:
            self._of_parents.append(self._pool)
            self._pool = None
        self._of_parents.extend(self._lent.values())
        self._lent, self._connecting, self._turns = {}, 0, {}
        self.listener.after_fork()

    def _reading(self, part: TableSet, work: Callable[[Connection], _T], missing: _T) -> _T:
        with self._errors(), self._borrowed() as connection:
            try:
                return work(connection) if self._is_there(connection, part) else missing
            except psycopg.Error as error:
                if not is_missing(error):
                    raise
                if (found := self._found(connection, part)) is None:
                    return missing
                refuse_newer(found, part, self.place.name)
                raise

    def _writing(self, part: TableSet, work: Callable[[Connection], _T]) -> _T:
        with self._errors(), self._borrowed() as connection:
            self._make_ready(connection, part)
            try:
                return work(connection)
            except psycopg.Error as error:
                if not is_missing(error) or self._found(connection, part) == len(part.steps):
                    raise
                self._make_ready(connection, part)  # somebody has dropped the schema
                return work(connection)

    def _is_there(self, connection: Connection, part: TableSet) -> bool:
        """True when a part has tables; migrates older ones, and reads newer ones as well as it can."""
        if part.name in self._ready:
            return True
        found = self._found(connection, part)
        if found is not None and found < len(part.steps):
            self._make_ready(connection, part)
        return found is not None

    def _make_ready(self, connection: Connection, part: TableSet) -> None:
        if time.monotonic() - self._ready.get(part.name, -_TRUSTED) < _TRUSTED:
            return
        found = self._found(connection, part)
        refuse_newer(found, part, self.place.name)
        if found != len(part.steps):
            migrate(connection, part, self.place)
            self._ready[part.name] = time.monotonic()

    def _found(self, connection: Connection, part: TableSet) -> int | None:
        """The version of a part's tables; None when there are none."""
        found = version(connection, part, self.place)
        if found == len(part.steps):
            self._ready[part.name] = time.monotonic()
        else:
            self._ready.pop(part.name, None)
        return found

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            found = typed(error, self.place)
            if is_lost(error):
                raise _LostError(str(found), hint=found.hint) from error
            raise found from error

    @contextmanager
    def _borrowed(self) -> Iterator[Connection]:
        connection, pool = self._take()
        with self._mutex:
            self._lent[id(connection)] = connection
        lost = False
        try:
            self.clock.look(connection)
            yield connection
        except psycopg.Error as error:
            lost = is_lost(error)
            raise
        finally:
            with self._mutex:
                self._lent.pop(id(connection), None)
            if lost:
                self._lost = time.monotonic()
                self.clock.forget()
                connection.close()
            pool.putconn(connection)  # rolls back an open transaction, and discards a closed connection

    def _take(self) -> tuple[Connection, ConnectionPool[Connection]]:
        began = time.monotonic()
        pool = self._pool or self._opened()
        refused = self._refused_since(began - _KNOWN_DOWN)
        if refused and not self._lent and not pool.get_stats()["pool_available"]:
            raise refused
        while True:
            try:
                connection = pool.getconn(_GLANCE)
            except PoolTimeout as error:
                refused = self._refused_since(began)
                # The server may refuse one more connection, but one that is lent out now may come back.
                if time.monotonic() - began > (_PATIENCE if self._lent or not refused else 0):
                    raise (refused or self._no_connection()) from error
                continue
            except PoolClosed:
                pool = self._opened()
                continue
            if self._stands(connection):
                return connection, pool
            self.clock.forget()
            connection.close()  # the server closed it while it was idle
            pool.putconn(connection)

    def _stands(self, connection: Connection) -> bool:
        made_at = getattr(connection, "made_at", 0.0)
        return connection.pgconn.status == psycopg.pq.ConnStatus.OK and made_at > self._lost and _is_quiet(connection)

    def _refused_since(self, moment: float) -> StoreError | None:
        """Why the server refused a connection, if it did since that moment."""
        refused = self._refused
        return typed(refused[1], self.place) if refused is not None and refused[0] >= moment else None

    def _no_connection(self) -> StoreError:
        """The error when no connection came in time, and none was refused."""
        if self._connecting:
            return AwayError(f"{self.place.name} does not answer.", hint=LOOK)
        return StoreBusyError(f"{self.place.name}: all connections of this process are in use.", hint=AGAIN)

    def _hang_up(self, lent: dict[int, Connection]) -> None:
        """Free threads that still wait for an answer on these connections: a hanging server gives none."""
        with self._mutex:
            for number, connection in lent.items():
                if self._lent.get(number) is connection:
                    hang_up(connection)

    def _opened(self) -> ConnectionPool[Connection]:
        with self._mutex:
            if self._pool is None:
                self._pool = ConnectionPool(
                    self.place.conninfo,
                    connection_class=self._connection_class(),
                    # A pooler may run each transaction on another server process, which does not know our prepared
                    # statements.
                    kwargs={"autocommit": True, "prepare_threshold": None if self.place.pooled else 3},
                    min_size=0,
                    max_size=self.place.connections,
                    max_idle=_IDLE,
                    reconnect_timeout=_GIVES_UP,
                    num_workers=1,
                    open=True,
                )
            return self._pool

    def _connection_class(self) -> type[Connection]:
        """A connection class that remembers why connecting failed, because the pool only logs it."""
        engine = self

        class Told(psycopg.Connection[Any]):
            made_at: float

            @classmethod
            def connect(cls, *args: Any, **kwargs: Any) -> Any:
                engine._connecting += 1
                try:
                    made = super().connect(*args, **kwargs)
                    engine._check_server(made)
                except psycopg.Error as error:
                    engine._refused = time.monotonic(), error
                    if isinstance(found := typed(error, engine.place), AwayError):
                        engine.outage.failed(found)
                    raise
                finally:
                    engine._connecting -= 1
                made.made_at, engine._refused = time.monotonic(), None
                engine.outage.over()
                return made

        return Told

    def _check_server(self, connection: Connection) -> None:
        try:
            if not self.place.pooled and is_passed_on(connection):
                connection.prepare_threshold = None
        except psycopg.Error:
            connection.close()
            raise


class _LostError(AwayError):
    """The connection broke during work."""


def _is_quiet(connection: Connection) -> bool:
    """False when the server has sent something unasked: it is closing the connection."""
    looking = poll()
    looking.register(connection.fileno(), POLLIN)
    return not looking.poll(0)


logging.getLogger("psycopg.pool").setLevel(logging.ERROR)  # each caller gets the same as its error

_engines: "WeakSet[Engine]" = WeakSet()


def _after_fork() -> None:
    for engine in list(_engines):
        engine.after_fork()


os.register_at_fork(after_in_child=_after_fork)
