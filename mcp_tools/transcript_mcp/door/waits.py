"""Who waits for an answer: work ends when it is done, when its client leaves, or when the hub stops."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeVar

from aiohttp import web

from transcript_mcp.door.delivery import ClientLeftError, has_left

__all__ = ["StoppingError", "TimeIsOverError", "Waits"]

_T = TypeVar("_T")

_LOOK: Final = 0.5
"""Seconds between two looks at whether the clients are still there; one look is for all of them. aiohttp tells a
handler only by cancelling it.
"""


class StoppingError(Exception):
    """Raised for work that the hub cannot finish any more."""


class TimeIsOverError(Exception):
    """Raised for work that took longer than its client waits."""


class Waits:
    """Those who wait. For one event loop."""

    def __init__(self) -> None:
        self._waiting: dict[object, tuple[web.BaseRequest, Callable[[], object]]] = {}
        self._next_look: asyncio.TimerHandle | None = None
        self._is_closed: bool = False
        self._none_waits: asyncio.Event = asyncio.Event()

    async def until(self, request: web.BaseRequest, work: Coroutine[Any, Any, _T], seconds: float | None = None) -> _T:
        """What the work gives. Raises ClientLeftError, TimeIsOverError after ``seconds``, and StoppingError; the work
        is cancelled then.
        """
        if self._is_closed:
            work.close()
            raise StoppingError
        loop = asyncio.get_running_loop()
        limit = asyncio.timeout(seconds)

        def end() -> None:
            if not limit.expired():
                limit.reschedule(loop.time())

        try:
            async with limit:
                with self.told(request, end):
                    return await work
        except TimeoutError:
            if not limit.expired():
                raise  # the work's own
            if self._is_closed:
                raise StoppingError from None
            if has_left(request):
                raise ClientLeftError from None
            raise TimeIsOverError from None

    @contextmanager
    def told(self, request: web.BaseRequest, ended: Callable[[], object]) -> Iterator[None]:
        """Inside of this, ``ended`` is called when the client leaves or the hub stops; maybe several times."""
        key = object()
        self._waiting[key] = request, ended
        self._none_waits.clear()
        if self._next_look is None:
            self._next_look = asyncio.get_running_loop().call_later(_LOOK, self._look)
        try:
            yield
        finally:
            del self._waiting[key]
            if not self._waiting:
                self._none_waits.set()

    async def close(self, grace: float) -> None:
        """Give them ``grace`` seconds, then end what is left. No other begins."""
        if self._waiting and grace > 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._none_waits.wait(), grace)
        self._is_closed = True
        if self._next_look is not None:
            self._next_look.cancel()
        for _, ended in list(self._waiting.values()):
            ended()

    def _look(self) -> None:
        for request, ended in list(self._waiting.values()):
            if has_left(request):
                ended()
        waits = bool(self._waiting) and not self._is_closed
        self._next_look = asyncio.get_running_loop().call_later(_LOOK, self._look) if waits else None
