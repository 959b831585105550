"""Notices what any process has changed in the stores, for as long as somebody has the page open.

A look costs one ``stat`` per chat and file, in a thread; what changed is told by room, never what it says.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from nanobot_transcript.errors import TranscriptError
from transcript_mcp.hub.web.events import Events
from transcript_mcp.sdk.threads import in_thread

__all__ = ["Look", "Looking", "stamp", "stamps"]

logger = logging.getLogger(__name__)

_EVERY: Final = 0.25

Look: TypeAlias = "Callable[[], Mapping[tuple[tuple[str, str], ...], Any]]"
"""What there is in a room, as news about it (pairs of names and values) and how it looks now."""


class Looking:
    """Looks again and again with all ``looks`` (by room) and tells ``events`` what is different."""

    def __init__(self, events: Events, looks: Mapping[str, Look], *, every: float = _EVERY) -> None:
        self._events = events
        self._looks = looks
        self._every = every
        self._seen: dict[str, Mapping[tuple[tuple[str, str], ...], Any]] = {}

    async def run(self) -> None:
        """Until it is cancelled. Nothing is looked at while nobody listens."""
        while True:
            if not self._events.viewers:
                self._seen.clear()
                await self._events.came.wait()
            for room, look in self._looks.items():
                await self._again(room, look)
            await asyncio.sleep(self._every)

    async def _again(self, room: str, look: Look) -> None:
        try:
            found = await in_thread(look)
        except (TranscriptError, OSError) as error:
            logger.debug("%s cannot be looked at: %s", room, error)
            return
        except Exception:
            logger.exception("%s cannot be looked at", room)
            return
        before = self._seen.get(room)
        self._seen[room] = found
        if before is None:
            return
        for news in [key for key, value in found.items() if before.get(key) != value]:
            self._events.tell(room, **dict(news))
        if any(key not in found for key in before):
            self._events.tell(room)


def stamp(path: Path | str) -> tuple[int, int, int] | None:
    """When a file was written last, its size and which file it is; None where there is none."""
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def stamps(folder: Path, ending: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """The files of a folder that end so, with when they were written last and their size."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(ending):
                    found = entry.stat(follow_symlinks=False)
                    yield entry.name, (found.st_mtime_ns, found.st_size)
    except OSError:
        return
