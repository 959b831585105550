"""Writing together: what arrives while a transaction is written shares the next one, so that a burst costs few
waits for the disk. What is kept is told in that order, whoever still waits for it.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from nanobot_transcript.database import Database
from transcript_mcp.assistant.store import Then
from transcript_mcp.sdk.threads import in_thread

__all__ = ["Transactions", "Work"]

logger = logging.getLogger(__name__)

_GATHERING: Final = 2
"""Rounds of the event loop in which what has arrived already joins a transaction: a burst comes on several sockets."""

_OF_A_WORK: Final = (
    sqlite3.IntegrityError,
    sqlite3.DataError,
    sqlite3.InterfaceError,
    ValueError,
    OverflowError,
)
"""Errors that are a work's own, and no reason for the others of its transaction to fail."""

Work: TypeAlias = Callable[[sqlite3.Connection], Any]


class _Job(NamedTuple):
    works: Sequence[Work]
    then: Then | None
    done: "asyncio.Future[Sequence[Any]]"


class Transactions:
    """Those of one file and one event loop."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._jobs: list[_Job] = []
        self._writing: asyncio.Task[None] | None = None

    async def write(self, work: Work, then: Then | None = None) -> Any:
        """The result of ``work``, once it is on the disk."""
        (outcome,) = await self.write_all([work], then)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def write_all(self, works: Sequence[Work], then: Then | None = None) -> Sequence[Any]:
        """The results, once they are on the disk. Each work succeeds or fails by itself: then its error is there."""
        job = _Job(works, then, asyncio.get_running_loop().create_future())
        self._jobs.append(job)
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())
        return await job.done

    async def _write(self) -> None:
        while self._jobs:
            for _ in range(_GATHERING):
                await asyncio.sleep(0)
            jobs, self._jobs = self._jobs, []
            outcomes = await self._outcomes(jobs)
            for job, outcome in zip(jobs, outcomes, strict=True):
                _call(job.then, outcome)
                if not job.done.done():  # else who asked has gone; what was written stays
                    job.done.set_result(outcome)

    async def _outcomes(self, jobs: Sequence[_Job]) -> list[list[Any]]:
        def work(connection: sqlite3.Connection) -> list[list[Any]]:
            return _together(connection, jobs)

        try:
            return await in_thread(self._database.write, work)  # type: ignore[return-value] -- of `work`
        except Exception as error:  # noqa: BLE001 - handed to each of those who wait
            return [[error] * len(job.works) for job in jobs]


def _together(connection: sqlite3.Connection, jobs: Sequence[_Job]) -> list[list[Any]]:
    """The outcomes of each job, one after the other in one transaction."""
    connection.execute("SAVEPOINT jobs")
    try:
        outcomes = [[work(connection) for work in job.works] for job in jobs]
    except _OF_A_WORK:
        connection.execute("ROLLBACK TO jobs")
        outcomes = [[_alone(connection, work) for work in job.works] for job in jobs]
    connection.execute("RELEASE jobs")
    return outcomes


def _alone(connection: sqlite3.Connection, work: Work) -> Any:
    """The result, or the error; nothing of the work stays then."""
    connection.execute("SAVEPOINT work")
    try:
        outcome = work(connection)
    except _OF_A_WORK as error:
        connection.execute("ROLLBACK TO work")
        outcome = error
    connection.execute("RELEASE work")
    return outcome


def _call(then: Then | None, outcomes: Sequence[Any]) -> None:
    try:
        if then is not None:
            then(outcomes)
    except Exception:
        logger.exception("what is kept could not be told")
