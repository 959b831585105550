"""Which processes are alive: each holds a lock on its own file, which the kernel frees when the process ends."""

import contextlib
import fcntl
import os
import threading
from pathlib import Path
from uuid import uuid4

from nanobot_transcript.coordination.contract import is_id
from nanobot_transcript.errors import StoreError
from nanobot_transcript.files.descriptors import open_append
from nanobot_transcript.files.layout import make_folders
from nanobot_transcript.files.lock import is_held
from nanobot_transcript.files.os_errors import store_error

__all__ = ["FileProcesses"]


class FileProcesses:
    """``Processes`` in the folder ``base / name``. Creates nothing before the first ``join``."""

    def __init__(self, base: Path, name: str) -> None:
        self._base: Path = base
        self._folder: Path = base / name
        self._mutex: threading.Lock = threading.Lock()
        self._id: str | None = None
        self._pid: int = os.getpid()
        self._descriptor: int = -1

    def join(self) -> str:
        """See ``Processes.join``."""
        with self._mutex:
            if self._pid != os.getpid():
                self._id, self._pid = None, os.getpid()  # forked: that id is the parent's
            if self._id is None:
                self.tidy()
                make_folders(self._base, self._folder)
                name = uuid4().hex
                self._descriptor = self._locked(name)
                self._id = name
            return self._id

    def alive(self, other: str) -> bool:
        """See ``Processes.alive``."""
        if other == self._id:
            return True
        if not is_id(other):
            return False  # ``join`` never returns such an id, and as a path it could lead anywhere
        path = self._folder / other
        try:
            return is_held(path)
        except OSError as error:
            store_error(error, str(path))

    def tidy(self) -> None:
        """Remove the files of processes that have ended."""
        with contextlib.suppress(OSError):
            for path in self._folder.iterdir():
                with contextlib.suppress(OSError, StoreError):  # a foreign file in the folder does no harm
                    if not self.alive(path.name):
                        path.unlink(missing_ok=True)

    def leave(self) -> None:
        """See ``Processes.leave``."""
        with self._mutex:
            if self._id is not None and self._pid == os.getpid():
                with contextlib.suppress(OSError):
                    (self._folder / self._id).unlink(missing_ok=True)
                os.close(self._descriptor)
                self._id, self._descriptor = None, -1

    def _locked(self, name: str) -> int:
        path = self._folder / name
        while True:
            descriptor = open_append(str(path))
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_ino == os.fstat(descriptor).st_ino:
                    return descriptor
            os.close(descriptor)  # another process removed it between the two calls
