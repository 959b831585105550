"""The server's clock: hosts that share a database may disagree about the time, and it decides."""

import time
from typing import TYPE_CHECKING, Any, Final

from nanobot_transcript.errors import StoreBusyError

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    import psycopg

__all__ = ["NOW", "ServerClock"]

_EVERY: Final = 30.0
"""Seconds between two looks at the server's clock; in between, time goes on here as it does there."""
_STALE: Final = 60.0
"""Seconds after which the last look is too old. Longer than ``_EVERY``: a caller that was lent a connection a moment
ago, within a transaction, must not ask for another one.
"""

NOW: Final = "extract(epoch FROM clock_timestamp())::float8"
"""Seconds since 1970 by the server's clock, as SQL; unlike ``now()`` it goes on within a transaction."""

_ASK: Final = f"SELECT {NOW}"
_STEADY: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # goes on while the machine sleeps


class ServerClock:
    """Seconds since 1970 by the clock of a server. For any thread. Raises StoreError kinds.

    The engine looks at it on the connections it lends out, so that a caller within a transaction needs no second one;
    ``borrow`` is for callers that have none.
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
            except StoreBusyError:  # all are in use, maybe by the caller: what was seen last is still good
                if self._looked is None:
                    raise
                self._looked = time.clock_gettime(_STEADY) - _STALE + _EVERY
        return time.clock_gettime(_STEADY) + self._ahead

    def forget(self) -> None:
        """The server may be another one from now on."""
        self._looked = None

    def look(self, connection: "psycopg.Connection[Any]") -> None:
        """See how far the server's clock is ahead of the one here, right to half of the way there and back; not when
        that was seen a moment ago.
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
