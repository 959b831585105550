"""Waits for work on behalf of a client, until it is done, the client disconnects or the hub stops."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeVar

from aiohttp import web

from transcript_mcp.door.delivery import ClientLeftError, has_left

__all__ = ["StoppingError", "TimeIsOverError", "Waits", "WorkCancelledError"]

_T = TypeVar("_T")

_LOOK: Final = 0.5
"""Seconds between two checks whether clients are still connected. The only other sign of a lost client is that aiohttp
cancels the handler, which is off by default (``handler_cancellation``); so one timer checks all connections.
"""


class StoppingError(Exception):
    """The hub is stopping and cannot finish the work."""


class TimeIsOverError(Exception):
    """The work took longer than its client waits."""


class WorkCancelledError(Exception):
    """The work raised CancelledError although nobody cancelled it: something that it waited for was cancelled."""


class Waits:
    """All waits of one event loop."""

    def __init__(self) -> None:
        self._waiting: dict[object, tuple[web.BaseRequest, Callable[[], object]]] = {}
        self._next_look: asyncio.TimerHandle | None = None
        self._is_closed: bool = False
        self._none_waits: asyncio.Event = asyncio.Event()

    async def until(self, request: web.BaseRequest, work: Coroutine[Any, Any, _T], seconds: float | None = None) -> _T:
        """The result of the work. Raises ClientLeftError, TimeIsOverError after ``seconds``, and StoppingError; then
        the work is cancelled, repeatedly if it goes on. Raises WorkCancelledError when the work ends cancelled by
        itself.
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
                task.cancel()  # it has swallowed the first cancellation

        try:
            async with limit:
                with self.on_end(request, end):
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
                raise  # our own task is being cancelled, from outside
            raise WorkCancelledError from error

    @contextmanager
    def on_end(self, request: web.BaseRequest, ended: Callable[[], object]) -> Iterator[None]:
        """Within the block, ``ended`` is called when the client disconnects or the hub stops, perhaps repeatedly."""
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
        """Accept no more work, wait ``grace`` seconds, then end what is left."""
        if self._waiting and grace > 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._none_waits.wait(), grace)
        self._is_closed = True
        for _, ended in list(self._waiting.values()):
            ended()  # and again at each check, as long as the work goes on

    def _look(self) -> None:
        self._next_look = asyncio.get_running_loop().call_later(_LOOK, self._look) if self._waiting else None
        for request, ended in list(self._waiting.values()):
            if self._is_closed or has_left(request):
                ended()
