"""Marks for event loops where asking for them may wait for a network: read once, written in the background."""

import logging
import threading
import time
from collections.abc import Iterator
from typing import Any, Final

from nanobot_transcript.coordination.contract import Marks, digest_of
from nanobot_transcript.errors import StoreError, StoreUnavailableError
from nanobot_transcript.sql.outage import level_of

__all__ = ["DIGEST", "MarksBehind"]

logger = logging.getLogger(__name__)

DIGEST: Final = "digest_of_name"
"""A key in each document: the digest of its name, which the record does not tell otherwise."""
_SOON, _LATEST = 0.5, 5.0
"""Seconds until a failed write is tried again: at first, and at most."""

_Key = tuple[str, str]
"""The kind, and the digest of the name: names may be private, such as a chat's id."""


class MarksBehind:
    """The marks of some kinds, written only by this process, kept in memory and never waited for.

    A thread writes the newest document of each name, again and again until that succeeds. Marks that could not be read
    yet raise StoreUnavailableError, and are read as soon as possible. A kill loses what the thread has not written.
    """

    def __init__(self, marks: Marks, *kinds: str) -> None:
        """Reads the marks; call it in a thread that may wait."""
        self._marks: Marks = marks
        self._kinds: tuple[str, ...] = kinds
        self._documents: dict[_Key, dict[str, Any]] = {}
        """The one put last comes last."""
        self._unwritten: dict[_Key, tuple[tuple[str, ...], dict[str, Any]]] = {}
        self._is_read: bool = False
        self._changed: threading.Condition = threading.Condition()
        try:
            self._read()
        except StoreError as error:
            logger.log(level_of(error, logging.WARNING), "Marks cannot be read yet: %s", error)
        threading.Thread(target=self._run, name="marks", daemon=True).start()

    @property
    def blocking(self) -> bool:
        """False: nothing waits for a network."""
        return False

    def get(self, kind: str, *name: str) -> dict[str, Any] | None:
        """See ``Marks.get``."""
        with self._changed:
            found = self._documents.get((kind, digest_of(kind, name)))
            if found is None and not self._is_read:
                raise StoreUnavailableError("What was marked earlier is not known yet.", hint="It is asked for again.")
            return found

    def put(self, kind: str, document: dict[str, Any], *name: str) -> None:
        """See ``Marks.put``."""
        key = kind, digest_of(kind, name)
        kept = document | {DIGEST: key[1]}
        with self._changed:
            self._documents.pop(key, None)
            self._documents[key] = kept
            self._unwritten[key] = name, kept
            self._changed.notify_all()

    def has(self, kind: str, *name: str) -> bool:
        """See ``Marks.has``."""
        return self.get(kind, *name) is not None

    def each(self, kind: str) -> Iterator[dict[str, Any]]:
        """See ``Marks.each``."""
        with self._changed:
            return iter([document for (of, _), document in self._documents.items() if of == kind])

    def prune(self, kind: str, keep: int) -> int:
        """See ``Marks.prune``. Not for event loops."""
        with self._changed:
            keys = [key for key in self._documents if key[0] == kind]
            for key in keys[: max(0, len(keys) - keep)]:
                del self._documents[key]
                self._unwritten.pop(key, None)
        return self._marks.prune(kind, keep)

    def drain(self, timeout: float) -> bool:
        """Wait until everything is written; False when ``timeout`` seconds were not enough."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._unwritten, timeout)

    def _run(self) -> None:
        pause = _SOON
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._unwritten or not self._is_read)
            try:
                self._write_next() if self._is_read else self._read()
                pause = _SOON
            except StoreError as error:
                logger.log(
                    level_of(error, logging.WARNING), "Marks are kept in memory until they can be written: %s", error
                )
                time.sleep(pause)
                pause = min(2 * pause, _LATEST)

    def _read(self) -> None:
        found: dict[_Key, dict[str, Any]] = {}
        for kind in self._kinds:
            for document in self._marks.each(kind):
                if isinstance(digest := document.get(DIGEST), str):
                    found[kind, digest] = document
        with self._changed:
            self._documents = found | self._documents
            self._is_read = True

    def _write_next(self) -> None:
        with self._changed:
            key, job = next(iter(self._unwritten.items()))
        name, document = job
        self._marks.put(key[0], document, *name)
        with self._changed:
            if self._unwritten.get(key) is job:
                del self._unwritten[key]
            self._changed.notify_all()
