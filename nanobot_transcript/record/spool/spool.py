"""Lines that this process has accepted and not yet handed on: a sequence of folders, oldest first."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Final

from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import StoreError, StoreFullError
from nanobot_transcript.record.spool.folder import Folder, store_in
from nanobot_transcript.record.spool.limits import SpoolLimits
from nanobot_transcript.record.spool.slot import Slot, folders_in
from nanobot_transcript.store.jsonl.backend import FsyncPolicy, JsonlBackend

__all__ = ["Job", "Spool"]

logger = logging.getLogger(__name__)

_MIB: Final = 1 << 20
_LAST_WORDS: Final = 1.0
"""Seconds that closing waits for threads in the middle of a write."""
_TURNS: Final = 4
"""One of so many turns is for lines of ended processes, however many of our own wait."""

Job = tuple[Folder, str]
"""A folder, and the chat in it that is being handed on."""


class Spool:
    """The folders of this process below ``base``, and those it has taken over from ended processes.

    For any thread: everything changes under ``lock``. ``written`` is notified when there is something to hand on,
    ``sent`` when something was handed on or failed.
    """

    def __init__(
        self, base: Path, limits: SpoolLimits, fsync: FsyncPolicy, fsync_interval: float, *, address: str
    ) -> None:
        self.base: Path = base
        self.address: str = address
        self.limits: SpoolLimits = limits
        self.lock: threading.Lock = threading.Lock()
        self.written: threading.Condition = threading.Condition(self.lock)
        self.sent: threading.Condition = threading.Condition(self.lock)
        self._fsync: tuple[FsyncPolicy, float] = (fsync, fsync_interval)
        self._slot: Slot | None = None
        self._folders: list[Folder] = []
        self._current: Folder | None = None
        """The one being written to, the last of the folders."""
        self._next: int = 1
        self._refused: JsonlBackend | None = None
        self._left: list[tuple[Slot, list[Folder]]] = []
        self._foreign: set[Path] = set()
        """Places of ended processes that hold only lines for other records."""
        self._looked: float = 0.0
        self._turn: int = 0

    # -- writing

    def write(self, session_key: str, entry: Entry, write: Callable[[JsonlBackend], bool]) -> bool:
        """Let ``write`` put an entry of a chat into the store it is given. Raises StoreFullError and other StoreError
        kinds.
        """
        with self.lock:
            folder = self._room_for(session_key, entry)
            folder.writers += 1
        try:
            return write(folder.lines)
        finally:
            with self.lock:
                folder.writers -= 1
                folder.waiting.setdefault(session_key, 0.0)
                self.written.notify()

    def _room_for(self, session_key: str, entry: Entry) -> Folder:
        self.open()
        folder = self._current
        if folder is None or folder.foreign or folder.size >= self.limits.folder_bytes:
            folder = self._begin()
        used = sum(each.size for each in self._folders) + folder.grow(session_key, entry)
        if used > self.limits.bytes:
            raise StoreFullError(
                f"{self._size(used)} wait in {self.base} for the record, and it takes no more.",
                hint="It empties once the record can be written to; `nanobot-transcript doctor` says why it cannot.",
            )
        return folder

    def _size(self, size: int) -> str:
        return f"{size / _MIB:.1f} MiB of {self.limits.bytes / _MIB:.1f} MiB"

    def open(self) -> None:
        """Take a place, with what was left there. Under the lock. Raises StoreError kinds."""
        if self._slot is not None:
            return
        slot, self._folders = self._claimed()
        self._next = 1 + max((int(folder.base.name) for folder in self._folders), default=0)
        self._slot = slot
        slot.tell("")  # the trouble was the ended process's

    def _claimed(self) -> tuple[Slot, list[Folder]]:
        """A place, and what was left there. A place with lines for another address is left to the bots of that
        address.
        """
        others: set[Path] = set()
        while True:
            slot = Slot.claim(self.base, others)
            folders = self._folders_of(slot)
            if not any(folder.is_elsewhere for folder in folders):
                return slot, folders
            others.add(slot.path)
            _let_go(slot, folders)

    def _folders_of(self, slot: Slot) -> list[Folder]:
        try:
            return [self._folder(path) for path in folders_in(slot.path)]
        except BaseException:
            slot.release()
            raise

    def _begin(self) -> Folder:
        assert self._slot is not None
        folder = self._folder(self._slot.path / f"{self._next:06d}")
        folder.begin()
        self._current = folder
        self._folders.append(folder)
        self._next += 1
        return folder

    def _folder(self, path: Path) -> Folder:
        return Folder(path, *self._fsync, address=self.address)

    # -- what waits

    @property
    def syncs(self) -> bool:
        """True when each write waits for the disk."""
        return self._fsync[0] == "always"

    def waits(self, session_key: str) -> bool:
        """True when lines of a chat written here may be waiting. Under the lock."""
        return any(folder.waits(session_key) for folder in self._folders)

    def wait(self, session_key: str, timeout: float, unless: Callable[[], bool] = lambda: False) -> bool:
        """Wait until nothing of a chat waits: True. False after ``timeout`` seconds, or when waiting is useless."""
        with self.lock:
            if not self.waits(session_key):
                return True
            self.sent.wait_for(lambda: unless() or not self.waits(session_key), timeout)
            return not self.waits(session_key)

    def tail(self, session_key: str) -> Iterator[Entry]:
        """The waiting lines of a chat that were written here, oldest first."""
        with self.lock:
            folders = [folder for folder in self._folders if folder.waits(session_key)]
        for folder in folders:
            yield from folder.tail(session_key)

    def waiting_chats(self) -> list[str]:
        """The chats of which lines may be waiting."""
        with self.lock:
            folders = [folder for folder in self._folders if folder.is_ours]
            found = {key: None for folder in folders for key in (*folder.waiting, folder.sending) if key is not None}
        return list(found)

    def size_of(self, session_key: str) -> int:
        """Waiting bytes of a chat."""
        return sum(folder.behind(session_key)[1] for folder in self.folders(session_key))

    def folders(self, session_key: str | None = None) -> list[Folder]:
        """All folders of this record, including those of ended processes; for a chat, those in which something of it
        was written.
        """
        with self.lock:
            found = [*self._folders, *(folder for _, folders in self._left for folder in folders)]
        return [folder for folder in found if folder.is_ours and (session_key is None or folder.has(session_key))]

    @property
    def refused(self) -> JsonlBackend | None:
        """The store of lines that the record can never take; None while this process has no place."""
        with self.lock:
            if self._refused is None and self._slot is not None:
                self._refused = store_in(self._slot.path / "refused", *self._fsync)
            return self._refused

    def again(self, folder: Folder, session_key: str) -> None:
        """Lines were written outside ``write``: check whether they are to be handed on."""
        with self.lock:
            folder.waiting.setdefault(session_key, 0.0)
            self.written.notify()

    # -- handing on

    def take(self) -> Job | None:
        """The next job; None when there is none. Under the lock."""
        self._turn += 1
        rows = self._rows()
        for row in reversed(rows) if self._turn % _TURNS == 0 else rows:
            for folder, key in _jobs(row, time.monotonic()):
                del folder.waiting[key]
                folder.sending = key
                return folder, key
        return None

    def _rows(self) -> list[list[Folder]]:
        return [self._folders, [folder for _, folders in self._left for folder in folders]]

    def until_next(self) -> float:
        """Seconds until something is to be tried again, if anything. Under the lock."""
        moments = (folder.waiting[key] for row in self._rows() for folder, key in _jobs(row, inf))
        return max(0.0, min(moments, default=inf) - time.monotonic())

    def give_back(self, job: Job, again_at: float | None) -> None:
        """Finish a job; ``again_at`` (``time.monotonic``) says when to continue, if there is more."""
        folder, key = job
        with self.lock:
            folder.sending = None
            if again_at is not None:
                folder.waiting.pop(key, None)  # to the end of the queue
                folder.waiting[key] = again_at
            self.sent.notify_all()

    def tidy(self) -> None:
        """Remove folders that are finished, and look for what ended processes have left. Raises StoreError kinds."""
        for folder in self._finished():
            folder.drop()
        for slot, _ in self._emptied():
            slot.release()
        if time.monotonic() - self._looked >= self.limits.look_seconds:
            self._looked = time.monotonic()
            self._take_over()

    def _finished(self) -> list[Folder]:
        """Folders that belong to no row any more."""
        with self.lock:
            own = [folder for folder in self._folders if folder.is_done and self._is_removable(folder)]
            self._folders = [folder for folder in self._folders if folder not in own]
            if self._current in own:
                self._current = None
            done = [folder for _, folders in self._left for folder in folders if folder.is_done]
            self._left = [(slot, [each for each in folders if each not in done]) for slot, folders in self._left]
        return own + done

    def _is_removable(self, folder: Folder) -> bool:
        limits = self.limits
        old = time.monotonic() - folder.born >= limits.folder_seconds
        return folder is not self._current or old or folder.size >= limits.folder_bytes

    def _emptied(self) -> list[tuple[Slot, list[Folder]]]:
        with self.lock:
            emptied = [(slot, folders) for slot, folders in self._left if all(folder.foreign for folder in folders)]
            self._left = [pair for pair in self._left if pair not in emptied]
        for slot, folders in emptied:
            if folders:
                self._foreign.add(slot.path)
            for folder in folders:
                folder.close()
        return emptied

    def _take_over(self) -> None:
        """Take over the places of ended processes, one at a time, so that other processes can share the work."""
        if self._left:
            return
        for slot in Slot.left(self.base, self._foreign):
            folders = self._folders_of(slot)
            logger.info("%s: handing on messages that an ended process left", slot.path)
            with self.lock:
                self._left.append((slot, folders))
            return

    def tell(self, trouble: str) -> None:
        """Note why nothing can be handed on, for ``doctor``; empty when it can."""
        slot = self._slot
        if slot is not None:
            slot.tell(trouble)

    # -- its end

    def close(self) -> None:
        """Remove finished folders, and leave the rest for the next process. Opens again when it is used again."""
        with self.lock:
            self.written.wait_for(lambda: not any(folder.writers for folder in self._folders), _LAST_WORDS)
            slot, self._slot = self._slot, None
            own, self._folders, self._current = self._folders, [], None
            left, self._left = self._left, []
            refused, self._refused = self._refused, None
            done = [folder for folder in own if folder.is_done]
        for folder in own:
            with suppress(StoreError, OSError):
                folder.drop() if folder in done else folder.close()
        for each, folders in left:
            for folder in folders:
                folder.close()
            each.release()
        if refused is not None:
            refused.close()
        if slot is not None:
            slot.release()

    def forget(self) -> None:
        """In a forked child: the folders stay the parent's."""
        self.lock = threading.Lock()
        self.written, self.sent = threading.Condition(self.lock), threading.Condition(self.lock)
        for slot in (self._slot, *(slot for slot, _ in self._left)):
            if slot is not None:
                slot.release()
        self._slot = self._current = self._refused = None
        self._folders, self._left = [], []


def _let_go(slot: Slot, folders: list[Folder]) -> None:
    for folder in folders:
        folder.close()
    slot.release()


def _jobs(row: list[Folder], now: float) -> Iterator[Job]:
    """What may be handed on now. A chat is handed on in line order, so an older folder goes first."""
    before: set[str] = set()
    for folder in row:
        if folder.foreign:
            continue
        for key, not_before in folder.waiting.items():
            if not_before <= now and key not in before:
                yield folder, key
        before.update(folder.waiting)
