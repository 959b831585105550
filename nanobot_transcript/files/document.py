"""One small JSON document in the store's hidden folder, shared by all processes.

Writers take a lock, read, merge and replace the whole file; readers need no lock, because they always see either the
old or the new file. The first key of a document is its format version ``v``.
"""

import contextlib
import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from nanobot_transcript.errors import StoreError, StoreFullError, StoreUnavailableError, UnsafePathError
from nanobot_transcript.files.descriptors import NOT_PLAIN, to_read
from nanobot_transcript.files.layout import make_folders
from nanobot_transcript.files.os_errors import FULL
from nanobot_transcript.files.replace import write_whole

__all__ = ["FileStamp", "Snapshot", "StateFile"]

logger = logging.getLogger(__name__)

FileStamp: TypeAlias = tuple[int, int, int]
"""Modification time (ns), size and inode of a file: while they are the same, nobody has replaced it."""


class Snapshot(NamedTuple):
    """The result of reading; ``document`` is empty unless the state is ``ok``."""

    state: Literal["ok", "absent", "broken", "newer"]
    document: dict[str, Any]
    signature: FileStamp | None


class StateFile:
    """The document ``<folder>/<name>`` of format ``version`` and its lock ``<folder>/locks/<stem>.lock``.

    ``shape`` is a type against which msgspec checks a document; keys it does not name survive.
    """

    def __init__(self, folder: Path, name: str, *, version: int, shape: Any) -> None:
        self.folder: Path = folder
        self.path: Path = folder / name
        self.version: int = version
        self._shape: Any = shape
        self._path: str = os.fspath(self.path)
        self._lock_path: Path = folder / "locks" / f"{self.path.stem}.lock"

    def signature(self) -> FileStamp | None:
        """The current signature, None without a file. Raises UnsafePathError for a link or a foreign kind of file."""
        try:
            found = os.lstat(self._path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise self._failure("read", error) from error
        self._refuse_foreign_kind(found.st_mode)
        return _signature(found)

    def read(self) -> Snapshot:
        """The whole document. Creates nothing; raises StoreError kinds."""
        try:
            self._refuse_linked_folder()
            descriptor = to_read(self._path)
        except (FileNotFoundError, NotADirectoryError):
            return Snapshot("absent", {}, None)
        except OSError as error:
            raise self._failure("read", error) from error
        with os.fdopen(descriptor, "rb") as file:
            return self._decode(file.read(), _signature(os.fstat(descriptor)))

    @contextlib.contextmanager
    def locked(self, timeout: float) -> Iterator[bool]:
        """Hold the lock between processes; yields False when it was not free within ``timeout`` seconds."""
        import filelock  # takes 60 ms, and most processes never write

        try:
            make_folders(self.folder.parent, self._lock_path.parent)
            lock = filelock.FileLock(self._lock_path, timeout=timeout, mode=0o600, poll_interval=0.005)
            lock.acquire()
        except filelock.Timeout:
            yield False
            return
        except OSError as error:
            raise self._failure("lock", error) from error
        try:
            yield True
        finally:
            lock.release()

    def write(self, document: dict[str, Any]) -> FileStamp:
        """Replace the file; call it under the lock. Raises StoreError kinds; then the old file stays."""
        body = msgspec.json.encode({"v": self.version} | document | {"v": self.version})
        try:
            return _signature(write_whole(self._path, body))
        except OSError as error:
            raise self._failure("write", error) from error

    def move_aside(self) -> Path | None:
        """Keep an unreadable file as ``<name>.broken-<n>`` for a person to look at; call it under the lock."""
        for number in range(1, 1000):
            aside = self.path.with_name(f"{self.path.name}.broken-{number}")
            if os.path.lexists(aside):
                continue
            try:
                self.path.rename(aside)
            except FileNotFoundError:
                return None
            except OSError as error:
                raise self._failure("move aside", error) from error
            logger.warning("%s cannot be read; it is kept as %s and replaced", self.path, aside.name)
            return aside
        return None

    def remove_broken(self) -> None:
        """Remove the files that ``move_aside`` kept."""
        for aside in self.folder.glob(f"{self.path.name}.broken-*"):
            try:
                aside.unlink(missing_ok=True)
            except OSError as error:
                raise self._failure("remove", error) from error

    def _decode(self, body: bytes, signature: FileStamp) -> Snapshot:
        try:
            document = msgspec.json.decode(body)
            version = document["v"]
            if isinstance(version, int) and version > self.version:
                return Snapshot("newer", {}, signature)
            msgspec.convert(document, self._shape)
        except (msgspec.MsgspecError, UnicodeDecodeError, TypeError, KeyError, RecursionError):
            return Snapshot("broken", {}, signature)
        return Snapshot("ok", document, signature)

    def _refuse_linked_folder(self) -> None:
        for folder in (self.folder, self._lock_path.parent):
            if folder.is_symlink():
                raise UnsafePathError(
                    f"{folder} is a symbolic link.",
                    hint="Put a real directory there; store.dir moves the whole store elsewhere.",
                )

    def _refuse_foreign_kind(self, mode: int) -> None:
        if not stat.S_ISREG(mode):
            kind = "a symbolic link" if stat.S_ISLNK(mode) else "not a regular file"
            raise UnsafePathError(f"{self.path} is {kind}.", hint="Remove it; the store rebuilds the file.")

    def _failure(self, verb: str, error: OSError) -> StoreError:
        sentence = f"Cannot {verb} {self.path}: {error.strerror or error}."
        if error.errno in FULL:
            return StoreFullError(sentence, hint="Free some space, or move the store with store.dir.")
        if error.errno in NOT_PLAIN:
            return UnsafePathError(sentence, hint="Remove it; the store rebuilds the file.")
        return StoreUnavailableError(sentence, hint="Check that the directory exists and belongs to this user.")


def _signature(found: os.stat_result) -> FileStamp:
    return (found.st_mtime_ns, found.st_size, found.st_ino)
