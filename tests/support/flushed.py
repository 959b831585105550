"""A record behind a spool, of which every write waits until the record has it and has said whether it was new: what a
spool changes in a line, and in its order, is left to be seen.
"""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support.waiting import PATIENCE

from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.entry import Entry
from nanobot_transcript.record import Record
from nanobot_transcript.record.spool.backend import SpooledBackend

__all__ = ["FlushedBackend", "spooled"]


class _Heard:
    """A backend over a network of which one hears what it has answered."""

    def __init__(self, far: Any) -> None:
        self._far: Any = far
        self.all_new: bool = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._far, name)

    def write_many(self, session_key: str, entries: Sequence[Entry], now_ms: float) -> list[bool]:
        answers: list[bool] = self._far.write_many(session_key, entries, now_ms)
        self.all_new = self.all_new and all(answers)
        return answers


class FlushedBackend(SpooledBackend):
    """See ``SpooledBackend``."""

    def __init__(self, far: Any, folder: Path) -> None:
        self._heard = _Heard(far)
        self._one = threading.Lock()
        heard: Any = self._heard
        super().__init__(heard, folder)

    def append(self, session_key: str, entry: Entry, max_wait: float | None = None) -> bool:
        """See ``StoreBackend``."""
        with self._one:
            self._heard.all_new = True
            return super().append(session_key, entry, max_wait) and self._flushed(session_key)

    def apply(self, session_key: str, op: Entry, max_wait: float | None = None) -> bool:
        """See ``StoreBackend``."""
        with self._one:
            self._heard.all_new = True
            written, is_new = super().apply(session_key, op, max_wait), self._flushed(session_key)
            # A redact goes to the record first, which answers, and knows it when it is handed on.
            return written and (is_new or op.get("op") == "redact")

    def _flushed(self, session_key: str) -> bool:
        assert self.flush(session_key, PATIENCE)
        return self._heard.all_new


def spooled(record: Record, folder: str) -> Record:
    """The record with its store behind a spool in ``folder``."""
    backend = FlushedBackend(record.store.backend, Path(folder))
    record.store = GroupTranscriptStore(backend=backend, members=record.members, retention=record.store.retention)
    return record
