"""Taking turns between the threads of a process, in the order in which they came."""

import threading
from collections import deque

__all__ = ["TurnLock"]


class TurnLock:
    """One has it, the others wait. A plain lock would let some wait for long while others get it again and again."""

    def __init__(self) -> None:
        self._mutex: threading.Lock = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._is_taken: bool = False

    def take(self, max_wait: float) -> bool:
        """Whether it came within ``max_wait`` seconds."""
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
                return True  # it came in this moment
            self._waiting.remove(mine)
            return False

    def give_on(self) -> None:
        """To who has waited longest."""
        with self._mutex:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._is_taken = False
