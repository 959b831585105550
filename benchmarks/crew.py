"""Processes that append on command, so that baseline and store take turns within one run."""

import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from benchmarks.baselines import APPENDERS, Appender
from benchmarks.children import child
from benchmarks.samples import message

__all__ = ["Crew", "Speed"]

_ROOT = Path(__file__).resolve().parents[1]
_HEAD_START = 0.02


class Speed(NamedTuple):
    """Messages per second of all processes together, and how long one append took (microseconds)."""

    per_second: float
    p50_us: float
    p99_us: float


class Crew:
    """``size`` processes that share one folder."""

    def __init__(self, size: int, folder: Path) -> None:
        command = [sys.executable, "-m", "benchmarks.crew", str(folder)]
        env = os.environ | {"PYTHONPATH": str(_ROOT)}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "env": env, "text": True}
        with ExitStack() as begun:
            self._processes = [begun.enter_context(child([*command, str(n)], **pipes)) for n in range(size)]
            self._begun = begun.pop_all()

    def append(self, what: str, count: int) -> Speed:
        """Let everybody append ``count`` messages at once."""
        self._ask({"do": what, "count": 1})
        reports = self._ask({"do": what, "count": count})
        began = min(report["began"] for report in reports)
        ended = max(report["ended"] for report in reports)
        took = sorted(ns for report in reports for ns in report["took"])
        speed = len(took) / (ended - began) * 1e9
        return Speed(speed, took[len(took) // 2] / 1000, took[len(took) * 99 // 100] / 1000)

    def append_one(self, what: str) -> None:
        """Let the first process append a single message."""
        self._ask({"do": what, "count": 1}, head_start=0)

    def _ask(self, order: dict[str, Any], head_start: float = _HEAD_START) -> list[Any]:
        order["at"] = time.monotonic() + head_start
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write(json.dumps(order) + "\n")
            process.stdin.flush()
        return [json.loads(process.stdout.readline()) for process in self._processes if process.stdout is not None]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self._begun.close()


def _work(folder: Path, number: int) -> None:
    appenders: dict[str, Appender] = {}
    counter = 0
    for order in sys.stdin:
        wanted = json.loads(order)
        what, count = wanted["do"], wanted["count"]
        append = appenders.get(what) or appenders.setdefault(what, APPENDERS[what](folder))
        messages = [message(counter + n, f"om_{number}_") for n in range(count)]
        counter += count
        time.sleep(max(0.0, wanted["at"] - time.monotonic()))
        print(json.dumps(_timed(append, messages)), flush=True)


def _timed(append: Appender, messages: list[Any]) -> dict[str, Any]:
    clock = time.monotonic_ns
    took: list[int] = []
    began = last = clock()
    for one in messages:
        append(one)
        now = clock()
        took.append(now - last)
        last = now
    return {"began": began, "ended": last, "took": took}


if __name__ == "__main__":
    _work(Path(sys.argv[1]), int(sys.argv[2]))
