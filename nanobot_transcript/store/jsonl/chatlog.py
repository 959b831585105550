"""Appending to one transcript: one ``write(2)`` per entry, under the lock that all processes share."""

import contextlib
import logging
import os
import threading
from collections.abc import Callable, Sequence
from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, flock
from functools import partial
from typing import Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import StoreBusyError, StoreError, UnsafePathError
from nanobot_transcript.files.descriptors import open_read
from nanobot_transcript.files.layout import Layout
from nanobot_transcript.files.lock import acquire
from nanobot_transcript.files.os_errors import store_error
from nanobot_transcript.store.jsonl import id_tables
from nanobot_transcript.store.jsonl.active_segment import ActiveFile
from nanobot_transcript.store.jsonl.cursor import SegmentPosition
from nanobot_transcript.store.jsonl.fsync import Syncer
from nanobot_transcript.store.jsonl.id_table import INDEXED, DamagedTableError, IdTable, NewerFormatError, hash_key
from nanobot_transcript.store.jsonl.lines import complete_end
from nanobot_transcript.store.jsonl.segment_index import add_lines, line_with
from nanobot_transcript.store.jsonl.session_keys import remember
from nanobot_transcript.store.jsonl.unlocked_append import write_unlocked
from nanobot_transcript.store.lines.codec import encode
from nanobot_transcript.store.lines.ids import id_keys

__all__ = ["ChatLog"]

_BACKGROUND_WAIT: Final = 60.0
_STUCK_WAIT: Final = 0.0025
_INDEX_UNDER_LOCK: Final = 4 << 20
_NOT_LOCKED: Final = -1
_FEW_IDS: Final = 64
_NOW_OR_NEVER: Final = LOCK_EX | LOCK_NB

logger = logging.getLogger(__name__)


class ChatLog:
    """The writing end of one transcript in one process; threads share it."""

    def __init__(
        self,
        layout: Layout,
        session_key: str,
        stem: str,
        segment_bytes: int,
        lock_timeout: float,
        syncer: Syncer,
    ) -> None:
        self._layout = layout
        self._session_key = session_key
        self._stem = stem
        self._path = layout.active(stem)
        self._segment_bytes = segment_bytes
        self._lock_timeout = lock_timeout
        self._syncer = syncer
        self._sync = syncer.wanted
        self._mutex = threading.RLock()
        self._file = ActiveFile(layout, self._path)
        self._table: IdTable | None = None
        self._closed: list[IdTable] = []
        self._closed_loaded = False
        self._builders: dict[str, threading.Thread] = {}
        self._stuck = False

    def write(self, entry: Entry, unless: list[str], wait: float | None) -> Entry | None:
        """Append ``entry`` unless one of the keys ``unless`` is known. Returns the known line, or None when written.

        ``wait`` bounds the wait for the lock (seconds, None = the store's limit). A lock that stays held costs the
        duplicate check, never the entry. Raises StoreError when nothing was recorded.
        """
        line = encode(entry)
        hashes = [hash_key(key) for key in unless] if len(unless) != 1 else [hash_key(unless[0])]  # the usual case
        while True:
            try:
                # Another thread may hold the mutex and wait for the file lock longer than this caller may wait.
                if not (self._mutex.acquire(False) or self._mutex.acquire(timeout=self._patience(wait))):
                    return self._write_unlocked(entry, unless)
                return self._write(entry, line, unless, hashes, wait)
            except DamagedTableError as damage:
                logger.warning("the index %s is damaged; rebuilding it", damage.path)
                damage.discard()
            finally:
                try:  # noqa: SIM105 - a context manager would cost every message some percent
                    self._mutex.release()
                except RuntimeError:
                    pass  # not held: an interrupt between the two lines above leaves no other way to tell

    def _write(
        self, entry: Entry, line: bytes, unless: list[str], hashes: list[int], wait: float | None
    ) -> Entry | None:
        # Long on purpose: each further call costs every message some percent.
        file = self._file
        try:
            size = self._lock(wait)
            if size == _NOT_LOCKED:
                return self._write_unlocked(entry, unless)
            table = self._table
            assert table is not None
            for key_hash in hashes:
                if self._closed or table.find(key_hash) is not None:
                    known = self._known(table, unless, hashes)
                    if known is not None:
                        flock(file.descriptor, LOCK_UN)
                        return known
                    break
            end = file.append(line)
            # Otherwise the next writer indexes it: either somebody wrote without the lock while this process was
            # stalled, or there are more ids than the table has room for.
            if end == size + len(line) and len(hashes) < _FEW_IDS:
                crowded = False
                for key_hash in hashes if "op" not in entry else map(hash_key, id_keys(entry)):
                    crowded = table.insert(key_hash, size)
                # Last: if this process dies before it, the next writer indexes the line again.
                table.words[INDEXED] = end
                if crowded:
                    self._grow(table)
            flock(file.descriptor, LOCK_UN)
        except BaseException:
            self._release_files()  # closing the file releases the lock, whatever happened
            raise
        if self._sync:
            self._syncer.written(file.descriptor, file.inode)
        return None

    def extend(self, lines: Sequence[bytes], may: Callable[[], bool]) -> tuple[int, SegmentPosition]:
        """Append whole lines unchanged in one write, without a duplicate check: as many as there is room for in the
        segment, and at least one. Returns how many, and the place behind them.

        ``may`` is called under the lock; when it returns False nothing is written.
        """
        with self._mutex:
            try:
                table, size = self._take_lock(), os.lseek(self._file.descriptor, 0, os.SEEK_END)
                if not may():
                    return 0, SegmentPosition(table.number, size)
                count, length = 0, 0
                while count < len(lines) and (not count or size + length < self._segment_bytes):
                    length += len(lines[count])
                    count += 1
                end = self._file.append(b"".join(lines[:count]))
                self._table = add_lines(table, self._file.descriptor, size, end)
                flock(self._file.descriptor, LOCK_UN)
                if self._sync:
                    self._syncer.written(self._file.descriptor, self._file.inode)
                return count, SegmentPosition(table.number, end)
            except DamagedTableError as damage:  # the lines are written; the next writer makes another table
                damage.discard()
                raise StoreBusyError(f"The index of {self._path} was damaged.", hint="Try again.") from damage
            finally:
                self._release_files()

    def close(self) -> None:
        """Close files; the next write opens them again."""
        with self._mutex:
            self._release_files()

    def is_torn(self) -> bool:
        """True when the last line has no newline, because its writer was killed or is writing now."""
        descriptor = open_read(self._path)
        if descriptor is None:
            return False
        try:
            size = os.fstat(descriptor).st_size
            return complete_end(descriptor, size) != size
        finally:
            os.close(descriptor)

    def heal(self) -> list[str]:
        """Close a torn line and bring the index up to date; returns what was done."""
        with self._mutex:
            torn = self.is_torn()
            try:
                self._take_lock()
            finally:
                self._release_files()
        return ["the last line was cut off; it was closed so that the next one stands alone"] if torn else []

    def remove(self) -> tuple[int, int]:
        """Remove every file of the chat; (segments, bytes). Numbering continues, so that old cursors stay valid."""
        with self._mutex:
            try:
                table = self._take_lock()
                paths = [self._layout.closed(self._stem, n) for n in self._layout.closed_numbers(self._stem)]
                size = sum(os.stat(path).st_size for path in [*paths, self._path])
                table.retire()
                # Frees the space at once, although other processes still have it open.
                os.ftruncate(self._file.descriptor, 0)
                for path in paths:
                    os.unlink(path)
                id_tables.start_over(self._layout, self._stem, table.number)
                os.unlink(self._path)  # last: from here on another process may start a new file
            except OSError as error:
                store_error(error, self._path)
            finally:
                self._release_files()
        return len(paths) + 1, size

    def _take_lock(self) -> IdTable:
        if self._lock(None) == _NOT_LOCKED or self._table is None:
            raise StoreBusyError(f"{self._path} is locked by a process that does not respond.")
        return self._table

    def forget(self) -> None:
        """After a fork: drop what the parent had open, without touching its lock."""
        self._mutex = threading.RLock()
        self._builders = {}
        self._release_files()

    # -- the lock, and the state of the file behind it

    def _lock(self, wait: float | None) -> int:
        """Take the lock on the file that is the active segment now; its size, or ``_NOT_LOCKED``.

        The file may be rotated between opening and locking it, so ``is_current`` is checked with the lock held.
        """
        file = self._file
        while True:
            if file.descriptor < 0:
                self._open()
            try:
                flock(file.descriptor, _NOW_OR_NEVER)
            except BlockingIOError:
                if not acquire(file.descriptor, self._patience(wait)):
                    self._give_up()
                    return _NOT_LOCKED
            self._stuck = False
            if not file.is_current():
                self._release_files()
                continue
            size = os.lseek(file.descriptor, 0, os.SEEK_END)
            table = self._table
            if table is not None and table.words[INDEXED] == size < self._segment_bytes:
                return size
            settled = self._settle(size, wait)
            if settled is not None:
                return settled

    def _patience(self, wait: float | None) -> float:
        limit = self._lock_timeout if wait is None else min(wait, self._lock_timeout)
        return min(limit, _STUCK_WAIT) if self._stuck else limit

    def _give_up(self) -> None:
        if not self._stuck:
            logger.warning(
                "%s is locked by a process that does not respond; entries are written without checking for duplicates",
                self._path,
            )
        self._stuck = True

    def _open(self) -> None:
        self._file.open()
        remember(self._layout, self._stem, self._session_key)

    def _settle(self, size: int, wait: float | None) -> int | None:
        """Bring the id table up to the file, heal a torn tail, rotate. None = look again (the lock is free)."""
        if size >= self._segment_bytes:
            self._rotate()
            return None
        self._layout.create()
        table = self._table
        if table is None or table.retired or table.indexed > size:
            if table is not None:
                table.close()
            table = id_tables.open_active(self._layout, self._stem, self._file.inode, self._file.device, size)
            self._table = table
        if not self._closed_loaded and (missing := self._load_closed()):
            if wait is None:
                flock(self._file.descriptor, LOCK_UN)
                missing = self._build_closed(missing)
            if missing:
                self._in_background("closed", partial(self._build_closed_later, missing))
            if wait is None:
                return None
        end = complete_end(self._file.descriptor, size)
        if end - table.indexed > _INDEX_UNDER_LOCK:
            flock(self._file.descriptor, LOCK_UN)
            return None if self._build(table, background=wait is not None) else _NOT_LOCKED
        return self._catch_up(table, end, size)

    def _catch_up(self, table: IdTable, end: int, size: int) -> int:
        table = add_lines(table, self._file.descriptor, table.indexed, end)
        if end < size:
            # A killed writer left half a line behind: end it, or the next entry would be glued to it and lost.
            size = self._file.append(b"\n")
            table = add_lines(table, self._file.descriptor, end, size)
        self._table = table
        return size

    def _build(self, table: IdTable, *, background: bool) -> bool:
        """Index a large active segment with the lock free. False = go on without the index, it is being built
        elsewhere.
        """
        logger.warning("%s has no index; building it", self._path)
        if table.path is None:
            end = complete_end(self._file.descriptor, os.fstat(self._file.descriptor).st_size)
            self._table = add_lines(table, self._file.descriptor, table.indexed, end)
            return True
        if background:
            self._in_background("active", partial(id_tables.build_active, self._layout, self._stem, table.owner))
            return False
        try:
            id_tables.build_active(self._layout, self._stem, table.owner)
        except StoreBusyError:
            return False
        return True

    def _load_closed(self) -> list[int]:
        """Open the id tables of the closed segments within the horizon; the numbers of those that must be built
        first.
        """
        missing: list[int] = []
        for number in reversed(id_tables.horizon(self._layout, self._stem)):
            try:
                table = id_tables.open_closed(self._layout, self._stem, number)
            except (NewerFormatError, UnsafePathError):
                table = None
            if table is not None:
                self._closed.append(table)
            else:
                missing.append(number)
        self._closed_loaded = True
        return missing

    def _build_closed(self, numbers: list[int]) -> list[int]:
        """Build and open these tables; returns the numbers of those that another process is busy with."""
        busy: list[int] = []
        for number in numbers:
            try:
                self._closed += filter(None, [id_tables.build_closed(self._layout, self._stem, number)])
            except StoreBusyError:
                busy.append(number)
            except StoreError as error:
                logger.warning("segment %d of %s cannot be indexed: %s", number, self._path, error)
        return busy

    def _build_closed_later(self, numbers: list[int]) -> None:
        for number in numbers:
            table = id_tables.build_closed(self._layout, self._stem, number, wait=_BACKGROUND_WAIT)
            if table is None:
                continue
            with self._mutex:
                if self._closed_loaded and all(known.number != number for known in self._closed):
                    self._closed.append(table)
                else:
                    table.close()

    def _in_background(self, purpose: str, work: Callable[[], object]) -> None:
        builder = self._builders.get(purpose)
        if builder is None or not builder.is_alive():
            builder = threading.Thread(
                target=self._log_failure, args=(work,), name=f"transcript-{purpose}", daemon=True
            )
            self._builders[purpose] = builder
            builder.start()

    def _log_failure(self, work: Callable[[], object]) -> None:
        try:
            work()
        except StoreError as error:
            logger.warning("%s: an index could not be built, some duplicates may be recorded: %s", self._path, error)

    def _rotate(self) -> None:
        """Close the active segment by renaming it, and do nothing else.

        The next writer starts a new file and, holding its lock, moves the id table to the closed segment's name
        (``id_tables.open_active``). So nothing is left half done when this process dies here.
        """
        if self._sync:
            os.fdatasync(self._file.descriptor)
        number = id_tables.active_number(self._layout, self._stem, self._file.inode)
        closed = self._layout.closed(self._stem, number)
        try:
            os.rename(self._path, closed)
        except OSError as error:
            store_error(error, closed)
        self._release_files()

    def _release_files(self) -> None:
        self._file.close()
        for table in self._closed if self._table is None else [self._table, *self._closed]:
            table.close()
        self._table = None
        self._closed = []
        self._closed_loaded = False

    # -- the write itself

    def _known(self, table: IdTable, keys: list[str], hashes: list[int]) -> Entry | None:
        for position, key_hash in enumerate(hashes):
            offsets = table.find(key_hash)
            if offsets is not None:
                known = line_with(self._file.descriptor, offsets, keys[position])
                if known is not None:
                    return known
            for closed in self._closed:
                offsets = closed.find(key_hash)
                if offsets is not None and (known := self._in_closed(closed, offsets, keys[position])) is not None:
                    return known
        return None

    def _in_closed(self, table: IdTable, offsets: list[int], key: str) -> Entry | None:
        descriptor = open_read(self._layout.closed(self._stem, table.number))
        if descriptor is None:
            return None
        try:
            return line_with(descriptor, offsets, key)
        finally:
            os.close(descriptor)

    def _grow(self, table: IdTable) -> None:
        with contextlib.suppress(StoreError):  # the entry is written already; a table in memory will do
            self._layout.create()
        self._table = table.grown()
        table.close()

    def _write_unlocked(self, entry: Entry, unless: list[str]) -> Entry | None:
        return write_unlocked(
            self._layout, self._stem, self._session_key, entry, unless, sync=self._syncer.policy == "always"
        )
