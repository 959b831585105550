"""Whether the disks of the hub's data have free space. Only writing shows that: quotas and reserved blocks differ."""

import asyncio
import logging
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from nanobot_transcript.files.os_errors import FULL
from nanobot_transcript.threads import in_thread

__all__ = ["EVERY", "Disks"]

logger = logging.getLogger(__name__)

EVERY: Final = 5.0
"""Seconds for which a result is kept: probes that ask more often get the same answer without another write."""

_WRITTEN: Final = bytes(64 * 1024)


class Disks:
    """The folders in which data is kept. A folder that does not exist yet counts as having room."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self._folders: tuple[Path, ...] = tuple(folders)
        self._known_until: float = 0.0
        self._look: asyncio.Future[bool] | None = None
        self._was_full: bool = False

    async def have_room(self) -> bool:
        """False when one of them is full. However many ask, only one check runs at a time."""
        now = asyncio.get_running_loop().time()
        if self._look is None or (self._look.done() and now >= self._known_until):
            self._known_until = now + EVERY
            self._look = asyncio.ensure_future(in_thread(self._all_have_room))
        return await asyncio.shield(self._look)

    def _all_have_room(self) -> bool:
        full = next((folder for folder in _one_of_each_disk(self._folders) if _is_full(folder)), None)
        if full is not None and not self._was_full:
            logger.error("No space left in %s; /readyz answers 503 until there is.", full)
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
    """Write a little there, to a temporary file that has no name and so never stays behind."""
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as probe:
            left = memoryview(_WRITTEN)
            while left:
                left = left[probe.write(left) :]
            os.fsync(probe.fileno())
    except OSError as error:  # such as a read-only folder, which says nothing about readiness
        return error.errno in FULL
    return False
