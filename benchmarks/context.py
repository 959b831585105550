"""What every benchmark gets: how much to do, where, and whom to tell."""

import sys
import tempfile
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.samples import KEY, message
from nanobot_transcript import GroupTranscriptStore

__all__ = ["Context"]


@dataclass(frozen=True)
class Context:
    """``quick`` does a tenth of the work and leaves the large files out."""

    quick: bool
    runs: int
    place: str | None

    def say(self, text: str) -> None:
        """Progress, for the person who waits."""
        print(f"\r\033[K  {text}", end="", file=sys.stderr, flush=True)

    def scaled(self, count: int) -> int:
        """How often to do something."""
        return max(1, count // 10) if self.quick else count

    def folder(self) -> AbstractContextManager[str]:
        """A folder that is removed afterwards."""
        return tempfile.TemporaryDirectory(prefix="transcript-bench-", dir=self.place)

    def fill(self, folder: Path, count: int) -> GroupTranscriptStore:
        """A store with ``count`` messages, written the way every message is."""
        store = GroupTranscriptStore(folder)
        began = time.monotonic()
        for number in range(count):
            store.append(KEY, *message(number))
            if number % 100_000 == 0:
                self.say(f"writing {count:,} messages: {number:,} in {time.monotonic() - began:.0f} s")
        return store
