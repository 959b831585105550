"""Retries what the platform did not answer at the start, at growing intervals, until it does."""

import logging
import threading
from collections.abc import Callable, Sequence
from itertools import chain, repeat
from typing import Final

__all__ = ["PlatformQuestions"]

logger = logging.getLogger(__name__)

_DELAYS: Final = (5.0, 15.0, 60.0, 300.0, 1800.0)


class PlatformQuestions:
    """Retries questions, at most one for each name at a time. Each has a thread of its own, because the SDK's calls
    block and have no timeout. ``delays`` in seconds; the last one repeats.
    """

    def __init__(self, delays: Sequence[float] = _DELAYS) -> None:
        self.delays: Sequence[float] = delays
        self._under_way: set[str] = set()
        self._mutex: threading.Lock = threading.Lock()

    def again(self, name: str, answered: Callable[[], bool]) -> None:
        """Call ``answered`` after each delay until it returns True."""
        with self._mutex:
            if name in self._under_way:
                return
            self._under_way.add(name)
        threading.Thread(target=self._ask, args=(name, answered), name="group-transcript-asking", daemon=True).start()

    def _ask(self, name: str, answered: Callable[[], bool]) -> None:
        pause = threading.Event()
        try:
            for delay in chain(self.delays, repeat(self.delays[-1])):
                pause.wait(delay)
                if answered():
                    return
        except Exception:
            logger.exception(
                "Asking the platform again about %s failed; what it did not tell at the start stays unknown", name
            )
        finally:
            with self._mutex:
                self._under_way.discard(name)
