"""Group commit: what arrives while a transaction is written shares the next one, so that a burst waits for the disk
only a few times. What was committed is told in that order, whoever still waits for it.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from nanobot_transcript.errors import TranscriptError
from nanobot_transcript.sql.contract import Database, Sql
from nanobot_transcript.threads import in_thread

__all__ = ["GroupCommit", "OneByOneError", "Then"]

logger = logging.getLogger(__name__)

_ROUNDS: Final = 6
"""Rounds of the event loop in which what has arrived already joins a transaction: a burst comes on several sockets."""

_PASSES: Final = 5
"""How often more may come before it is written down all the same."""

_OF_A_WORK: Final = (TranscriptError, ValueError, OverflowError)
"""Errors that are a work's own, and no reason for the others of its transaction to fail; beside the database's
``row_errors``."""


class OneByOneError(ValueError):
    """Works that cannot be done at once."""


Then: TypeAlias = Callable[[Sequence[Any]], None]
"""Called with the outcomes on the event loop, each a result that is on the disk or an error, in the order of the file:
before anybody who waits for them goes on, and also when nobody does any more."""

_Result = TypeVar("_Result")
_Work: TypeAlias = Callable[[Sql], Any]
_AtOnce: TypeAlias = Callable[[Sql], Sequence[Any]]


class _Job(NamedTuple):
    works: Sequence[_Work]
    at_once: _AtOnce | None
    then: Then | None
    done: "asyncio.Future[Sequence[Any]]"


class GroupCommit:
    """What one process writes to one file, in the order in which it was asked for. For one event loop.

    An error of a work's own (one of ours, or a value or row that the database does not take) undoes that work alone;
    any other undoes all that shared its transaction.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._of_a_work = (*_OF_A_WORK, *database.row_errors)
        self._jobs: list[_Job] = []
        self._writing: asyncio.Task[None] | None = None

    async def write(self, work: Callable[[Sql], _Result], then: Then | None = None) -> _Result:
        """The result of ``work``, once it is on the disk. It happens also when whoever waits here is cancelled."""
        (outcome,) = await self.write_all([work], then)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def write_all(
        self, works: Sequence[_Work], then: Then | None = None, at_once: _AtOnce | None = None
    ) -> Sequence[Any]:
        """The results, once they are on the disk. Each work succeeds or fails by itself: then its error is there.

        ``at_once`` does all of them and gives their results; it raises OneByOneError where that is not possible.
        """
        done: asyncio.Future[Sequence[Any]] = asyncio.get_running_loop().create_future()
        self._jobs.append(_Job(works, at_once, then, done))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())
        return await done

    async def _write(self) -> None:
        while self._jobs:
            await self._gather()
            jobs, self._jobs = self._jobs, []
            outcomes = await self._outcomes(jobs)
            for job, outcome in zip(jobs, outcomes, strict=True):
                _call(job.then, outcome)
                if not job.done.done():  # else who asked has gone; what was written stays
                    job.done.set_result(outcome)

    async def _gather(self) -> None:
        """Let the rest of a burst come, as long as there is more of it each time."""
        for _ in range(_PASSES):
            before = len(self._jobs)
            for _ in range(_ROUNDS):
                await asyncio.sleep(0)
            if len(self._jobs) == before:
                return

    async def _outcomes(self, jobs: Sequence[_Job]) -> list[Sequence[Any]]:
        def transaction(connection: Sql) -> list[Sequence[Any]]:
            return [_all_of(connection, job, self._of_a_work) for job in jobs]

        try:
            return await in_thread(lambda: self._database.write(transaction))
        except Exception as error:  # noqa: BLE001 - handed to each of those who wait
            return [[error] * len(job.works) for job in jobs]


def _all_of(connection: Sql, job: _Job, of_a_work: tuple[type[Exception], ...]) -> Sequence[Any]:
    if job.at_once is not None:
        together = _tried(connection, job.at_once, of_a_work)
        if not isinstance(together, Exception):
            return together
    return [_tried(connection, work, of_a_work) for work in job.works]


def _tried(connection: Sql, work: _Work, of_a_work: tuple[type[Exception], ...]) -> Any:
    """What it gives, or the error of its own; nothing of the work stays then."""
    connection.execute("SAVEPOINT work")
    try:
        outcome = work(connection)
    except of_a_work as error:
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
