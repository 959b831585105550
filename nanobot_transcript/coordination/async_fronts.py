"""Leases and budgets for code on an event loop: called directly where that takes microseconds, else in a thread."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import ParamSpec, TypeVar

from nanobot_transcript.coordination.contract import Budget, Grant, Lease
from nanobot_transcript.errors import StoreError

__all__ = ["AsyncBudget", "AsyncLease", "ask"]

_P = ParamSpec("_P")
_T = TypeVar("_T")


@dataclass(eq=False, slots=True)
class AsyncLease:
    """The same calls as ``Lease``, awaited."""

    plain: Lease

    async def acquire(self, name: str, holder: str, ttl: float) -> Grant | None:
        """See ``Lease.acquire``. If it is cancelled, a lease that is still granted is given back."""
        if not self.plain.blocking:
            return self.plain.acquire(name, holder, ttl)
        import asyncio  # importing this module must not load asyncio

        asking = _Asking(self.plain, name, holder, ttl)
        try:
            return await asyncio.to_thread(asking.ask)
        except asyncio.CancelledError:
            # Not awaited: the database may be silent for a minute.
            asyncio.get_running_loop().run_in_executor(None, asking.give_up)
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


class _Asking:
    """One call of ``acquire`` in a thread, whose caller may be gone before it ends."""

    def __init__(self, lease: Lease, name: str, holder: str, ttl: float) -> None:
        self._lease: Lease = lease
        self._wanted: tuple[str, str, float] = (name, holder, ttl)
        self._mutex: Lock = Lock()
        self._given_up: bool = False
        self._grant: Grant | None = None

    def ask(self) -> Grant | None:
        grant = self._lease.acquire(*self._wanted)
        with self._mutex:
            self._grant = grant
            unwanted = self._given_up
        if unwanted:
            self._give_back()
        return grant

    def give_up(self) -> None:
        with self._mutex:
            self._given_up = True
        self._give_back()

    def _give_back(self) -> None:
        with self._mutex:
            grant, self._grant = self._grant, None
        if grant is not None:
            with suppress(StoreError):  # it expires by itself
                self._lease.release(grant)


@dataclass(eq=False, slots=True)
class AsyncBudget:
    """``Budget.take``, awaited."""

    plain: Budget

    async def take(self, name: str, cost: int = 1, *, limit: int, window: float) -> bool:
        """See ``Budget.take``."""
        return await ask(self.plain.blocking, self.plain.take, name, cost, limit=limit, window=window)


async def ask(blocking: bool, call: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """The result of a plain call: made directly, or in a thread when it is ``blocking``."""
    if not blocking:
        return call(*args, **kwargs)
    import asyncio  # importing this module must not load asyncio

    return await asyncio.to_thread(call, *args, **kwargs)
