"""The server's clock: hosts that share a database may disagree about the time, and it decides."""

import threading
import time
from typing import Final

from nanobot_transcript.sql.postgres.engine import Engine

__all__ = ["ServerClock"]

_EVERY: Final = 30.0
"""Seconds between two looks at the server's clock; in between, time goes on here as it does there."""

_NOW: Final = "SELECT extract(epoch FROM clock_timestamp())::float8"
_STEADY: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # goes on while the machine sleeps


class ServerClock:
    """Seconds since 1970 by the clock of an engine's server. For any thread. Raises StoreError kinds."""

    def __init__(self, engine: Engine) -> None:
        self._engine: Engine = engine
        self._mutex: threading.Lock = threading.Lock()
        self._asked: float | None = None
        self._ahead: float = 0.0

    def __call__(self) -> float:
        with self._mutex:
            steady = time.clock_gettime(_STEADY)
            if self._asked is None or steady - self._asked > _EVERY:
                self._ahead = self._looked()
                self._asked = steady
            return time.clock_gettime(_STEADY) + self._ahead

    def _looked(self) -> float:
        """How far the server's clock is ahead of the one here: right to half of the way there and back."""
        with self._engine.connection() as connection:
            before = time.clock_gettime(_STEADY)
            row = connection.execute(_NOW).fetchone()
            after = time.clock_gettime(_STEADY)
        assert row is not None
        return float(row[0]) - (before + after) / 2
