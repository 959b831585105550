"""Calls that are answered as a whole: each ends when it is done, when its client leaves, or when the hub stops."""

import asyncio
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

from aiohttp import web

from transcript_mcp.door.delivery import has_left

__all__ = ["Calls", "StoppingError"]

_Result = TypeVar("_Result")

_LOOK: Final = 0.5
"""Seconds between two looks at whether the clients are still there; one look is for all of them."""


class StoppingError(Exception):
    """Raised for a call that the hub cannot finish any more."""


class Calls:
    """The calls under way. For one event loop."""

    def __init__(self) -> None:
        self._open: dict[asyncio.Task[Any], web.BaseRequest] = {}
        self._next_look: asyncio.TimerHandle | None = None
        self._closed = False

    async def run(self, request: web.BaseRequest, work: Coroutine[Any, Any, _Result]) -> _Result:
        """What the work gives. Raises ConnectionResetError when the client has left and StoppingError when the hub
        stops; the work is cancelled then, as it is with the task that waits here."""
        if self._closed:
            work.close()
            raise StoppingError
        task = asyncio.create_task(work)
        self._open[task] = request
        if self._next_look is None:
            self._next_look = asyncio.get_running_loop().call_later(_LOOK, self._look)
        try:
            await asyncio.wait((task,))
        finally:
            del self._open[task]
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        if not task.cancelled():
            return task.result()
        raise StoppingError if self._closed else ConnectionResetError("the client has left")

    async def close(self, grace: float) -> None:
        """Give the calls ``grace`` seconds, then end them. No other begins."""
        if self._open:
            await asyncio.wait(list(self._open), timeout=grace)
        self._closed = True
        if self._next_look is not None:
            self._next_look.cancel()
        for task in self._open:
            task.cancel()

    def _look(self) -> None:
        for task, request in self._open.items():
            if has_left(request):
                task.cancel()
        waiting = bool(self._open)
        self._next_look = asyncio.get_running_loop().call_later(_LOOK, self._look) if waiting else None
