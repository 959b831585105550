"""Which processes live: each holds a lock on a file of its own, which the kernel frees when the process ends."""

import contextlib
import fcntl
import os
import threading
from pathlib import Path
from uuid import uuid4

from nanobot_transcript.store.jsonl.layout import open_append, store_error

__all__ = ["Holder"]


class Holder:
    """This process, as the owner of what it has taken. For any thread."""

    def __init__(self, folder: Path) -> None:
        self._folder: Path = folder
        self.id: str = uuid4().hex
        self._descriptor: int | None = None
        self._mutex: threading.Lock = threading.Lock()

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
            descriptor = os.open(self._folder / other, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return True
        except OSError as error:
            store_error(error, str(self._folder / other))
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            os.close(descriptor)
        return True

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
                with contextlib.suppress(OSError):
                    (self._folder / self.id).unlink(missing_ok=True)
                os.close(self._descriptor)
                self._descriptor = None
                self.id = uuid4().hex
