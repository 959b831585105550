"""The segment that is being written, and whether its name still means the same file."""

import os
import time
from typing import Final

from nanobot_transcript.errors import StoreFullError
from nanobot_transcript.files.descriptors import open_append, open_folder
from nanobot_transcript.files.layout import Layout
from nanobot_transcript.files.os_errors import store_error

__all__ = ["ActiveFile"]

_SETTLED_NS: Final = 20_000_000
_TRUST_SECONDS: Final = 0.0003


class ActiveFile:
    """An open active segment. Other processes rotate it, and anybody may unlink, move or replace it."""

    __slots__ = ("_folder", "_layout", "_look_again", "_seen_change", "descriptor", "device", "inode", "path")

    def __init__(self, layout: Layout, path: str) -> None:
        self._layout = layout
        self.path: Final = path
        self.descriptor = -1
        self.inode = self.device = 0
        self._folder = -1
        self._seen_change = -1
        self._look_again = 0.0

    def open(self) -> int:
        """Open the file, creating it; its size in bytes."""
        self._layout.create()
        self.descriptor = open_append(self.path)
        self._folder = open_folder(str(self._layout.base))
        status = os.fstat(self.descriptor)
        self.inode, self.device = status.st_ino, status.st_dev
        self._seen_change = -1
        return status.st_size

    def is_current(self) -> bool:
        """True while the path leads to the open file.

        A ``stat`` of the file before every write would make the kernel update its time stamps each time, which costs
        more than the write. The folder's time changes whenever a name in it does, so an unchanged folder is proof
        enough within a burst. Otherwise the path is followed, because the folder itself may have been moved.
        """
        folder = os.fstat(self._folder)
        if folder.st_mtime_ns == self._seen_change and time.monotonic() < self._look_again:
            return True
        return self._follow_path(folder)

    def _follow_path(self, folder: os.stat_result) -> bool:
        try:
            status = os.lstat(self.path)
        except OSError:
            return False
        # Two changes within one tick of the clock look like one, so a fresh time stamp proves nothing yet.
        settled = time.time_ns() - folder.st_mtime_ns > _SETTLED_NS
        self._seen_change = folder.st_mtime_ns if settled else -1
        self._look_again = time.monotonic() + _TRUST_SECONDS
        return status.st_ino == self.inode and status.st_dev == self.device

    def append(self, data: bytes) -> int:
        """One ``write(2)``; returns the offset behind it. A short write is taken back."""
        try:
            written = os.write(self.descriptor, data)
        except OSError as error:
            store_error(error, self.path)
        end = os.lseek(self.descriptor, 0, os.SEEK_CUR)
        if written != len(data):
            if os.fstat(self.descriptor).st_size == end:  # unless somebody wrote behind it without the lock
                os.ftruncate(self.descriptor, end - written)
            raise StoreFullError(
                f"No space left to write {self.path}.", hint="Free space or raise the quota, then send again."
            )
        return end

    def close(self) -> None:
        """Release the file, and with it the lock."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
        if self._folder >= 0:
            os.close(self._folder)
            self._folder = -1

    def __del__(self) -> None:
        self.close()
