"""Leases and budgets for code on an event loop: in place where that takes microseconds, else in a thread."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from nanobot_transcript.coordination.contract import Budget, Grant, Lease

__all__ = ["AsyncBudget", "AsyncLease", "ask"]

_P = ParamSpec("_P")
_T = TypeVar("_T")


class AsyncLease:
    """The same calls as ``Lease``, awaited."""

    def __init__(self, lease: Lease) -> None:
        self.plain: Lease = lease

    async def acquire(self, name: str, holder: str, ttl: float) -> Grant | None:
        """See ``Lease.acquire``. Cancelled, it gives back what it may still get."""
        if not self.plain.blocking:
            return self.plain.acquire(name, holder, ttl)
        import asyncio  # whoever awaits this has it already; importing the turns must not cost it

        asking = asyncio.ensure_future(asyncio.to_thread(self.plain.acquire, name, holder, ttl))
        try:
            return await asyncio.shield(asking)
        except asyncio.CancelledError:
            grant = await asking
            if grant is not None:
                await self.release(grant)
            raise

    async def renew(self, grant: Grant, ttl: float) -> Grant | None:
        """See ``Lease.renew``."""
        return await ask(self.plain.blocking, self.plain.renew, grant, ttl)

    async def release(self, grant: Grant) -> None:
        """See ``Lease.release``."""
        return await ask(self.plain.blocking, self.plain.release, grant)

    async def current(self, name: str) -> Grant | None:
        """See ``Lease.current``."""
        return await ask(self.plain.blocking, self.plain.current, name)


class AsyncBudget:
    """The same call as ``Budget``, awaited."""

    def __init__(self, budget: Budget) -> None:
        self.plain: Budget = budget

    async def take(self, name: str, cost: int = 1, *, limit: int, window: float) -> bool:
        """See ``Budget.take``."""
        return await ask(self.plain.blocking, self.plain.take, name, cost, limit=limit, window=window)


async def ask(blocking: bool, call: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """What a plain call gives: made in place, or in a thread when it is ``blocking``."""
    if not blocking:
        return call(*args, **kwargs)
    import asyncio  # whoever awaits this has it already; importing the turns must not cost it

    return await asyncio.to_thread(call, *args, **kwargs)
