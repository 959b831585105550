"""A backend that keeps the promises of ``FarBackend``, over files: for spools where there is no engine."""

import json
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import InvalidEntryError, StoreBusyError, StoreUnavailableError
from nanobot_transcript.store.contract import DEFAULT_SEGMENT_BYTES, MaintenanceReport
from nanobot_transcript.store.jsonl.backend import JsonlBackend
from nanobot_transcript.store.lines.erasure import Purged

__all__ = ["FarFiles", "FaultyFar"]

_OPTIONS: dict[str, Any] = {
    "fsync": "never",
    "fsync_interval": 1.0,
    "segment_bytes": DEFAULT_SEGMENT_BYTES,
    "lock_timeout": 2.0,
}


class FarFiles(JsonlBackend):
    """``options`` are those of ``GroupTranscriptStore``; ``clock`` (ms) is that of the record, unlike its callers'."""

    def __init__(self, base: Path, *, clock: Callable[[], float] = lambda: time.time() * 1000, **options: Any) -> None:
        super().__init__(base, **{name: options.get(name, value) for name, value in _OPTIONS.items()})
        self._base = base
        self._clock = clock

    @property
    def blocking(self) -> bool:
        return True

    @property
    def append_blocks(self) -> bool:
        return True

    @property
    def address(self) -> str:
        return str(self._base)

    def identity(self) -> str:
        note = self._base / ".state" / "identity"
        if not note.exists():
            note.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileExistsError), note.open("x", encoding="utf-8") as file:
                file.write(uuid.uuid4().hex)
        return note.read_text(encoding="utf-8")

    def purge(
        self, session_key: str | None, *, senders: frozenset[str], before_ms: float | None
    ) -> list[MaintenanceReport]:
        note = {"at": self._clock(), "chat": session_key, "senders": sorted(senders), "before": before_ms}
        with self._purges.open("a", encoding="utf-8") as file:
            file.write(json.dumps(note) + "\n")
        return super().purge(session_key, senders=senders, before_ms=before_ms)

    @property
    def _purges(self) -> Path:
        (self._base / ".state").mkdir(parents=True, exist_ok=True)
        return self._base / ".state" / "purges.jsonl"

    def _purged(self, session_key: str) -> Iterable[Purged]:
        if not self._purges.exists():
            return
        for line in self._purges.read_text(encoding="utf-8").splitlines():
            note = json.loads(line)
            if note["chat"] in (None, session_key):
                yield Purged(note["at"], frozenset(note["senders"]), note["before"])

    def write_many(self, session_key: str, lines: Sequence[Entry], clock_ms: float) -> list[bool]:
        return self._write_all(session_key, lines, self._clock() - clock_ms)

    def _write_all(self, session_key: str, lines: Sequence[Entry], ahead: float) -> list[bool]:
        """``ahead``: milliseconds by which our clock was ahead of the lines' when they came."""
        purges = list(self._purged(session_key))
        return [self._write_one(session_key, line, line.get("rts", 0) + ahead, purges) for line in lines]

    def _write_one(self, session_key: str, line: Entry, received: float, purges: list[Purged]) -> bool:
        left: Entry | None = line
        for purge in purges:
            left = purge.left_of(left, received) if left is not None else None
        if left is None:
            return False
        if left.get("op") is None:
            return self.append(session_key, left)
        target = left.get("target", "")
        if left["op"] == "edit" and any(received < purge.at_ms for purge in purges):
            return self.get(session_key, target) is not None and self.apply(session_key, left)
        return self.apply(session_key, left)


class FaultyFar(FarFiles):
    """One that goes away: ``down`` nobody can ask; ``deaf`` reads are answered and nothing is written, nor of ``busy``
    chats; ``cut`` so many batches are written whose answer gets lost. ``poison``: a text that it can never take.
    """

    down = deaf = False
    cut = 0
    busy = frozenset[str]()
    poison = "\0"

    def __init__(self, base: Path, **options: Any) -> None:
        super().__init__(base, **options)
        self.batches: list[list[Entry]] = []
        self.on_write: Callable[[], object] = lambda: None

    def write_many(self, session_key: str, lines: Sequence[Entry], clock_ms: float) -> list[bool]:
        ahead = self._clock() - clock_ms
        self.on_write()
        if self.down or self.deaf:
            raise _away()
        if session_key in self.busy:
            raise StoreBusyError("Somebody holds this chat.", hint="Try again.")
        if any(self.poison in line["content"] for line in lines):
            raise InvalidEntryError("No record can take this.")
        self.batches.append(list(lines))
        if self.cut:
            self.cut -= 1
            half = lines[: len(lines) // 2] if self.cut % 2 else lines
            self._write_all(session_key, half, ahead)
            raise _away()
        return self._write_all(session_key, lines, ahead)

    def __getattribute__(self, name: str) -> Any:
        if name in _ASKED and self.down:
            raise _away()
        return super().__getattribute__(name)


_ASKED = frozenset(
    {
        *("apply", "changes", "chats", "end", "follow", "get", "get_many", "get_recent", "identity", "maintain"),
        *("purge", "purged_at", "read", "read_back", "recent", "scan", "search", "verify"),
    }
)


def _away() -> StoreUnavailableError:
    return StoreUnavailableError("The record cannot be asked.", hint="Start it.")
