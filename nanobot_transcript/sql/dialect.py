"""Where a room's tables are: files in a folder, or a database that many machines reach. Rooms do not know which."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nanobot_transcript.sql.contract import Database, Schema
from nanobot_transcript.sql.sqlite import SqliteDatabase

if TYPE_CHECKING:
    from nanobot_transcript.sql.postgres.engine import Engine

__all__ = ["Shelf", "engine_at"]


def engine_at(place: Mapping[str, Any]) -> "Engine":
    """The database that another process uses, by the fields of its ``Place``."""
    from nanobot_transcript.sql.postgres.engine import Engine
    from nanobot_transcript.sql.postgres.place import Place

    return Engine(Place(**place))


@dataclass(frozen=True, slots=True)
class Shelf:
    """What a room keeps lies in ``folder``; its tables do so only where there is no ``engine``."""

    folder: Path
    engine: "Engine | None" = None

    @property
    def clock(self) -> Callable[[], float]:
        """Seconds since 1970, the same for all who share the tables. May wait for the network."""
        if self.engine is None:
            return time.time
        from nanobot_transcript.sql.postgres.clock import ServerClock

        return ServerClock(self.engine)

    def database(
        self,
        name: str,
        schema: Schema,
        *,
        file: str,
        lock: str | Path,
        busy: float,
        make_folders: Callable[[], None] | None = None,
    ) -> Database:
        """The database of this name; in a folder its ``file``, opened under the ``lock`` file when it is first asked.

        ``busy`` bounds (seconds) the wait for another process's transaction. ``make_folders`` makes what lies above the
        folder and the lock's. May be used from any thread and after a fork.
        """
        if self.engine is None:
            path = self.folder / file
            return SqliteDatabase(path, self.folder / lock, schema, busy=busy, make_folders=make_folders)
        from nanobot_transcript.sql.postgres.database import PostgresDatabase

        return PostgresDatabase(self.engine, name, schema, busy=busy)
