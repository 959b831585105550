"""The archiver: a process that copies archive jobs from the database into git.

    python -m transcript_mcp.mail.archive.archiver STORE [told]

With ``told``, the first line of stdin is the address of the database: it may contain a password, which other users
could read in the command line.

Whoever serves mail runs an ``ArchiverProcess``. Of all archivers of a store, only the one that holds the lock file
works; the others wait. An archiver ends with the process that started it. Unfinished jobs stay in the database for the
next one.
"""

import logging
import os
import select
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from nanobot_transcript.errors import StoreBusyError, StoreError
from nanobot_transcript.files.descriptors import to_append
from nanobot_transcript.files.lock import acquire
from nanobot_transcript.sql.contract import Database
from nanobot_transcript.sql.location import Shelf
from transcript_mcp.mail.archive.jobs import outcome
from transcript_mcp.mail.store import MailStore

if TYPE_CHECKING:
    from transcript_mcp.mail.archive.rounds import Archiving

__all__ = ["PAUSE", "PAUSE_REMOTE", "ArchiverProcess", "main", "wait_for"]

PAUSE: Final = 0.01
PAUSE_REMOTE: Final = 0.05
"""Seconds between two checks whether a job is done, in a local file and over a network."""

_LOOK: Final = 0.025
_TIDY: Final = 0.25
_FOR_THE_LOCK: Final = 0.1
_LAST_WORK: Final = 1.2
_END: Final = 5.0
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 5.0
_HEALTHY: Final = 10.0
_BUSY: Final = 0.005
_BUSY_REMOTE: Final = 5.0  # PostgreSQL queues those that wait for a lock
_LOOK_REMOTE: Final = 0.1
_TOLD: Final = "told"
_LONGEST_REST: Final = 5.0

logger = logging.getLogger(__name__)


def wait_for(database: Database, seq: int, timeout: float, *, pause_at_most: float = PAUSE) -> str | None:
    """The commit of job ``seq``; None when it is not done after ``timeout`` seconds.

    Empty for a job that was done long ago. Raises StoreError.
    """
    deadline = time.monotonic() + timeout
    pause = 0.002
    while True:
        commit = database.read(lambda found: outcome(found, seq), "")
        left = deadline - time.monotonic()
        if commit is not None or left <= 0:
            return commit
        time.sleep(min(pause, left))
        pause = min(pause * 1.5, pause_at_most)


class ArchiverProcess:
    """The archiver process of a store, restarted (after a growing pause) when it dies. Thread-safe."""

    def __init__(self, store: MailStore) -> None:
        self._store: MailStore = store
        self._child: subprocess.Popen[bytes] | None = None
        self._thread: threading.Thread | None = None
        self._mutex: threading.Lock = threading.Lock()
        self._closing: threading.Event = threading.Event()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def alive(self) -> bool:
        """True while the process runs, whether it works or waits for the lock."""
        return self.pid is not None

    @property
    def pid(self) -> int | None:
        """The process id, None while there is no process."""
        with self._mutex:
            return self._child.pid if self._child is not None and self._child.poll() is None else None

    def start(self) -> None:
        """Start it; a second call does nothing."""
        if self._thread is None:
            # PR_SET_PDEATHSIG ends the child when the *thread* that started it ends, so this thread outlives the child.
            self._thread = threading.Thread(target=self._keep_alive, name="mail archiver", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Let it work on waiting jobs for about a second, then end it. Other jobs stay in the database."""
        if self._thread is None:
            return
        self._closing.set()
        with self._mutex:
            child = self._child
            if child is not None and child.stdin is not None:
                child.stdin.close()
        self._thread.join(_END)
        if self._thread.is_alive() and child is not None:
            logger.warning("The mail archiver (process %d) did not stop; killing it.", child.pid)
            child.kill()
            self._thread.join(_END)
        self._thread = self._child = None
        self._closing.clear()

    def _keep_alive(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            began = time.monotonic()
            code = self._run_once()
            if self._closing.is_set():
                return
            pause = _FIRST_PAUSE if time.monotonic() - began > _HEALTHY else min(pause * 2, _LONGEST_PAUSE)
            logger.warning("The mail archiver ended with %s; restarting it in %.1f s.", code, pause)
            if self._closing.wait(pause):
                return

    def _run_once(self) -> int | str:
        # -P keeps the working directory off sys.path: a file there must not shadow a module.
        command = [sys.executable, "-P", "-m", "transcript_mcp.mail.archive.archiver", str(self._store.root)]
        address = self._store.tables.address
        if address is not None:
            command.append(_TOLD)
        with self._mutex:
            if self._closing.is_set():
                return 0
            try:
                self._child = child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
            except OSError as error:
                return str(error)
            assert child.stdin is not None
            if address is not None:
                os.write(child.stdin.fileno(), f"{address}\n".encode())
            os.set_blocking(child.stdin.fileno(), False)
        code = child.wait()
        with self._mutex:
            child.stdin.close()
        return code


class _Ending:
    """Tells when this process has to end: by a signal, or because the parent closed stdin or died."""

    def __init__(self) -> None:
        self.asked: bool = False
        # Only a pipe shows the parent's end; a terminal or /dev/null says nothing about it.
        self._pipe: int | None = 0 if stat.S_ISFIFO(os.fstat(0).st_mode) else None
        signal.signal(signal.SIGTERM, self._ask)
        signal.signal(signal.SIGINT, signal.SIG_IGN if self._pipe is not None else self._ask)
        if self._pipe is not None:
            from transcript_mcp.mail.archive.parent import end_with_parent

            end_with_parent(signal.SIGTERM)

    def wait(self, seconds: float) -> None:
        """Sleep until the time is over, or stdin has data or is closed, or a signal arrives."""
        watched = [] if self._pipe is None else [self._pipe]
        if select.select(watched, [], [], max(0.0, seconds))[0] and not os.read(0, 4096):
            self.asked = True
            self._pipe = None

    def _ask(self, *_: object) -> None:
        self.asked = True


def main(argv: list[str]) -> None:
    """Archive the mail of the store ``argv[1]`` until the parent ends."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s mail archiver: %(message)s")
    os.umask(0o077)
    store, ending = _store(argv), _Ending()
    try:
        store.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = to_append(str(store.archiver_lock))
    except OSError as error:
        sys.exit(f"The mail archiver cannot start: {error}")
    while not acquire(lock, timeout=0):
        ending.wait(_FOR_THE_LOCK)
        if ending.asked:
            return
    from transcript_mcp.mail.archive.rounds import Archiving

    database = store.opened(_BUSY_REMOTE if store.tables.is_remote else _BUSY)
    archiving = Archiving(store, database)
    try:
        _work(archiving, database, ending, _LOOK_REMOTE if store.tables.is_remote else _LOOK)
    finally:
        archiving.close()
        database.close()


def _store(argv: list[str]) -> MailStore:
    if argv[2:] != [_TOLD]:
        return MailStore(Path(argv[1]))
    line = b""
    # Byte by byte: a buffered read could swallow what comes after the line, which select has to see.
    while not line.endswith(b"\n") and (read := os.read(0, 1)):
        line += read
    return MailStore.on(Shelf.at(Path(argv[1]), line.decode()))


def _work(archiving: "Archiving", database: Database, ending: _Ending, look: float) -> None:
    seen, due, tidy_at, pause, adopted = None, 0.0, 0.0, look, False
    while not ending.asked:
        try:
            version = database.edition()  # before the round, so that changes during it cause another one
            if version is None:
                ending.wait(look)  # no store yet; the archiver does not create it
                continue
            if not adopted:
                archiving.adopt()
                adopted = True
            if version != seen or time.monotonic() >= due:
                due = archiving.round()
                seen = version
            if time.monotonic() >= tidy_at:
                tidy_at = time.monotonic() + (look if archiving.tidy() else _TIDY)
        except StoreError as error:
            if pause == look and not isinstance(error, StoreBusyError):
                logger.warning("%s %s", error, error.hint)
            pause = min(pause * 2, _LONGEST_REST)
            seen = None
            ending.wait(pause)
        else:
            pause = look
            ending.wait(min(look, due - time.monotonic()))
    if adopted:
        _finish(archiving)


def _finish(archiving: "Archiving") -> None:
    deadline, before = time.monotonic() + _LAST_WORK, -1
    try:
        while archiving.done != before and time.monotonic() < deadline:
            before = archiving.done
            archiving.round(until=deadline)
    except StoreError as error:
        logger.warning("%s %s", error, error.hint)


if __name__ == "__main__":
    main(sys.argv)
