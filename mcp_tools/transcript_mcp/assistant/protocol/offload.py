"""Runs long computations in a thread and short ones at once: handing over to a thread costs more than those take."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from nanobot_transcript.threads import in_thread

__all__ = ["Offload"]

_Result = TypeVar("_Result")


class Offload:
    """Runs one long computation at a time: each computing thread makes the event loop wait for the GIL.

    Work on up to ``at_once`` bytes counts as short.
    """

    def __init__(self, at_once: int = 1024 * 1024) -> None:
        self._at_once = at_once
        self._one = asyncio.Lock()

    async def __call__(self, size: int, function: Callable[..., _Result], *arguments: Any) -> _Result:
        """The function's result. ``size``: roughly the bytes that it works on."""
        if size <= self._at_once:
            return function(*arguments)
        async with self._one:
            return await in_thread(function, *arguments)
