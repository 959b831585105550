"""Waiting for something that another thread or process does and tells nobody about."""

import asyncio
from collections.abc import Callable

__all__ = ["until"]


async def until(true: Callable[[], object], timeout: float = 15.0) -> None:  # noqa: ASYNC109
    """Return when ``true()`` is; raises TimeoutError after ``timeout`` seconds."""
    async with asyncio.timeout(timeout):
        while not true():  # noqa: ASYNC110 - for what tells nobody
            await asyncio.sleep(0.02)
