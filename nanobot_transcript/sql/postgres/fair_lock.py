"""A lock between threads that is granted in the order of asking."""

import threading
from collections import deque

__all__ = ["TurnLock"]


class TurnLock:
    """One thread has it, the others queue. With a plain lock some would wait long while others get it again and
    again.
    """

    def __init__(self) -> None:
        self._mutex: threading.Lock = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._is_taken: bool = False

    def take(self, max_wait: float) -> bool:
        """True when it was granted within ``max_wait`` seconds."""
        with self._mutex:
            if not self._is_taken:
                self._is_taken = True
                return True
            mine = threading.Lock()
            mine.acquire()
            self._waiting.append(mine)
        if mine.acquire(timeout=max_wait):
            return True
        with self._mutex:
            if mine not in self._waiting:
                return True  # it was granted at this very moment
            self._waiting.remove(mine)
            return False

    def give_on(self) -> None:
        """Pass it to the thread that has waited longest."""
        with self._mutex:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._is_taken = False
