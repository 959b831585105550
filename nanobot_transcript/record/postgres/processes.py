"""Which processes live: each holds a lock of its session on the connection that stays, and renews a row.

The server frees the lock when the process or its host is gone. A failover frees the locks of all at once: then a
process is seen as ended only when it has not renewed its row for a while, either.
"""

import contextlib
import os
import re
import secrets
import threading
import time
from typing import Any, Final
from uuid import uuid4

from nanobot_transcript.errors import StoreError, StoreUnavailableError
from nanobot_transcript.record.postgres.schema import RECORD
from nanobot_transcript.sql.postgres.engine import Connection, Engine

__all__ = ["PostgresProcesses"]

_ID: Final = re.compile(r"[0-9a-f]{32}")
_JOINED_WITHIN: Final = 10.0
"""Seconds that ``join`` waits until the server knows of this process."""
_RECONNECTS: Final = 2.0
"""Seconds after which a process whose connection alone was cut holds its lock again."""
_SILENT: Final = 10.0
"""Seconds without a word, of which there is one every five, after which it need not be waited for."""
_YOUNG: Final = 15.0
"""Seconds after a failover or a restart, in which all processes hold their locks again."""
_OUTAGE: Final = 120.0
"""Seconds that a failover may take, in which nobody can give a word."""

_NOW: Final = "extract(epoch FROM clock_timestamp())::float8"
_LOCK: Final = "SELECT pg_try_advisory_lock(%s)"
_RENEW: Final = f"""
INSERT INTO nanobot.processes VALUES (%s, %s, {_NOW}) ON CONFLICT (id) DO UPDATE SET renewed = {_NOW}
"""
_REIGNS: Final = f"INSERT INTO nanobot.reigns VALUES (nanobot.reign(), {_NOW}) ON CONFLICT DO NOTHING"
_GONE: Final = f"DELETE FROM nanobot.processes WHERE renewed < {_NOW} - 86400"
_LEAVE: Final = "DELETE FROM nanobot.processes WHERE id = %s"
# pg_locks shows a lock on a bigint as its two halves.
_LOOK: Final = f"""
SELECT EXISTS (
    SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND classid::bigint = (number >> 32) & 4294967295 AND objid::bigint = number & 4294967295
), {_NOW} - renewed, {_NOW} - coalesce((SELECT began FROM nanobot.reigns WHERE name = nanobot.reign()), {_NOW})
FROM nanobot.processes WHERE id = %s
"""


class PostgresProcesses:
    """``Processes`` in a database."""

    def __init__(self, engine: Engine) -> None:
        self._engine: Engine = engine
        self._mutex: threading.Lock = threading.Lock()
        self._id: str | None = None
        self._number: int = 0
        self._pid: int = os.getpid()
        self._held: threading.Event = threading.Event()
        self._holding: contextlib.ExitStack = contextlib.ExitStack()
        self._holder: int = 0
        """The server's process behind the connection on which the lock was taken."""
        self._missed: dict[str, float] = {}
        """Since when (``time.monotonic``) a process that still may come back was seen without its lock."""

    def join(self) -> str:
        """See ``Processes.join``."""
        with self._mutex:
            if self._pid != os.getpid():
                self._id, self._pid, self._holding = (
                    None,
                    os.getpid(),
                    contextlib.ExitStack(),
                )  # that id is the parent's
            if self._id is None:
                self._join()
            assert self._id is not None
            return self._id

    def alive(self, other: str) -> bool:
        """See ``Processes.alive``. One that was cut off counts as living for some seconds, as it may come back."""
        if other == self._id and self._pid == os.getpid():
            return True
        if not _ID.fullmatch(other):
            return False  # no ``join`` gives such an id
        found = self._look(other)
        if found is None:
            return False
        held, silent, reign = found
        if held:
            self._missed.pop(other, None)
            return True
        if reign < _YOUNG:
            return silent < _OUTAGE
        missed = time.monotonic() - self._missed.setdefault(other, time.monotonic())
        if silent < _SILENT and missed < _RECONNECTS:
            return True
        self._missed.pop(other, None)
        return False

    def leave(self) -> None:
        """See ``Processes.leave``."""
        with self._mutex:
            if self._id is None or self._pid != os.getpid():
                return
            name, self._id = self._id, None
            self._holding.close()
            with contextlib.suppress(StoreError):  # its row tells nothing without the lock
                self._execute(_LEAVE, (name,))
            self._engine.listener.close()

    def _join(self) -> None:
        name, self._number = uuid4().hex, secrets.randbits(63)
        self._held.clear()
        self._holder = 0
        self._execute(_REIGNS)
        self._execute(_GONE)
        self._id = name
        self._holding.enter_context(self._engine.listener.holding(self._hold))
        if not self._held.wait(_JOINED_WITHIN):
            self._holding.close()
            self._id = None
            raise StoreUnavailableError(
                f"{self._engine.place.name} does not take the connection that stays.",
                hint="Behind a pooler, name the server itself in record.listen_url; else see whether it has"
                " connections left.",
            )

    def _hold(self, connection: Connection) -> None:
        """On the connection that stays: a new one has to take the lock anew."""
        place = self._engine.place
        if self._id is None:
            return
        backend = connection.info.backend_pid
        if backend != self._holder:
            connection.execute(place.sql(_REIGNS))
            connection.execute(_LOCK, (self._number,))
            self._holder = backend
        connection.execute(place.sql(_RENEW), (self._id, self._number))
        self._held.set()

    def _look(self, other: str) -> tuple[bool, float, float] | None:
        statement = self._engine.place.sql(_LOOK)

        def look(connection: Connection) -> Any:
            return connection.execute(statement, (other,)).fetchone()

        found = self._engine.read(RECORD, look, None)
        if found is not None and not found[0]:
            self._execute(_REIGNS)  # who looks may be the first one after a failover
            found = self._engine.read(RECORD, look, None)
        return found

    def _execute(self, statement: str, bound: tuple[Any, ...] = ()) -> None:
        placed = self._engine.place.sql(statement)
        self._engine.write(RECORD, lambda connection: connection.execute(placed, bound), again=True)
