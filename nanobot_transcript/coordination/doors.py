"""Leases and budgets for code on an event loop: in place where that takes microseconds, else in a thread."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from nanobot_transcript.coordination.contract import Budget, Grant, Lease

__all__ = ["AsyncBudget", "AsyncLease"]

_P = ParamSpec("_P")
_T = TypeVar("_T")


class AsyncLease:
    """The same calls as ``Lease``, awaited."""

    def __init__(self, lease: Lease) -> None:
        self.plain: Lease = lease

    async def acquire(self, name: str, holder: str, ttl: float) -> Grant | None:
        """See ``Lease.acquire``."""
        return await _call(self.plain.blocking, self.plain.acquire, name, holder, ttl)

    async def renew(self, grant: Grant, ttl: float) -> Grant | None:
        """See ``Lease.renew``."""
        return await _call(self.plain.blocking, self.plain.renew, grant, ttl)

    async def release(self, grant: Grant) -> None:
        """See ``Lease.release``."""
        return await _call(self.plain.blocking, self.plain.release, grant)

    async def current(self, name: str) -> Grant | None:
        """See ``Lease.current``."""
        return await _call(self.plain.blocking, self.plain.current, name)


class AsyncBudget:
    """The same call as ``Budget``, awaited."""

    def __init__(self, budget: Budget) -> None:
        self.plain: Budget = budget

    async def take(self, name: str, cost: int = 1, *, limit: int, window: float) -> bool:
        """See ``Budget.take``."""
        return await _call(self.plain.blocking, self.plain.take, name, cost, limit=limit, window=window)


async def _call(blocking: bool, call: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    if not blocking:
        return call(*args, **kwargs)
    import asyncio  # whoever awaits this has it already; importing the turns must not cost it

    return await asyncio.to_thread(call, *args, **kwargs)
