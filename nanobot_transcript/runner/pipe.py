"""A bounded queue with an end: what ``asyncio.Queue`` learned only in Python 3.13."""

import asyncio
from collections import deque
from typing import Generic, Self, TypeVar

__all__ = ["Pipe"]

_T = TypeVar("_T")


class Pipe(Generic[_T]):
    """Items in order. ``async for`` ends when the pipe is closed and empty."""

    def __init__(self, size: int) -> None:
        self._size: int = size
        self._items: deque[_T] = deque()
        self._closed: bool = False
        self._ready: asyncio.Event = asyncio.Event()
        self._room: asyncio.Event = asyncio.Event()
        self._room.set()

    def offer(self, item: _T) -> bool:
        """Put an item in, now. False when there is no room or the pipe is closed."""
        if self._closed or len(self._items) >= self._size:
            return False
        self._items.append(item)
        self._mark()
        return True

    async def put(self, item: _T) -> bool:
        """Put an item in as soon as there is room. False when the pipe is closed."""
        while not self.offer(item):
            if self._closed:
                return False
            await self._room.wait()
        return True

    def close(self) -> None:
        """Nothing more comes in; what is in can still be taken out."""
        self._closed = True
        self._mark()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> _T:
        while not self._items:
            if self._closed:
                raise StopAsyncIteration
            await self._ready.wait()
        item = self._items.popleft()
        self._mark()
        return item

    def __len__(self) -> int:
        return len(self._items)

    def _mark(self) -> None:
        for event, true in (
            (self._ready, self._closed or bool(self._items)),
            (self._room, self._closed or len(self._items) < self._size),
        ):
            if true:
                event.set()
            else:
                event.clear()
