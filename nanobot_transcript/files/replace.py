"""Replacing a small file as a whole, so that readers see the old or the new content and never half of one."""

import contextlib
import os
import re
import threading
import time
from typing import Final

from nanobot_transcript.files.descriptors import root_folder, to_write_anew

__all__ = ["force_folder", "sweep", "write_whole"]

_FRESH: Final = re.compile(r".+\.\d+-\d+\.new")
_LEFT: Final = 3600.0
"""Seconds after which an unfinished file belongs to a process that was killed."""


def write_whole(path: str, data: bytes, *, sync: bool = False, mode: int = 0o600) -> os.stat_result:
    """Replace ``path`` by ``data``; with ``sync`` the data is on the disk before the old file goes.

    Returns ``fstat`` of the new file. Raises OSError; then the old file stays.
    """
    fresh = f"{path}.{os.getpid()}-{threading.get_ident()}.new"
    try:
        with os.fdopen(to_write_anew(fresh), "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            if sync:
                os.fdatasync(file.fileno())
            status = os.fstat(file.fileno())
        os.rename(fresh, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(fresh)
        raise
    return status


def sweep(folder: str | os.PathLike[str]) -> None:
    """Remove unfinished files of killed processes below a folder. Never raises: the next call will do."""
    for place, _, names in os.walk(folder):
        for name in filter(_FRESH.fullmatch, names):
            path = os.path.join(place, name)
            with contextlib.suppress(OSError):
                if os.lstat(path).st_mtime < time.time() - _LEFT:
                    os.unlink(path)


def force_folder(path: str | os.PathLike[str]) -> None:
    """Sync a folder's entries to the disk, so that a power cut does not undo renames and new files in it.

    Raises OSError.
    """
    folder = root_folder(path)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
