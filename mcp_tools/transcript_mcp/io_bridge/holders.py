"""Which processes live: each holds a lock on a file of its own, which the kernel frees when the process ends.

The file also says which of the items that the process had taken have arrived, until the database knows it. Writing that
takes microseconds, and what the kernel has got outlives the process, so that hardly a moment is left in which a killed
process had handed something over and nobody knows. A power cut may cost these notes; then it is handed over again.
"""

import contextlib
import fcntl
import os
import struct
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Final
from uuid import uuid4

from nanobot_transcript.files.descriptors import open_append
from nanobot_transcript.files.failures import store_error
from nanobot_transcript.files.lock import is_held

__all__ = ["Holder"]


_RECORD: Final = struct.Struct("<q")
"""The number of an item that has arrived, negative when it is taken once more after that."""


class Holder:
    """This process, as the owner of what it has taken. For any thread."""

    def __init__(self, folder: Path) -> None:
        self._folder: Path = folder
        self.id: str = uuid4().hex
        self._descriptor: int | None = None
        self._mutex: threading.Lock = threading.Lock()
        self._noted: set[int] = set()
        self._unsettled: set[int] = set()

    @property
    def is_live(self) -> bool:
        """True while the lock is held."""
        return self._descriptor is not None

    def live(self) -> str:
        """The id, once the lock is held. Raises StoreError kinds."""
        with self._mutex:
            if self._descriptor is None:
                try:
                    self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                except OSError as error:
                    store_error(error, str(self._folder))
                self._descriptor = self._locked()
            return self.id

    def _locked(self) -> int:
        path = self._folder / self.id
        while True:
            descriptor = open_append(str(path))
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_ino == os.fstat(descriptor).st_ino:
                    return descriptor
            os.close(descriptor)  # tidied away by another process between the two calls

    def is_dead(self, other: str) -> bool:
        """True when the process behind another id has ended."""
        if other == self.id:
            return False
        try:
            return not is_held(self._folder / other)
        except OSError as error:
            store_error(error, str(self._folder / other))

    # -- what has arrived; on the event loop

    def note(self, seq: int) -> None:
        """Write down at once that an item has arrived."""
        self._write(seq)
        self._noted.add(seq)
        self._unsettled.add(seq)

    def taken(self, seq: int) -> None:
        """An item was taken; what was noted of it before does not count any more."""
        if seq in self._noted:
            self._write(-seq)

    def settled(self, seqs: Iterable[int]) -> None:
        """The database knows of these items now."""
        self._unsettled.difference_update(seqs)
        if not self._unsettled and self._noted and self._descriptor is not None:
            self._noted.clear()
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, 0)

    def noted_by(self, other: str) -> list[int]:
        """What had arrived of a process that has ended. Any thread."""
        try:
            records = (self._folder / other).read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            store_error(error, str(self._folder / other))
        arrived = set[int]()
        for (seq,) in _RECORD.iter_unpack(records[: len(records) // _RECORD.size * _RECORD.size]):
            (arrived.add if seq > 0 else arrived.discard)(abs(seq))
        return sorted(arrived)

    def _write(self, number: int) -> None:
        if self._descriptor is not None:
            with contextlib.suppress(OSError):  # then the item is handed over once more
                os.write(self._descriptor, _RECORD.pack(number))

    # --

    def tidy(self) -> None:
        """Remove the files of processes that have ended."""
        with contextlib.suppress(OSError):
            for path in self._folder.iterdir():
                if self.is_dead(path.name):
                    path.unlink(missing_ok=True)

    def close(self) -> None:
        """Let go of the lock."""
        with self._mutex:
            if self._descriptor is not None:
                if not self._noted:
                    with contextlib.suppress(OSError):
                        (self._folder / self.id).unlink(missing_ok=True)
                os.close(self._descriptor)
                self._noted, self._unsettled = set(), set()
                self._descriptor = None
                self.id = uuid4().hex
