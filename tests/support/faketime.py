"""A clock that only moves when somebody sleeps on it."""

import asyncio

__all__ = ["FakeTime"]


class FakeTime:
    """``clock()`` in seconds; ``sleep`` moves it and notes how long it was asked for."""

    def __init__(self) -> None:
        self.now: float = 1_000_000.0
        self.slept: list[float] = []

    def clock(self) -> float:
        """The time."""
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Let the time pass, and everybody else come to their turn."""
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)
