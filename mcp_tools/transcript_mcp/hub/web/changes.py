"""Notices what any process has changed, for as long as somebody has the page open.

What changed is told by room, never what it says.
"""

import asyncio
import logging
from collections.abc import Mapping
from functools import partial
from typing import Final

from nanobot_transcript.errors import TranscriptError
from transcript_mcp.hub.web.events import Events
from transcript_mcp.page import Watch

__all__ = ["Looking"]

logger = logging.getLogger(__name__)

_AFTER_TROUBLE: Final = 1.0


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
