"""Logging an outage of the database: once when it begins, and once when it ends."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from nanobot_transcript.errors import StoreError

__all__ = ["Outage"]

logger = logging.getLogger(__name__)

_SHORT: Final = 1.0
"""Seconds: a shorter outage is not worth a log line, and a command that fails at once reports it itself."""


class Outage:
    """Informed by whoever tries to connect. For any thread."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now: Callable[[], float] = now
        self._mutex: threading.Lock = threading.Lock()
        self._since: float | None = None
        self._is_told: bool = False
        self.then: Callable[[], object] = lambda: None
        """Called when the database is back."""

    def failed(self, error: StoreError) -> None:
        """It cannot be reached, with the reason."""
        with self._mutex:
            now = self._now()
            if self._since is None:
                self._since = now
            elif not self._is_told and now - self._since >= _SHORT:
                self._is_told = True
                logger.warning("%s %s Until it is back, this is not logged again.", error, error.hint)

    def over(self) -> None:
        """It was reached."""
        with self._mutex:
            was_away = self._since is not None
            if self._is_told and self._since is not None:
                logger.warning("The database is back after %.0f s.", self._now() - self._since)
            self._since, self._is_told = None, False
        if was_away:
            self.then()
