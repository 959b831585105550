"""A database as one of the two places of a move."""

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Final

from nanobot_transcript.errors import StoreBusyError
from nanobot_transcript.outbox.outbox import tables_at
from nanobot_transcript.record.postgres.bulk import PostgresBulk
from nanobot_transcript.record.postgres.marks import PostgresMarks
from nanobot_transcript.record.postgres.record import PostgresRecord
from nanobot_transcript.record.postgres.schema import RECORD
from nanobot_transcript.record.transfer.contract import Spelled, TransferPlace
from nanobot_transcript.record.transfer.waypoint import MOVED, Waypoint
from nanobot_transcript.sql.postgres.engine import Connection, Engine
from nanobot_transcript.sql.postgres.migrations import refuse_newer, version

__all__ = ["DatabasePlace"]

_MOVED_WITHIN: Final = 30.0
"""Seconds to wait for another process that moves the same part to the same place."""
_SEVERAL: Final = 200
"""Lines that are merged one by one in a transaction, for which other writers of the chat have to wait."""


class DatabasePlace(TransferPlace):
    """The record in a database. Raises StoreUnavailableError when a newer version has written it."""

    atomic = True

    def __init__(self, record: PostgresRecord, *, is_target: bool) -> None:
        super().__init__()
        place = record.engine.place
        self.record = record
        self._engine: Engine = record.engine
        self.transcripts = self._bulk = PostgresBulk(record.engine, record.transcripts)
        self.marks = self._marks = PostgresMarks(record.engine)
        self.decisions = record.decisions
        self.posts = tables_at(record.engine)
        with record.engine.connection() as connection:
            refuse_newer(version(connection, RECORD, place), RECORD, place.name)
        self.identity = (
            f"database:{record.transcripts.identity() if is_target else record.transcripts.known_identity()}"
        )

    def append(self, lines: Sequence[Spelled], at: Waypoint, written_ms: float) -> tuple[int, Waypoint]:
        """See ``TransferPlace.append``: all of them and the waypoint in one transaction."""
        kept: list[Waypoint] = []

        def then(connection: Connection, cursor: str) -> None:
            kept.append(self._keep_in(connection, at, lines, cursor))

        pairs = [(line.entry, line.body) for line in lines]
        done = self._bulk.extend(at.chat, pairs, at.target, written_ms=written_ms, then=then)
        return (len(lines), kept[-1]) if done is not None else (0, at)

    def merge(self, lines: Sequence[Spelled], at: Waypoint) -> tuple[int, Waypoint]:
        """See ``TransferPlace.merge``: some hundreds in one transaction, with the waypoint."""
        added = 0
        for start in range(0, len(lines), _SEVERAL):
            some = lines[start : start + _SEVERAL]
            kept: list[Waypoint] = []

            def then(connection: Connection, cursor: str) -> None:
                kept.append(self._keep_in(connection, at, some, cursor))  # noqa: B023 - called at once

            added += self._bulk.merge(at.chat, self.not_there(some), then)
            at = kept[-1]
        return added, at

    def alone(self, part: str) -> AbstractContextManager[object]:
        """See ``TransferPlace.alone``."""
        return self._engine.alone(f"moving {part}", _MOVED_WITHIN)

    def settle(self) -> None:
        """See ``TransferPlace.settle``: commits here do not wait for the disk; once this one is there, all before it
        are.
        """
        self._marks.put(MOVED, {"settled_ms": int(time.time() * 1000)}, "settled")

    def close(self) -> None:
        """See ``TransferPlace.close``: nothing to do, others were never kept out."""

    def _keep_in(self, connection: Connection, at: Waypoint, lines: Sequence[Spelled], cursor: str) -> Waypoint:
        """Save the waypoint behind the lines, unless another run has moved it meanwhile."""
        mark = at.as_mark()
        document = self._marks.find_in(connection, MOVED, mark.digest)
        known = Waypoint.of(document) if document is not None else None
        if (known.source, known.target) != (at.source, at.target) if known is not None else at.lines > 0:
            raise StoreBusyError(
                f"{at.chat} is being moved by another process, too.", hint="Let one of them finish, then run it again."
            )
        waypoint = at.moved(lines[-1].cursor, cursor, len(lines), lines[-1].entry)
        self._marks.keep_in(connection, waypoint.as_mark())
        return waypoint
