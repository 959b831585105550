"""The server's clock decides, because hosts that share a database may disagree about the time."""

import time
from typing import TYPE_CHECKING, Any, Final

from nanobot_transcript.errors import StoreBusyError

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    import psycopg

__all__ = ["NOW", "ServerClock"]

_EVERY: Final = 30.0
"""Seconds between two looks at the server's clock; in between, the local steady clock is added."""
_STALE: Final = 60.0
"""Seconds after which the last look is too old. Longer than ``_EVERY``, so that a caller that holds a connection within
a transaction never has to ask for a second one.
"""

NOW: Final = "extract(epoch FROM clock_timestamp())::float8"
"""Seconds since 1970 by the server's clock, as SQL; unlike ``now()`` it goes on within a transaction."""

_ASK: Final = f"SELECT {NOW}"
_STEADY: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # also counts while the machine sleeps


class ServerClock:
    """Seconds since 1970 by the clock of a server. For any thread. Raises StoreError kinds.

    The engine calls ``look`` on connections it lends out, so that a caller within a transaction needs no second one;
    ``borrow`` is for callers without a connection.
    """

    def __init__(self, borrow: "Callable[[], AbstractContextManager[psycopg.Connection[Any]]]") -> None:
        self._borrow: Callable[[], AbstractContextManager[psycopg.Connection[Any]]] = borrow
        self._looked: float | None = None
        self._ahead: float = 0.0

    def __call__(self) -> float:
        if self._is_older_than(_STALE):
            try:
                with self._borrow():
                    pass
            except StoreBusyError:  # all are in use, perhaps by the caller: the last look is still good enough
                if self._looked is None:
                    raise
                self._looked = time.clock_gettime(_STEADY) - _STALE + _EVERY
        return time.clock_gettime(_STEADY) + self._ahead

    def forget(self) -> None:
        """It may be another server from now on."""
        self._looked = None

    def look(self, connection: "psycopg.Connection[Any]") -> None:
        """Measure how far the server's clock is ahead, accurate to half of the round trip. Does nothing shortly after
        the last look.
        """
        if not self._is_older_than(_EVERY):
            return
        before = time.clock_gettime(_STEADY)
        row = connection.execute(_ASK).fetchone()
        after = time.clock_gettime(_STEADY)
        assert row is not None
        self._ahead, self._looked = float(row[0]) - (before + after) / 2, after

    def _is_older_than(self, seconds: float) -> bool:
        looked = self._looked  # another thread may forget it
        return looked is None or time.clock_gettime(_STEADY) - looked > seconds
