"""Long work beside the event loop, short work at once: a thread costs a small answer more than it takes."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from nanobot_transcript.threads import in_thread

__all__ = ["Aside"]

_Result = TypeVar("_Result")


class Aside:
    """Does one long work after the other: threads that compute keep the event loop waiting for its turn.

    What is done on ``at_once`` bytes is short.
    """

    def __init__(self, at_once: int = 1024 * 1024) -> None:
        self._at_once = at_once
        self._one = asyncio.Lock()

    async def __call__(self, size: int, function: Callable[..., _Result], *arguments: Any) -> _Result:
        """What the function gives; ``size`` is about how many bytes it works on."""
        if size <= self._at_once:
            return function(*arguments)
        async with self._one:
            return await in_thread(function, *arguments)
