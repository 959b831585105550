"""Which processes are alive: each holds a session lock on its permanent connection, and renews a row.

The server frees the lock when the process or its host is gone. A failover, a crash and a restart free all locks at
once: then every process whose row was fresh when all were cut off counts as alive for a while.
"""

import contextlib
import secrets
import threading
import time
from typing import Any, Final, NamedTuple
from uuid import uuid4

from nanobot_transcript.coordination.contract import is_id
from nanobot_transcript.errors import StoreError, StoreUnavailableError
from nanobot_transcript.record.postgres.primary_terms import PRESENT, begin_reign
from nanobot_transcript.record.postgres.schema import RECORD
from nanobot_transcript.sql.postgres.clock import NOW
from nanobot_transcript.sql.postgres.engine import Connection, Engine

__all__ = ["PostgresProcesses"]

_JOINED_WITHIN: Final = 10.0
"""Seconds that ``join`` waits until the server knows of this process."""
_REFUSED_WITHIN: Final = 2.0
"""Seconds that it waits when the server refuses the permanent connection."""
_RECONNECTS: Final = 2.0
"""Seconds after which a process that only lost its connection holds its lock again."""
_SILENT: Final = 10.0
"""Seconds without renewal (there is one every five) after which a process is not waited for."""
_YOUNG: Final = 20.0
"""Seconds after a failover, a crash or a restart until all processes hold their locks again."""

_LOCK: Final = "SELECT pg_try_advisory_lock(%s)"
_RENEW: Final = f"""
INSERT INTO nanobot.processes
    SELECT %s, %s, {NOW}, {PRESENT}
ON CONFLICT (id) DO UPDATE SET number = excluded.number, renewed = excluded.renewed, reign = excluded.reign
"""
_GONE: Final = f"DELETE FROM nanobot.processes WHERE renewed < {NOW} - 86400"
_LEAVE: Final = "DELETE FROM nanobot.processes WHERE id = %s"
# pg_locks shows a bigint lock as its two halves. Only times of one reign are compared: another server may have another
# clock.
_LOOK: Final = f"""
SELECT EXISTS (
    SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND classid::bigint = (number >> 32) & 4294967295 AND objid::bigint = number & 4294967295
), renewed, {NOW} - renewed, r.id IS NOT NULL AND r.id = p.reign, {NOW} - r.began, r.last_word - renewed
FROM nanobot.processes AS p LEFT JOIN nanobot.reigns AS r ON r.name = nanobot.reign() WHERE p.id = %s
"""


class _Seen(NamedTuple):
    """What is known of a process: whether it holds its lock, when it last renewed its row, how long ago, whether that
    was in the current reign, how long that reign has lasted, and how much later others renewed in the one before.
    """

    held: bool
    renewed: float
    silent: float
    is_of_this_reign: bool
    reign: float | None
    behind: float


class PostgresProcesses:
    """``Processes`` in a database."""

    def __init__(self, engine: Engine) -> None:
        self._engine: Engine = engine
        self._mutex: threading.Lock = threading.Lock()
        self._id: str | None = None
        self._held: threading.Event = threading.Event()
        self._holding: contextlib.ExitStack = contextlib.ExitStack()
        self._holder: Connection | None = None
        """The connection on which the lock is held."""
        self._number: int = 0
        self._missed: dict[str, tuple[float, float]] = {}
        """For each process that may come back: since when (``time.monotonic``) it has no lock, and its last
        renewal.
        """
        self._of_parents: list[object] = []

    def join(self) -> str:
        """See ``Processes.join``."""
        with self._mutex:
            if self._id is None:
                self._join()
            assert self._id is not None
            return self._id

    def alive(self, other: str) -> bool:
        """See ``Processes.alive``. A process that was cut off counts as alive for some seconds, as it may come back.
        The first look after a failover waits until the server accepts writes.
        """
        if other == self._id:
            return True
        if not is_id(other):
            return False  # ``join`` never returns such an id
        seen = self._look(other)
        if seen is None or seen.held:
            self._missed.pop(other, None)
            return seen is not None
        if not seen.is_of_this_reign:
            # Nobody can have come back yet. But one that had stopped renewing before the others were cut off was dead
            # already.
            return seen.reign is not None and seen.reign < _YOUNG and seen.behind < _SILENT
        word, since = self._missed.get(other, (0.0, 0.0))
        if word != seen.renewed:
            word, since = self._missed[other] = seen.renewed, time.monotonic()
        return seen.silent < _SILENT and time.monotonic() - since < _RECONNECTS

    def leave(self) -> None:
        """See ``Processes.leave``."""
        with self._mutex:
            if self._id is None:
                return
            name, self._id = self._id, None
            self._holding.close()
            self._engine.listener.renew()  # closes the connection, which frees the lock
            with contextlib.suppress(StoreError):  # without the lock the row means nothing
                self._execute(_LEAVE, (name,))

    def after_fork(self) -> None:
        """In a forked child: the id and the lock are the parent's."""
        self._mutex = threading.Lock()
        self._of_parents += [self._holding, self._holder]
        self._id, self._holding, self._holder = None, contextlib.ExitStack(), None

    def _join(self) -> None:
        self._held.clear()
        self._engine.write(RECORD, self._note_reign, again=True)
        self._execute(_GONE)
        self._id = uuid4().hex
        listener = self._engine.listener
        self._holding.enter_context(listener.holding(self._hold))
        if not self._held.wait(_REFUSED_WITHIN):
            failure = listener.failure
            if failure is None and self._held.wait(_JOINED_WITHIN - _REFUSED_WITHIN):
                return
            self._holding.close()
            self._id = None
            raise failure or StoreUnavailableError(
                f"{self._engine.place.name} does not take the connection on which this process listens.",
                hint="See whether the server itself can be reached: its address is record.listen_url, else record.url.",
            )

    def _hold(self, connection: Connection) -> None:
        """Take the lock on the permanent connection. A new connection uses a new number: the server may not have
        noticed yet that the old one is gone, and would still hold its lock.
        """
        place, name = self._engine.place, self._id
        if name is None:
            return
        if connection is not self._holder:
            number = secrets.randbits(63)
            self._note_reign(connection)
            connection.execute(_LOCK, (number,))
            self._number, self._holder = number, connection
        connection.execute(place.sql(_RENEW), (name, self._number))
        self._held.set()

    def _look(self, other: str) -> _Seen | None:
        statement = self._engine.place.sql(_LOOK)

        def look(connection: Connection) -> _Seen | None:
            row = connection.execute(statement, (other,)).fetchone()
            return None if row is None else _Seen(*row)

        seen = self._engine.read(RECORD, look, None)
        if seen is not None and not seen.held and seen.reign is None:
            self._engine.write(RECORD, self._note_reign, again=True)  # this may be the first look after a failover
            seen = self._engine.read(RECORD, look, None)
        return seen

    def _note_reign(self, connection: Connection) -> None:
        begin_reign(connection, self._engine.place)

    def _execute(self, statement: str, bound: tuple[Any, ...] = ()) -> None:
        placed = self._engine.place.sql(statement)
        self._engine.write(RECORD, lambda connection: connection.execute(placed, bound), again=True)
