"""Rebuilds the database from the archive in git, when it was lost or damaged.

Git has everything that agents see, except when they were last active. A new file is built beside the old one and then
takes its place; the old one is kept. On PostgreSQL the tables are emptied and filled in one transaction.
"""

import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from nanobot_transcript.errors import ArchiveError, StoreError
from nanobot_transcript.files.descriptors import open_append
from nanobot_transcript.files.lock import acquire, exclusive
from nanobot_transcript.files.replace import force_folder
from nanobot_transcript.sql.contract import Sql
from nanobot_transcript.sql.sqlite import SqliteDatabase, peek
from transcript_mcp.mail.archive.last_commit import LastCommit, slugs, take
from transcript_mcp.mail.archive.restore import Filled, fill
from transcript_mcp.mail.archive.rounds import Archiving
from transcript_mcp.mail.one_line import amount
from transcript_mcp.mail.store import SCHEMA, MailStore

__all__ = ["Rebuilt", "only_one", "rebuild"]

_SIDES: Final = ("-wal", "-shm")
_BUSY: Final = 5.0
_OPENING: Final = 5.0
_COUNT_WAITING: Final = "SELECT count(*) FROM archive_jobs WHERE done_ts IS NULL"
_EMPTIED: Final = (
    *("message_recipients", "claims", "archive_jobs", "guests"),
    *("fts_messages", "messages", "agents", "projects"),
)
"""All tables, in an order that respects foreign keys."""

# SQLite's lock bytes (https://www.sqlite.org/fileformat.html#the_lock_byte_page): every connection that has the file
# open in WAL mode holds a shared lock on them, so an exclusive one shows that nobody has.
_SHARED: Final = (510, 0x40000002)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """The contents of the new database. ``kept``: the path of the old one, None when there was none."""

    filled: Filled
    kept: Path | None


def rebuild(store: MailStore, *, accept_loss: bool = False) -> Rebuilt:
    """Rebuild the database from the archive of all projects, while nobody else uses the store.

    Waiting jobs of the old database are archived first. Raises ArchiveError when another process uses the store (on
    PostgreSQL: another archiver on this machine), when something could not be archived, and, without ``accept_loss``,
    when the new database would lack messages that git cannot read any more; then nothing was changed. Raises
    StoreError.
    """
    with only_one(store):
        _archive_what_waits(store)
        if store.tables.is_remote:
            return Rebuilt(_refilled(store, accept_loss=accept_loss), None)
        with exclusive(str(store.lock), _OPENING, f"opening {store.database.name}"):
            _refuse_if_used(store)
            fresh = store.root / "mail.sqlite3.rebuilding"
            try:
                filled = _made(store, fresh, accept_loss=accept_loss)
                return Rebuilt(filled, _put_in_place(store.database, fresh))
            finally:
                _remove(fresh)


@contextmanager
def only_one(store: MailStore) -> Iterator[None]:
    """Hold the archiver's lock. Raises ArchiveError when another process holds it, and StoreError."""
    descriptor = open_append(str(store.archiver_lock))
    try:
        if not acquire(descriptor, timeout=0):
            raise _in_use(store)
        yield
    finally:
        os.close(descriptor)


def _archive_what_waits(store: MailStore) -> None:
    if not (store.tables.is_remote or store.database.exists()):
        return
    database = store.opened(_BUSY)
    archiving = Archiving(store, database)
    try:
        before = -1
        while archiving.done != before:
            before = archiving.done
            archiving.round(until=float("inf"))
    except StoreError as error:
        logger.warning("The database cannot be read; changes that were waiting for git are lost: %s", error)
    finally:
        archiving.close()
        database.close()


def _refuse_if_used(store: MailStore) -> None:
    """Raise ArchiveError when a process has the database open, or some jobs are not in git yet."""
    try:
        descriptor = os.open(store.database, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, *_SHARED)
    except OSError as error:
        raise _in_use(store) from error
    finally:
        os.close(descriptor)
    _refuse_if_waiting(store, peek(store.database, _COUNT_WAITING, 0))


def _refuse_if_waiting(store: MailStore, waiting: int) -> None:
    if waiting:
        what = amount(waiting, "change")
        raise ArchiveError(
            f"{what} in {store.where} could not be written to git; the database is left unchanged.",
            hint="`nanobot-transcript mail doctor` says what is wrong with the archive.",
        )


def _made(store: MailStore, fresh: Path, *, accept_loss: bool) -> Filled:
    _remove(fresh)
    lock = store.root / f"{fresh.name}.lock"
    database = SqliteDatabase(fresh, lock, SCHEMA, busy=_BUSY)
    found, unreadable = _readable_projects(store)
    try:
        filled = database.write(lambda db: fill(db, found))
    finally:
        database.close()
        lock.unlink(missing_ok=True)
    return _whole(filled, found, unreadable, accept_loss=accept_loss)


def _refilled(store: MailStore, *, accept_loss: bool) -> Filled:
    """In one transaction: others read the old rows until it commits, and cannot write meanwhile."""
    found, unreadable = _readable_projects(store)

    def work(db: Sql) -> Filled:
        _refuse_if_waiting(store, db.execute(_COUNT_WAITING).fetchone()[0])
        for table in _EMPTIED:
            db.execute(f"DELETE FROM {table}")
        return _whole(fill(db, found), found, unreadable, accept_loss=accept_loss)

    return store.opened(_BUSY).write(work)


def _whole(filled: Filled, found: list[LastCommit], unreadable: list[str], *, accept_loss: bool) -> Filled:
    """The result with its problems. Raises ArchiveError when messages are lost and that was not accepted."""
    lost = sum(len(_messages(snapshot)) for snapshot in found) - filled.messages
    if (lost or unreadable) and not accept_loss:
        raise ArchiveError(
            f"The new database would lack {_lacking(lost, len(unreadable))}, which git cannot read, "
            "so it was not created.",
            hint="If the old database is intact, `nanobot-transcript mail doctor --complete` writes them to git "
            "again. If not, restore git from a backup, or go on without them with --rebuild --accept-loss.",
        )
    filled.problems += unreadable
    return filled


def _readable_projects(store: MailStore) -> tuple[list[LastCommit], list[str]]:
    """The readable projects, and a sentence for each unreadable one."""
    found: list[LastCommit] = []
    unreadable: list[str] = []
    for slug in slugs(store):
        try:
            found.append(take(store, slug))
        except ArchiveError as error:
            unreadable.append(f"the project {slug}. {error}")
    return found, unreadable


def _messages(snapshot: LastCommit) -> set[str]:
    return {
        PurePosixPath(path).stem for path in snapshot.files if path.startswith("messages/") and path.endswith(".md")
    }


def _lacking(messages: int, projects: int) -> str:
    parts = [amount(messages, "message")] if messages else []
    parts += [amount(projects, "whole project")] if projects else []
    return " and ".join(parts)


def _put_in_place(path: Path, fresh: Path) -> Path | None:
    """Keep the old file under another name and replace it by the new one; a kill at any moment leaves one in place.

    SQLite's -wal and -shm files belong to the old file, and would corrupt the new one.
    """
    kept = None
    if os.path.lexists(path):
        kept = next(name for n in range(1, 10_000) if not os.path.lexists(name := Path(f"{path}.broken-{n}")))
        os.link(path, kept, follow_symlinks=False)
        for side in _SIDES:
            with suppress(FileNotFoundError):
                os.rename(f"{path}{side}", f"{kept}{side}")  # noqa: PTH104 - a text with a suffix, not a path
    fresh.replace(path)
    force_folder(path.parent)
    return kept


def _remove(fresh: Path) -> None:
    for side in ("", *_SIDES):
        Path(f"{fresh}{side}").unlink(missing_ok=True)


def _in_use(store: MailStore) -> ArchiveError:
    return ArchiveError(
        f"{store.root} is in use by another process.",
        hint="Stop the server (nanobot-transcript serve) and every other program that uses this mail, then try again.",
    )
