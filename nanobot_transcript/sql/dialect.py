"""Which dialect a database speaks: what is opened at a path is SQLite's."""

from collections.abc import Callable
from pathlib import Path

from nanobot_transcript.sql.contract import Database, Schema
from nanobot_transcript.sql.sqlite import SqliteDatabase

__all__ = ["open_database"]


def open_database(
    path: Path,
    lock: str | Path,
    schema: Schema,
    *,
    busy: float,
    make_folders: Callable[[], None] | None = None,
) -> Database:
    """The database ``path``, opened under the lock file ``lock`` when it is first asked.

    ``busy`` bounds (seconds) the wait for another process's transaction. ``make_folders`` makes what lies above the
    database's own folder and the lock's. May be used from any thread and after a fork.
    """
    return SqliteDatabase(path, lock, schema, busy=busy, make_folders=make_folders)
