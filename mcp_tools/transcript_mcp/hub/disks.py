"""Whether there is room where the hub keeps its data. Only writing there tells it: quotas and reserves differ."""

import asyncio
import errno
import logging
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from nanobot_transcript.threads import in_thread

__all__ = ["EVERY", "Disks"]

logger = logging.getLogger(__name__)

EVERY: Final = 5.0
"""Seconds for which it is known: whoever asks more often is told the same, and costs nothing."""

_WRITTEN: Final = bytes(64 * 1024)
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class Disks:
    """The folders in which data is kept; those that are not there yet hold nothing that could not be written."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self._folders: tuple[Path, ...] = tuple(folders)
        self._known_until: float = 0.0
        self._look: asyncio.Future[bool] | None = None
        self._was_full: bool = False

    async def have_room(self) -> bool:
        """False when one of them is full. One look at a time, however many ask."""
        now = asyncio.get_running_loop().time()
        if self._look is None or (self._look.done() and now >= self._known_until):
            self._known_until = now + EVERY
            self._look = asyncio.ensure_future(in_thread(self._all_have_room))
        return await asyncio.shield(self._look)

    def _all_have_room(self) -> bool:
        full = next((folder for folder in _one_of_each_disk(self._folders) if _is_full(folder)), None)
        if full is not None and not self._was_full:
            logger.error("No space left in %s: /readyz says so until there is.", full)
        self._was_full = full is not None
        return full is None


def _one_of_each_disk(folders: Iterable[Path]) -> Iterable[Path]:
    found: dict[int, Path] = {}
    for folder in folders:
        try:
            found.setdefault(folder.stat().st_dev, folder)
        except OSError:
            continue
    return found.values()


def _is_full(folder: Path) -> bool:
    """Write a little there; the file has no name, or loses it at once, and leaves nothing behind."""
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as probe:
            left = memoryview(_WRITTEN)
            while left:
                left = left[probe.write(left) :]
            os.fsync(probe.fileno())
    except OSError as error:  # a folder that only others write to is none of readiness
        return error.errno in _FULL
    return False
