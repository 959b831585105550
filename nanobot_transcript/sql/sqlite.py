"""One SQLite file shared by all processes: opened safely, migrated once, with typed errors.

SQLite is used instead of our own files wherever data is found by more than one key and passed between processes: that
needs transactions, and SQLite's survive a kill at any instruction.
"""

import logging
import os
import sqlite3
import stat
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from nanobot_transcript.errors import (
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreUnavailableError,
    UnsafePathError,
)
from nanobot_transcript.files.descriptors import to_create
from nanobot_transcript.files.lock import exclusive
from nanobot_transcript.files.os_errors import store_error
from nanobot_transcript.sql.contract import Parameters, Schema, Sql

__all__ = ["SqliteDatabase", "peek"]

_T = TypeVar("_T")
_SIDES: Final = ("", "-wal", "-shm")
_OPENING: Final = 10.0
_WRITE_FAILED: Final = frozenset(
    {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_TRUNCATE}
)
_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR})

_NUMBERS: Final = """
INSERT INTO sqlite_sequence (name, seq) SELECT name, 0 FROM sqlite_master
WHERE name = ?1 AND sql LIKE '%AUTOINCREMENT%' AND name NOT IN (SELECT name FROM sqlite_sequence)
"""

logger = logging.getLogger(__name__)

_of_parents: list[sqlite3.Connection] = []


class _Statements:
    """``Sql`` over one connection."""

    __slots__ = ("_words", "execute", "executemany")

    def __init__(self, connection: sqlite3.Connection, schema: Schema) -> None:
        self._words: Mapping[str, Sequence[Callable[[Any], str]]] = schema.words
        self.execute: Callable[..., sqlite3.Cursor] = connection.execute
        self.executemany: Callable[..., sqlite3.Cursor] = connection.executemany

    def insert(self, statement: str, parameters: Parameters = ()) -> int:
        """See ``Sql.insert``."""
        number = self.execute(statement, parameters).lastrowid
        assert number is not None
        return number

    def index(self, index: str, rows: str, parameters: Parameters = ()) -> None:
        """See ``Sql.index``: triggers have done it."""

    def index_anew(self, index: str, rows: str, parameters: Parameters = ()) -> None:
        """See ``Sql.index_anew``."""
        columns = [column[0] for column in self.execute(f"SELECT * FROM {index} LIMIT 0").description]
        self.execute(f"INSERT INTO {index} ({index}) VALUES ('delete-all')")
        makes, marks = self._words[index], ", ?" * len(columns)
        self.executemany(
            f"INSERT INTO {index} (rowid, {', '.join(columns)}) VALUES (?{marks})",
            (
                (number, *(make(value) for make, value in zip(makes, values, strict=True)))
                for number, *values in self.execute(rows, parameters)
            ),
        )

    def last_number(self, table: str) -> int:
        """See ``Sql.last_number``."""
        found = self.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
        return 0 if found is None else found[0]

    def number_behind(self, table: str, number: int) -> None:
        """See ``Sql.number_behind``. Without AUTOINCREMENT, a table continues after its highest row."""
        self.execute(_NUMBERS, (table,))
        self.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?", (number, table))


class SqliteDatabase:
    """``Database`` in the file ``path``, opened under the lock file ``lock``.

    ``busy`` (seconds) bounds the wait for another process's transaction. ``make_folders`` creates the folders above the
    file and the lock. May be used from any thread and after a fork.
    """

    def __init__(
        self,
        path: Path,
        lock: str | Path,
        schema: Schema,
        *,
        busy: float,
        make_folders: Callable[[], None] | None = None,
    ) -> None:
        self.path: Path = path
        self._folder: Path = path.parent
        self._lock: str = str(lock)
        self._schema: Schema = schema
        self._busy: float = busy
        self._make_folders: Callable[[], None] | None = make_folders
        self._mutex: threading.RLock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._opened_as: tuple[int, int, int] | None = None

    @property
    def row_errors(self) -> tuple[type[Exception], ...]:
        """See ``Database.row_errors``."""
        return sqlite3.IntegrityError, sqlite3.DataError, sqlite3.InterfaceError

    def read(self, work: Callable[[Sql], _T], missing: _T) -> _T:
        """See ``Database.read``."""
        return self._run(lambda connection: work(_Statements(connection, self._schema)), missing, create=False)

    def read_at_once(self, work: Callable[[Sql], _T], missing: _T) -> _T:
        """See ``Database.read_at_once``."""

        def looking(connection: sqlite3.Connection) -> _T:
            connection.execute("BEGIN")
            try:
                return work(_Statements(connection, self._schema))
            finally:
                connection.execute("ROLLBACK")

        return self._run(looking, missing, create=False)

    def edition(self) -> int | None:
        """See ``Database.edition``."""
        return self._run(lambda found: found.execute("PRAGMA data_version").fetchone()[0], None, create=False)

    def identity(self) -> object:
        """See ``Database.identity``."""
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def size(self) -> int:
        """See ``Database.size``: of the file, its WAL and its shared memory."""
        size = 0
        for side in _SIDES:
            with suppress(OSError):
                size += os.stat(f"{self.path}{side}").st_size  # noqa: PTH116 - a text with a suffix, not a path
        return size

    def damage(self) -> str:
        """See ``Database.damage``."""
        said = self._run(lambda found: found.execute("PRAGMA quick_check(1)").fetchone()[0], "ok", create=False)
        return "" if said == "ok" else str(said)

    def settle(self) -> None:
        """See ``Database.settle``: a checkpoint moves the WAL into the file itself."""
        self._run(lambda found: found.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall(), [], create=False)

    def write(self, work: Callable[[Sql], _T]) -> _T:
        """See ``Database.write``: on the disk when this returns."""

        def transaction(connection: sqlite3.Connection) -> _T:
            connection.execute("BEGIN IMMEDIATE")
            try:
                result = work(_Statements(connection, self._schema))
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            return result

        # Only with ``create=False`` does `_run` return ``missing``.
        return self._run(transaction, None, create=True)  # type: ignore[return-value]

    def close(self) -> None:
        """See ``Database.close``."""
        with self._mutex:
            if self._connection is not None and self._opened_as is not None:
                if self._opened_as[0] == os.getpid():
                    self._connection.close()
                else:
                    _of_parents.append(self._connection)  # a forked child must not touch it, not even close it
            self._connection = self._opened_as = None

    def _run(self, work: Callable[[sqlite3.Connection], _T], missing: _T, *, create: bool) -> _T:
        with self._mutex:
            try:
                connection = self._open(create=create)
                return missing if connection is None else work(connection)
            except sqlite3.Error as error:
                if not self._heal(error):
                    raise self._typed(error) from error
            try:
                connection = self._open(create=create)
                return missing if connection is None else work(connection)
            except sqlite3.Error as error:
                raise self._typed(error) from error

    def _open(self, *, create: bool) -> sqlite3.Connection | None:
        """The connection to the file that is there now, opened by this process."""
        found = self._identity()
        if self._connection is not None and found is not None and found == self._opened_as:
            return self._connection
        self.close()
        if found is None and not create:
            return None
        self._make_folder()
        with exclusive(self._lock, _OPENING, f"opening {self.path.name}"):
            self._create_if_missing()
            opened_as = self._identity()
            self._connection = self._connect()
            self._opened_as = opened_as
        return self._connection

    def _identity(self) -> tuple[int, int, int] | None:
        """Process, device and inode. Raises UnsafePathError for links and foreign kinds of files."""
        identity = None
        for side in reversed(_SIDES):
            path = f"{self.path}{side}"
            try:
                found = os.lstat(path)
            except (FileNotFoundError, NotADirectoryError):
                identity = None
                continue
            except OSError as error:
                store_error(error, path)
            if not stat.S_ISREG(found.st_mode):
                raise UnsafePathError(f"{path} is not a plain file.", hint="Move it away and try again.")
            identity = (os.getpid(), found.st_dev, found.st_ino)
        if self._folder.is_symlink():
            raise UnsafePathError(f"{self._folder} is a link.", hint="The store never follows links. Move it away.")
        return identity

    def _make_folder(self) -> None:
        if self._make_folders is not None:
            self._make_folders()
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            store_error(error, str(self._folder))

    def _create_if_missing(self) -> None:
        # Never open an existing file ourselves: POSIX drops all fcntl locks of a process on a file, including SQLite's,
        # when any descriptor of it is closed.
        try:
            os.close(to_create(self.path))
        except FileExistsError:
            return
        except OSError as error:
            store_error(error, str(self.path))

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=self._busy, isolation_level=None, check_same_thread=False)
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        version, migrations = _version(connection), self._schema.migrations
        if version > len(migrations):
            raise StoreUnavailableError(
                f"{self.path} was written by a newer version.", hint="Update this installation of nanobot-transcript."
            )
        connection.row_factory = sqlite3.Row
        for name, (arguments, function) in self._schema.functions.items():
            connection.create_function(name, arguments, function, deterministic=True)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")  # accepted data survives a power cut, too
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA secure_delete=ON")  # removed data does not stay in unused pages
        if version == len(migrations):
            return
        connection.execute("BEGIN IMMEDIATE")
        for step in migrations[version:]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version={len(migrations)}")
        connection.execute("COMMIT")

    def _heal(self, error: sqlite3.Error) -> bool:
        """Move an unreadable file aside, for a person to look at; False when the problem is another one."""
        if _code(error) not in _DAMAGED or not self._schema.set_aside:
            return False
        self.close()
        with exclusive(self._lock, _OPENING, f"mending {self.path.name}"):
            if self._is_sound():
                return _code(error) != sqlite3.SQLITE_ERROR  # another process has replaced it meanwhile
            self._move_aside()
        return True

    def _is_sound(self) -> bool:
        try:
            connection = sqlite3.connect(f"file:{self.path}?mode=rw", timeout=self._busy, uri=True)
        except sqlite3.Error:
            return False
        try:
            version = _version(connection)
            tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            sound = connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok"
            return sound and (tables > 0 or version == 0)
        except sqlite3.Error:
            return False
        finally:
            connection.close()

    def _move_aside(self) -> None:
        number = next(n for n in range(1, 10_000) if not os.path.lexists(f"{self.path}.broken-{n}"))
        for side in reversed(_SIDES):
            try:
                os.rename(f"{self.path}{side}", f"{self.path}.broken-{number}{side}")  # noqa: PTH104 - a text with a suffix, not a path
            except FileNotFoundError:
                continue
            except OSError as error:
                store_error(error, str(self.path))
        logger.warning(
            "%s cannot be read; it is kept as %s.broken-%d and a new one is started", self.path, self.path.name, number
        )

    def _typed(self, error: sqlite3.Error) -> StoreError:
        code, sentence = _code(error), f"{self.path}: {error}."
        if code in _WRITE_FAILED:
            return StoreFullError(sentence, hint="Free space or raise the quota, then try again.")
        if code & 0xFF in _BUSY:
            return StoreBusyError(sentence, hint="Try again in a moment.")
        return StoreUnavailableError(sentence, hint=self._schema.mending)


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", None) or 0


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def peek(path: Path, statement: str, missing: Any) -> Any:
    """The first value that a statement returns from a file as it is: without lock, migrations or repair.

    ``missing`` when it cannot be read.
    """
    connection = sqlite3.connect(f"file:{path}?mode=rw", uri=True)
    try:
        return connection.execute(statement).fetchone()[0]
    except sqlite3.Error:
        return missing
    finally:
        connection.close()
