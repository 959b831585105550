"""Changes that come at the same time go to the disk together: a burst of a hundred is a handful of transactions."""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias, TypeVar

from nanobot_transcript.database import Database
from nanobot_transcript.errors import TranscriptError
from transcript_mcp.sdk.threads import in_thread

__all__ = ["Combined"]

_Result = TypeVar("_Result")
_Work: TypeAlias = Callable[[sqlite3.Connection], Any]
_Waiting: TypeAlias = tuple[_Work, "asyncio.Future[Any]"]

_ITS_OWN: Final = (
    *(TranscriptError, ValueError, OverflowError),
    *(sqlite3.IntegrityError, sqlite3.DataError, sqlite3.InterfaceError),
)


class Combined:
    """Writes of one process to one database, in the order in which they were asked for. For one event loop."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: list[_Waiting] = []
        self._writing: asyncio.Task[None] | None = None

    async def write(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """What ``work`` gives, once it is on the disk. It happens also when whoever waits here is cancelled.

        An error of ``work``'s own (one of ours, or a value or row that SQLite does not take) undoes ``work`` alone; any
        other undoes what was written with it, too.
        """
        done: asyncio.Future[_Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((work, done))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())
        return await done

    async def _write(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            outcomes = await self._outcomes([work for work, _ in batch])
            for (_, done), outcome in zip(batch, outcomes, strict=True):
                if done.done():
                    continue
                if isinstance(outcome, Exception):
                    done.set_exception(outcome)
                else:
                    done.set_result(outcome)

    async def _outcomes(self, batch: Sequence[_Work]) -> list[Any]:
        """For each what it gave, or the error that it ended with."""

        def transaction(connection: sqlite3.Connection) -> list[Any]:
            return [_tried(connection, work) for work in batch]

        try:
            return await in_thread(lambda: self._database.write(transaction))
        except Exception as error:  # noqa: BLE001 - handed to whoever awaits
            return [error] * len(batch)


def _tried(connection: sqlite3.Connection, work: _Work) -> Any:
    connection.execute("SAVEPOINT one")
    try:
        result = work(connection)
    except _ITS_OWN as error:
        connection.execute("ROLLBACK TO one")
        result = error
    connection.execute("RELEASE one")
    return result
