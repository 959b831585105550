"""Waiting for something that another thread or process does and tells nobody about."""

import asyncio
from collections.abc import Callable
from typing import Final

__all__ = ["PATIENCE", "until"]

PATIENCE: Final = 180.0
"""Seconds after which a test gives up what it waits for: only what hangs takes that long, never a busy machine."""


async def until(true: Callable[[], object]) -> None:
    """Return when ``true()`` is; raises TimeoutError when patience is over."""
    async with asyncio.timeout(PATIENCE):
        while not true():  # noqa: ASYNC110 - for what tells nobody
            await asyncio.sleep(0.02)
