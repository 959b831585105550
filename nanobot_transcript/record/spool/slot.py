"""A process's own place in the spool directory: a numbered folder that it holds by a lock.

The kernel frees the lock when the process ends, however it ends; then another process takes over the place, and hands
on what was left there.
"""

import fcntl
import os
import shutil
from collections.abc import Container, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Self

from nanobot_transcript.files.descriptors import open_append
from nanobot_transcript.files.layout import make_folders
from nanobot_transcript.files.os_errors import store_error
from nanobot_transcript.files.replace import write_whole

__all__ = ["Slot", "folders_in", "slots_in"]


@dataclass(eq=False, slots=True)
class Slot:
    """``path`` is held until ``release``."""

    path: Path
    _lock: int

    @classmethod
    def claim(cls, base: Path, unless: Container[Path] = ()) -> Self:
        """The first place that nobody holds, which may have something left in it, else a new one. Raises StoreError
        kinds.
        """
        for number in count(1):
            path = base / str(number)
            if path in unless or (os.path.lexists(path) and not _is_folder(path)):
                continue
            make_folders(base, path)
            slot = cls._of(path)
            if slot is not None:
                return slot
        raise AssertionError

    @classmethod
    def left(cls, base: Path, unless: Container[Path]) -> Iterator[Self]:
        """The places of ended processes in which something is left; each is held from now on."""
        for path in slots_in(base):
            if path not in unless and folders_in(path) and (slot := cls._of(path)) is not None:
                yield slot

    @classmethod
    def _of(cls, path: Path) -> Self | None:
        lock = open_append(str(path / "lock"))
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        except BaseException:
            os.close(lock)
            raise
        _sweep(path)
        return cls(path, lock)

    def tell(self, trouble: str) -> None:
        """Note for other programs why nothing can be handed on; empty when it can. Never raises."""
        path = self.path / "trouble"
        with suppress(OSError):
            if trouble:
                write_whole(str(path), trouble.encode("utf-8", "replace"))
            else:
                path.unlink(missing_ok=True)

    def release(self) -> None:
        """Release it. In a forked child this does not affect the parent, which still holds it."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def slots_in(base: Path) -> list[Path]:
    """All places, held or not."""
    return _numbered(base)


def folders_in(path: Path) -> list[Path]:
    """The folders of a place, oldest first."""
    return _numbered(path)


def _numbered(base: Path) -> list[Path]:
    try:
        names = (path for path in base.iterdir() if path.name.isascii() and path.name.isdecimal())
        found = list(filter(_is_folder, names))
    except FileNotFoundError:
        return []
    except OSError as error:
        store_error(error, str(base))
    return sorted(found, key=lambda path: int(path.name))


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _sweep(path: Path) -> None:
    """Finish removing what a killed process had begun to remove."""
    for gone in path.glob("*.gone"):
        shutil.rmtree(gone, ignore_errors=True)
