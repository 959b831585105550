"""Waiting for a condition on the platform, and being told what happens there."""

# ruff: noqa: ASYNC109 - callers give a deadline in seconds; the waits themselves use asyncio.timeout

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

__all__ = ["PATIENCE", "Changes", "Notice"]

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

PATIENCE = 120.0
"""Seconds a test waits for what others do, by default: a busy machine gets there, what hangs does not."""
_RECHECK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Notice:
    """Something happened: ``kind`` says what, ``subject`` is the thing itself (a Message, Push, Call,
    Connection).

    Kinds: ``message``, ``edit``, ``recall``, ``card`` (a card changed), ``reaction``, ``push`` (sent),
    ``ack``, ``gave_up``, ``call``, ``connected``, ``disconnected``, ``ping``.
    """

    kind: str
    subject: Any
    details: dict[str, Any] = field(default_factory=dict)


class Changes:
    """Tells listeners of notices and wakes those who wait for a condition."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[Notice], None]] = []
        self._changed = asyncio.Event()

    def listen(self, listener: Callable[[Notice], None]) -> Callable[[], None]:
        """Call ``listener`` for each notice; returns the function that ends it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def tell(self, kind: str, subject: Any, **details: Any) -> None:
        """Something happened."""
        if self._listeners:
            notice = Notice(kind, subject, details)
            for listener in tuple(self._listeners):
                listener(notice)
        self._changed.set()

    async def wait_for(self, predicate: Callable[[], _T], timeout: float, what: str = "") -> _T:
        """Return the first true value of ``predicate()``; asked after each change and every 50 ms.

        Raises TimeoutError after ``timeout`` seconds.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        while not (value := predicate()):
            left = deadline - loop.time()
            if left <= 0:
                raise TimeoutError(f"waited {timeout:g} s in vain for {what or predicate}")
            self._changed.clear()
            try:
                async with asyncio.timeout(min(left, _RECHECK_SECONDS)):
                    await self._changed.wait()
            except TimeoutError:
                continue
        return value
