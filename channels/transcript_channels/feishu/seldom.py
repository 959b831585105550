"""When to ask the platform for what hardly changes, because calls are counted."""

import threading
import time
from collections.abc import Callable, Hashable
from typing import Final

__all__ = ["Seldom"]

_AGAIN: Final = 86_400.0
_SOONER: Final = 300.0
_LATEST: Final = 6 * 3600.0


class Seldom:
    """Anything may be asked for at once, and again a day after the answer. What got none may be asked for five minutes
    later, and with each further failure after twice the time, up to six hours: perhaps the app may not know.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock: Callable[[], float] = clock
        self._due: dict[Hashable, float] = {}
        self._pauses: dict[Hashable, float] = {}
        self._mutex: threading.Lock = threading.Lock()

    def begin(self, what: Hashable) -> bool:
        """True when it is to be asked for now. Until it is ``answered`` that counts as a failure."""
        with self._mutex:
            now = self._clock()
            if now < self._due.get(what, now):
                return False
            pause = self._pauses.get(what, _SOONER)
            self._due[what], self._pauses[what] = now + pause, min(2 * pause, _LATEST)
            return True

    def answered(self, what: Hashable) -> None:
        """It is known now."""
        with self._mutex:
            self._due[what] = self._clock() + _AGAIN
            self._pauses.pop(what, None)
