"""What every benchmark gets: how much to do, where, and whom to tell."""

import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from benchmarks.samples import KEY, message
from nanobot_transcript import GroupTranscriptStore

__all__ = ["Context", "Stopped"]

_Result = TypeVar("_Result")


class Stopped(BaseException):
    """Somebody wants an end: Ctrl-C, or a signal by its ``number``."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@dataclass
class Context:
    """``quick`` does a tenth of the work and leaves the large files out. ``stopped`` is set when an end is wanted."""

    quick: bool
    runs: int
    place: str | None
    stopped: Stopped | None = None

    def measured(self, what: str, once: Callable[[], _Result], runs: int | None = None) -> list[_Result]:
        """The results of all runs; of those that were finished when somebody stopped it. Raises Stopped for none."""
        if self.stopped is not None:
            raise self.stopped
        results: list[_Result] = []
        runs = runs or self.runs
        try:
            for run in range(runs):
                self.say(f"{what}, run {run + 1} of {runs}")
                results.append(once())
        except Stopped as stopped:
            self.stopped = stopped
            if not results:
                raise
        return results

    def say(self, text: str) -> None:
        """Progress, for the person who waits: a line of the terminal that the next one replaces."""
        if sys.stderr.isatty():
            print(f"\r\033[K  {text}", end="", file=sys.stderr, flush=True)

    def tell(self, text: str) -> None:
        """A line that stays."""
        self.say("")
        print(f"\r{text}", file=sys.stderr, flush=True)

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
