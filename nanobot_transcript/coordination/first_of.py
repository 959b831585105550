"""Waiting for the first of several things."""

import asyncio
from collections.abc import Coroutine
from typing import Any

__all__ = ["first_of"]


async def first_of(*waiting: Coroutine[Any, Any, object]) -> None:
    """Wait until one of them ends; the others are cancelled. Raises what that one raised."""
    tasks = [asyncio.ensure_future(each) for each in waiting]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()
