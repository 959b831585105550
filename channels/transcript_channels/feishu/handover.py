"""Events from a connection's thread to an event loop, never more than a bounded number at once."""

import asyncio
import queue
import threading
from collections.abc import AsyncIterator
from typing import Any

__all__ = ["EventQueue"]


class EventQueue:
    """``put`` from any thread, ``get`` on the event loop in which it was made.

    When ``maxsize`` events wait, ``put`` raises ``queue.Full``: as the last step of an ``on_event`` this makes the
    platform push the event again later, instead of letting memory fill.
    """

    def __init__(self, maxsize: int = 1000) -> None:
        self._loop: asyncio.AbstractEventLoop = asyncio.get_running_loop()
        self._events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._mutex: threading.Lock = threading.Lock()
        self._free: int = maxsize

    def put(self, event: dict[str, Any]) -> None:
        """Hand an event over; waits for nothing. Raises queue.Full, and RuntimeError when the loop is closed."""
        with self._mutex:
            if self._free <= 0:
                raise queue.Full("too many events are waiting")
            self._loop.call_soon_threadsafe(self._events.put_nowait, event)
            self._free -= 1

    async def get(self) -> dict[str, Any]:
        """The oldest event, as soon as there is one."""
        event = await self._events.get()
        with self._mutex:
            self._free += 1
        return event

    async def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        while True:
            yield await self.get()
