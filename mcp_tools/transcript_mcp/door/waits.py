"""Who waits for an answer: work ends when it is done, when its client leaves, or when the hub stops."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeVar

from aiohttp import web

from transcript_mcp.door.delivery import ClientLeftError, has_left

__all__ = ["StoppingError", "TimeIsOverError", "Waits", "WorkCancelledError"]

_T = TypeVar("_T")

_LOOK: Final = 0.5
"""Seconds between two looks at whether the clients are still there; one look is for all of them. aiohttp tells a
handler only by cancelling it.
"""


class StoppingError(Exception):
    """Raised for work that the hub cannot finish any more."""


class TimeIsOverError(Exception):
    """Raised for work that took longer than its client waits."""


class WorkCancelledError(Exception):
    """Raised for work that ended as if it had been cancelled, which nobody did: what it waited for was."""


class Waits:
    """Those who wait. For one event loop."""

    def __init__(self) -> None:
        self._waiting: dict[object, tuple[web.BaseRequest, Callable[[], object]]] = {}
        self._next_look: asyncio.TimerHandle | None = None
        self._is_closed: bool = False
        self._none_waits: asyncio.Event = asyncio.Event()

    async def until(self, request: web.BaseRequest, work: Coroutine[Any, Any, _T], seconds: float | None = None) -> _T:
        """What the work gives. Raises ClientLeftError, TimeIsOverError after ``seconds``, and StoppingError; the work
        is cancelled then, again and again until it ends. Raises WorkCancelledError for what is no answer either.
        """
        if self._is_closed:
            work.close()
            raise StoppingError
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        limit, before = asyncio.timeout(seconds), task.cancelling()

        def end() -> None:
            if not limit.expired():
                limit.reschedule(loop.time())
            else:
                task.cancel()  # it was told so, and goes on

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
        except asyncio.CancelledError as error:
            if task.cancelling() > before:
                raise  # whoever waits here is cancelled
            raise WorkCancelledError from error

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
        for _, ended in list(self._waiting.values()):
            ended()  # and again at each look, as long as it goes on

    def _look(self) -> None:
        self._next_look = asyncio.get_running_loop().call_later(_LOOK, self._look) if self._waiting else None
        for request, ended in list(self._waiting.values()):
            if self._is_closed or has_left(request):
                ended()
