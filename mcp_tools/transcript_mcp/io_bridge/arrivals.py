"""Notes which taken items have arrived, in a small file per process, until the database has recorded it.

A write to the file takes microseconds and survives the process, because it is in the kernel's page cache. So there is
hardly a moment in which a killed process has delivered an item without a trace. A power cut may lose the notes; then
the items are delivered again.
"""

import contextlib
import os
import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from nanobot_transcript.files.descriptors import open_append
from nanobot_transcript.files.os_errors import store_error

__all__ = ["ArrivalNotes"]

_RECORD: Final = struct.Struct("<q")
"""The number of an item that has arrived; negative when it was taken again afterwards."""


class ArrivalNotes:
    """The notes of this process in ``folder``, and those that other processes left. Writing is for the event loop."""

    def __init__(self, folder: Path) -> None:
        self._folder: Path = folder
        self._path: Path = folder
        self._descriptor: int | None = None
        self._noted: set[int] = set()
        self._unsettled: set[int] = set()

    def begin(self, process: str) -> None:
        """Open the file for this process's id. Raises StoreError."""
        path = self._folder / process
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            store_error(error, str(self._folder))
        self._path, self._descriptor = path, open_append(str(path))

    def note(self, seq: int) -> None:
        """Note that an item has arrived."""
        self._write(seq)
        self._noted.add(seq)
        self._unsettled.add(seq)

    def taken(self, seq: int) -> None:
        """Note that an item was taken (again); an earlier note does not count any more."""
        if seq in self._noted:
            self._write(-seq)

    def settled(self, seqs: Iterable[int]) -> None:
        """The database has recorded these items."""
        self._unsettled.difference_update(seqs)
        if not self._unsettled and self._noted and self._descriptor is not None:
            self._noted.clear()
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, 0)

    def noted_by(self, process: str) -> list[int]:
        """The items that had arrived when a process ended. Any thread. Raises StoreError."""
        path = self._folder / process
        try:
            records = path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            store_error(error, str(path))
        arrived = set[int]()
        for (seq,) in _RECORD.iter_unpack(records[: len(records) // _RECORD.size * _RECORD.size]):
            (arrived.add if seq > 0 else arrived.discard)(abs(seq))
        return sorted(arrived)

    def tidy(self, alive: Callable[[str], bool]) -> None:
        """Remove the notes of processes that have ended; call it after reading them."""
        with contextlib.suppress(OSError):
            for path in self._folder.iterdir():
                if not alive(path.name):
                    path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file. If the database has not recorded everything yet, the file stays for the next process."""
        if self._descriptor is not None:
            if not self._noted:
                with contextlib.suppress(OSError):
                    self._path.unlink(missing_ok=True)
            os.close(self._descriptor)
            self._noted, self._unsettled = set(), set()
            self._descriptor = None

    def _write(self, number: int) -> None:
        if self._descriptor is not None:
            with contextlib.suppress(OSError):  # at worst the item is delivered again
                os.write(self._descriptor, _RECORD.pack(number))
