"""Who waits for the answer to a call, and whether they are still there."""

import asyncio
from collections.abc import Awaitable
from typing import Any, Final

from aiohttp import web

from transcript_mcp.assistant.refusals import RefusedError
from transcript_mcp.door.delivery import has_left

__all__ = ["Callers"]

_LOOK: Final = 1.0
"""Seconds between two looks at whether the caller is still there."""


class Callers:
    """Everybody who waits. One look every now and then tells who has left."""

    def __init__(self) -> None:
        self._limits: dict[asyncio.Timeout, web.Request] = {}
        self._looking: asyncio.TimerHandle | None = None

    async def until(self, request: web.Request, work: Awaitable[Any]) -> Any:
        """What the work gives, unless the caller leaves or has said how long it waits at the most."""
        left = _milliseconds(request.headers.get("Connect-Timeout-Ms"))
        try:
            async with asyncio.timeout(None if left is None else left / 1000) as limit:
                self._limits[limit] = request
                if self._looking is None:
                    self._look()
                try:
                    return await work
                finally:
                    del self._limits[limit]
        except TimeoutError:
            if has_left(request):
                raise RefusedError("canceled", "The caller has disconnected.") from None
            why = "The caller's own timeout has passed; ask again with the same ID."
            raise RefusedError("deadline_exceeded", why) from None

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        for limit, request in self._limits.items():
            if has_left(request) and not limit.expired():
                limit.reschedule(loop.time())
        self._looking = loop.call_later(_LOOK, self._look) if self._limits else None


def _milliseconds(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) <= 10 else None
