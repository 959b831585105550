"""Group commit: work that arrives while a transaction is being written shares the next one, so that a burst waits for
the disk only a few times. Results are reported in the order of the commits, even when the caller is gone.
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
"""Rounds of the event loop to wait for more work before a transaction, because a burst comes on several sockets."""

_PASSES: Final = 5
"""How often more work may delay a transaction before it is written anyway."""

_OF_A_WORK: Final = (TranscriptError, ValueError, OverflowError)
"""Errors that, like the database's ``row_errors``, concern only the work that raised them, not its whole
transaction.
"""


class OneByOneError(ValueError):
    """These works cannot be done together."""


Then: TypeAlias = Callable[[Sequence[Any]], None]
"""Called on the event loop with the outcomes in commit order, each a durable result or an error: before the callers
that wait for them continue, and even when they are gone.
"""

_Result = TypeVar("_Result")
_Work: TypeAlias = Callable[[Sql], Any]
_AtOnce: TypeAlias = Callable[[Sql], Sequence[Any]]


class _Job(NamedTuple):
    works: Sequence[_Work]
    at_once: _AtOnce | None
    then: Then | None
    done: "asyncio.Future[Sequence[Any]]"


class GroupCommit:
    """The writes of one process to one file, in the order of the calls. For one event loop.

    An error of a single work (one of ours, or a value or row that the database does not accept) undoes that work alone;
    any other error undoes everything that shared its transaction.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._of_a_work = (*_OF_A_WORK, *database.row_errors)
        self._jobs: list[_Job] = []
        self._writing: asyncio.Task[None] | None = None

    async def write(self, work: Callable[[Sql], _Result], then: Then | None = None) -> _Result:
        """The result of ``work``, once it is durable. It is done even when the waiting caller is cancelled."""
        (outcome,) = await self.write_all([work], then)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def write_all(
        self, works: Sequence[_Work], then: Then | None = None, at_once: _AtOnce | None = None
    ) -> Sequence[Any]:
        """The results, once they are durable. Each work succeeds or fails by itself; a failed one gives its error.

        ``at_once`` does all of them together and returns their results; it raises OneByOneError when that is not
        possible.
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
                if not job.done.done():  # cancelled meanwhile; what was written stays
                    job.done.set_result(outcome)

    async def _gather(self) -> None:
        """Wait for the rest of a burst, as long as each round brings more."""
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
    """The result of a work, or its own error; then nothing of it stays."""
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
        logger.exception("a callback after a commit failed")
