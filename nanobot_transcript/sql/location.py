"""Where a room's tables are: files in a folder, or a database shared by many machines. Rooms do not need to
know which.
"""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nanobot_transcript.sql.contract import Database, Schema
from nanobot_transcript.sql.sqlite import SqliteDatabase

if TYPE_CHECKING:
    from nanobot_transcript.sql.postgres.engine import Engine

__all__ = ["Shelf"]


@dataclass(frozen=True, slots=True)
class Shelf:
    """A room's own place: files in ``folder``; its tables, too, unless there is an ``engine``."""

    folder: Path
    engine: "Engine | None" = None

    @staticmethod
    def at(folder: Path, address: str | None) -> "Shelf":
        """The shelf of another process, from its ``address``."""
        if address is None:
            return Shelf(folder)
        from nanobot_transcript.sql.postgres.address import DatabaseAddress
        from nanobot_transcript.sql.postgres.engine import Engine

        return Shelf(folder, Engine(DatabaseAddress(**json.loads(address))))

    @property
    def address(self) -> str | None:
        """One line that tells another process where the tables are; None for the folder. May contain a password."""
        return None if self.engine is None else json.dumps(asdict(self.engine.place))

    @property
    def is_remote(self) -> bool:
        """True when a call waits for a network."""
        return self.engine is not None

    def where(self, file: str) -> str:
        """Where the tables are that a folder has in this file, as people write it."""
        return str(self.folder / file) if self.engine is None else self.engine.place.name

    @property
    def clock(self) -> Callable[[], float]:
        """Seconds since 1970, the same for all who share the tables. May wait for the network."""
        return time.time if self.engine is None else self.engine.clock

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
        """The database of this name; in a folder its ``file``, created under the ``lock`` file on first use.

        ``busy`` (seconds) bounds the wait for another process's transaction. ``make_folders`` creates the folders above
        the file and the lock. May be used from any thread and after a fork.
        """
        if self.engine is None:
            path = self.folder / file
            return SqliteDatabase(path, self.folder / lock, schema, busy=busy, make_folders=make_folders)
        from nanobot_transcript.sql.postgres.database import PostgresDatabase

        return PostgresDatabase(self.engine, name, schema, busy=busy)
