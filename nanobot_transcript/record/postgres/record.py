"""A record in a PostgreSQL database."""

import logging
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from nanobot_transcript.errors import StoreError, StoreUnavailableError
from nanobot_transcript.record.contract import Record, Usage
from nanobot_transcript.record.postgres.call_budgets import PostgresBudget
from nanobot_transcript.record.postgres.decisions import PostgresDecisionLog
from nanobot_transcript.record.postgres.leases import PostgresLease
from nanobot_transcript.record.postgres.marks import PostgresMarks
from nanobot_transcript.record.postgres.members import PostgresMembers
from nanobot_transcript.record.postgres.processes import PostgresProcesses
from nanobot_transcript.record.postgres.schema import RECORD
from nanobot_transcript.record.postgres.transcripts import PostgresTranscripts
from nanobot_transcript.record.spool.backend import SpooledBackend
from nanobot_transcript.record.spool.limits import SpoolLimits
from nanobot_transcript.sql.postgres.address import SCHEMA, DatabaseAddress
from nanobot_transcript.sql.postgres.engine import Connection, Engine
from nanobot_transcript.store.contract import DEFAULT_SEGMENT_BYTES
from nanobot_transcript.store.front import GroupTranscriptStore

if TYPE_CHECKING:
    from nanobot_transcript.coordination.contract import Signals
    from nanobot_transcript.findings import Finding
    from nanobot_transcript.outbox.contract import Postbox
    from nanobot_transcript.outbox.outbox import Outbox
    from nanobot_transcript.outbox.values import OutboxLimits
    from nanobot_transcript.record.spool.backlog import Waiting
    from nanobot_transcript.sql.location import Shelf
    from nanobot_transcript.store.contract import Retention

__all__ = ["PostgresRecord"]

logger = logging.getLogger(__name__)

_FLUSHES: Final = 2.0
_FAREWELL: Final = 5.0
_TABLES: Final = """
SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = ANY (%s)
"""


class PostgresRecord(Record):
    """``Record`` at the address ``url``, in one ``schema`` of the database, which the first write creates.

    ``listen_url`` bypasses a pooler in transaction mode. ``connections`` is the most that this process opens, besides
    the permanent one. With a ``spool_dir`` messages are accepted there, up to ``spool_bytes``, and handed on in the
    background; see ``SpooledBackend``. The other options are those of ``GroupTranscriptStore``, and ``posting``, the
    ``OutboxLimits``.
    """

    def __init__(
        self,
        url: str,
        *,
        schema: str = SCHEMA,
        listen_url: str | None = None,
        connections: int = 4,
        segment_bytes: int = DEFAULT_SEGMENT_BYTES,
        lock_timeout: float = 2.0,
        retention: "Retention | None" = None,
        posting: "OutboxLimits | None" = None,
        spool_dir: "str | Path | None" = None,
        spool_bytes: int | None = None,
    ) -> None:
        self._engine: Engine = Engine(DatabaseAddress(url, schema, listen_url, connections))
        self._posting: OutboxLimits | None = posting
        self._spool_dir: Path | None = Path(spool_dir).expanduser() if spool_dir is not None else None
        self._mutex: threading.RLock = threading.RLock()
        self._signals: Signals | None = None
        self._outbox: Outbox | None = None
        self._decisions: PostgresDecisionLog = PostgresDecisionLog(self._engine)
        self.place = self._engine.place.name
        members = self.members = PostgresMembers(self._engine)
        transcripts = PostgresTranscripts(self._engine, segment_bytes=segment_bytes, lock_timeout=lock_timeout)
        backend = (
            transcripts if spool_dir is None else SpooledBackend(transcripts, spool_dir, limits=_limits(spool_bytes))
        )
        if isinstance(backend, SpooledBackend):
            self._engine.outage.then = backend.hurry
        self.store = GroupTranscriptStore(backend=backend, members=self.members, retention=retention)
        self.leases = PostgresLease(self._engine)
        self.budgets = PostgresBudget(self._engine)
        self.marks = PostgresMarks(self._engine)
        self._members: PostgresMembers = members
        self._living: PostgresProcesses = PostgresProcesses(self._engine)
        self.processes = self._living
        self.transcripts: PostgresTranscripts = transcripts
        _records.add(self)

    @property
    def engine(self) -> Engine:
        """The database."""
        return self._engine

    @property
    def signals(self) -> "Signals":
        """See ``Record.signals``."""
        with self._mutex:
            if self._signals is None:
                from nanobot_transcript.record.postgres.signals import PostgresSignals  # brings asyncio

                self._signals = PostgresSignals(self._engine)
            return self._signals

    @property
    def outbox(self) -> "Postbox":
        """See ``Record.outbox``."""
        return self._opened_outbox()

    @property
    def decisions(self) -> PostgresDecisionLog:
        """See ``Record.decisions``."""
        return self._decisions

    def shelf(self, folder: Path) -> "Shelf":
        """See ``Record.shelf``."""
        from nanobot_transcript.sql.location import Shelf  # few processes keep tables

        return Shelf(folder, self._engine)

    def usage(self) -> list[Usage]:
        """See ``Record.usage``."""
        chats = self.store.chats()
        return [
            Usage("transcripts", self.place, sum(chat.bytes for chat in chats), len(chats)),
            Usage(
                "decisions",
                self.place,
                self._size("decisions") if self._decisions.count() else 0,
                self._decisions.count(),
            ),
            Usage("outbox", self.place, *self._opened_outbox().usage()),
            Usage("index", self.place, self._size("ids", "chats", "segments"), len(chats)),
        ]

    def require(self, *, exists: bool = False, written: bool = False) -> None:
        """See ``Record.require``."""
        there = self._engine.exists(RECORD)
        if exists and not there:
            raise StoreUnavailableError(
                f"There is no record in {self.place} yet.", hint="The first message that a bot hears makes it."
            )
        if written and not self._engine.writable():
            raise StoreUnavailableError(
                f"{self.place} takes no writes now.", hint="Name all hosts in record.url, or wait for the failover."
            )

    def check(self) -> "list[Finding]":
        """See ``Record.check``."""
        from nanobot_transcript.record.postgres.database_check import check  # for few

        found = check(self._engine)
        if self._spool_dir is not None:
            from nanobot_transcript.record.spool import backlog

            found += backlog.check(self._spool_dir, self._engine.place.address, self._known_identity())
        return found

    def waiting(self, spool_dir: Path) -> "Waiting":
        """What waits for this record in a folder of this machine. Raises StoreError kinds."""
        from nanobot_transcript.record.spool.backlog import waiting_in  # for few

        return waiting_in(spool_dir, self._engine.place.address, self._known_identity())

    def _known_identity(self) -> str:
        try:
            return self.transcripts.known_identity()
        except StoreError:
            return ""

    def close(self) -> None:
        """See ``Record.close``. Waits only a few seconds for a server that does not answer."""
        farewell = threading.Thread(target=self._flush_and_leave, name="postgres-farewell", daemon=True)
        farewell.start()
        farewell.join(_FAREWELL)
        self._members.close()
        self.store.close()
        if self._outbox is not None:
            self._outbox.close()
        self._engine.close()

    def _flush_and_leave(self) -> None:
        """Write what is still waiting to be written, and be seen as ended."""
        try:
            if not (self._decisions.flush(_FLUSHES) and self.members.flush(_FLUSHES)):
                logger.warning("%s: closed before everything was written.", self.place)
        except StoreError as error:
            logger.warning("%s: closed before everything was written: %s", self.place, error)
        self._living.leave()

    def after_fork(self) -> None:
        """In a forked child: threads and connections are the parent's."""
        self._mutex = threading.RLock()
        self.transcripts.after_fork()
        self._decisions.after_fork()
        self._living.after_fork()
        self._signals = None
        self._outbox = None

    def _opened_outbox(self) -> "Outbox":
        with self._mutex:
            if self._outbox is None:
                from nanobot_transcript.outbox.outbox import Outbox  # few processes post

                self._outbox = Outbox(self._engine, self._posting, signals=self.signals)
            return self._outbox

    def _size(self, *tables: str) -> int:
        def look(connection: Connection) -> Any:
            return connection.execute(_TABLES, (self._engine.place.schema, list(tables))).fetchone()

        row = self._engine.read(RECORD, look, None)
        return row[0] if row is not None else 0


def _limits(spool_bytes: int | None) -> SpoolLimits:
    return SpoolLimits() if spool_bytes is None else SpoolLimits(bytes=spool_bytes)


_records: "WeakSet[PostgresRecord]" = WeakSet()


def _after_fork() -> None:
    for record in list(_records):
        record.after_fork()


os.register_at_fork(after_in_child=_after_fork)
