"""Polls inboxes that have listeners, in one thread for all of them, which only runs while there are listeners."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

from nanobot_transcript.errors import TranscriptError

__all__ = ["Glances", "Inbox"]

_GLANCE_EVERY: Final = 0.1
_COMPARE_EVERY: Final = 1.0  # overwriting a file in place does not change the folder's mtime
_PAUSE: Final = 10.0  # after an inbox could not be read

logger = logging.getLogger(__name__)


class Inbox(Protocol):
    """A polled inbox."""

    def version(self) -> object:
        """Changes when a file is added or removed; cheap. Raises TranscriptError."""
        ...

    def edition(self) -> object:
        """Changes when a mail is added, removed or overwritten; compares all files. Raises TranscriptError."""
        ...


@dataclass(slots=True, eq=False)
class _Listener:
    told: Callable[[], object]
    seen: object


@dataclass(slots=True)
class _Watched:
    """The last known state of an inbox."""

    key: str
    inbox: Inbox
    listeners: set[_Listener] = field(default_factory=set["_Listener"])
    version: object = None
    edition: object = None
    compare_at: float = 0.0
    failing: bool = False

    def glance(self, now: float) -> None:
        """Check for changes."""
        if self.failing and now < self.compare_at:
            return
        try:
            version = self.inbox.version()
            if version != self.version or now >= self.compare_at:
                self.edition = self.inbox.edition()
                self.version, self.compare_at, self.failing = version, now + _COMPARE_EVERY, False
        except TranscriptError as error:
            if not self.failing:
                logger.warning("%s cannot be watched; trying again: %s", self.key, error)
            self.edition, self.compare_at, self.failing = object(), now + _PAUSE, True


class Glances:
    """Tells listeners that an inbox has changed. Thread-safe."""

    def __init__(self) -> None:
        self._mutex: Final = threading.Lock()
        self._watched: Final[dict[str, _Watched]] = {}
        self._thread: threading.Thread | None = None

    def listen(self, key: str, inbox: Inbox, told: Callable[[], object], seen: object = None) -> Callable[[], None]:
        """Call ``told`` in another thread whenever the inbox's edition differs from the last one, at first from
        ``seen``.

        Reads nothing itself, so it may be called on an event loop. Returns a function that ends it.
        """
        listener = _Listener(told, seen)
        with self._mutex:
            self._watched.setdefault(key, _Watched(key, inbox)).listeners.add(listener)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="filebox-glances", daemon=True)
                self._thread.start()

        def stop() -> None:
            with self._mutex:
                watched = self._watched.get(key)
                if watched is not None:
                    watched.listeners.discard(listener)
                    if not watched.listeners:
                        del self._watched[key]

        return stop

    def _run(self) -> None:
        while True:
            with self._mutex:
                if not self._watched:
                    self._thread = None
                    return
                all_watched = list(self._watched.values())
            for watched in all_watched:
                try:
                    watched.glance(time.monotonic())
                    self._tell(watched)
                except Exception:
                    logger.exception("Watching the inbox %s failed", watched.key)
            time.sleep(_GLANCE_EVERY)

    def _tell(self, watched: _Watched) -> None:
        with self._mutex:
            behind = [listener for listener in watched.listeners if listener.seen != watched.edition]
        for listener in behind:
            listener.seen = watched.edition
            listener.told()
