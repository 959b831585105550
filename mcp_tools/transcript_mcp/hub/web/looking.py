"""Notices what any process has changed, for as long as somebody has the page open.

What changed is told by room, never what it says. Rooms whose files lie on this machine alone are looked at again and
again: a look costs one ``stat`` per file, in a thread.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

from nanobot_transcript.errors import TranscriptError
from transcript_mcp.hub.web.events import Events
from transcript_mcp.sdk.threads import in_thread

__all__ = ["Look", "Looking", "Tell", "Watch", "looked_at", "stamp"]

logger = logging.getLogger(__name__)

_EVERY: Final = 0.25
_AFTER_TROUBLE: Final = 1.0


class Tell(Protocol):
    """Tell the pages of one room that there is something new."""

    def __call__(self, **news: Any) -> None: ...


Watch: TypeAlias = Callable[[Tell, Callable[[], None]], Awaitable[None]]
"""Tells what changes in a room, without end, from the moment on in which it has called the second: it has looked."""

Look: TypeAlias = "Callable[[], Mapping[tuple[tuple[str, str], ...], Any]]"
"""What there is in a room, as news about it (pairs of names and values) and how it looks now."""


class Looking:
    """Runs all ``watches`` (by room) while somebody listens to ``events``."""

    def __init__(self, events: Events, watches: Mapping[str, Watch]) -> None:
        self._events = events
        self._watches = watches

    async def run(self) -> None:
        """Until it is cancelled. Nothing is looked at while nobody listens."""
        while True:
            await self._events.came.wait()
            tasks = [asyncio.create_task(self._watch(room, watch)) for room, watch in self._watches.items()]
            try:
                await self._events.gone.wait()
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _watch(self, room: str, watch: Watch) -> None:
        tell, missed = partial(self._events.tell, room), False

        def looked() -> None:
            if missed:
                tell()  # whatever happened meanwhile

        while True:
            try:
                await watch(tell, looked)
            except (TranscriptError, OSError) as error:
                logger.debug("%s cannot be read: %s", room, error)
            except Exception:
                logger.exception("%s cannot be read", room)
            missed = True
            await asyncio.sleep(_AFTER_TROUBLE)


def looked_at(look: Look, every: float = _EVERY) -> Watch:
    """Look again and again, every so many seconds, and tell what is different."""

    async def watch(tell: Tell, looked: Callable[[], None]) -> None:
        before = await in_thread(look)
        looked()
        while True:
            await asyncio.sleep(every)
            found = await in_thread(look)
            for news in [key for key, value in found.items() if before.get(key) != value]:
                tell(**dict(news))
            if any(key not in found for key in before):
                tell()
            before = found

    return watch


def stamp(path: Path | str) -> tuple[int, int, int] | None:
    """When a file was written last, its size and which file it is; None where there is none."""
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
