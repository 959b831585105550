"""Agent Assistant: how long an answer takes to the caller that waits for it, and how large the hub is with many.

The clients cost next to nothing (``answering``). The baseline is a bare relay on the same HTTP server, which keeps
nothing: the ratio says what everything else costs.
"""

import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from benchmarks.answering import bursts, held
from benchmarks.children import child
from benchmarks.context import Context
from benchmarks.hubs import ROOT, resident, served
from benchmarks.table import Bar, Row

__all__ = ["assistant"]

_AT_ONCE = 50
_MANY = 200
_FAST = Bar("<=", 5, of="value")


def assistant(context: Context) -> Generator[Row]:
    """The hub and the relay in turns, then the hub's memory."""
    counts = {1: context.scaled(200), _AT_ONCE: context.scaled(20)}
    with context.folder() as folder, served(Path(folder)) as hub, _relay() as relay:

        def compared(rounds: int, count: int) -> dict[str, float]:
            return {name: _p50(port, rounds, count) for name, port in (("hub", hub.port), ("relay", relay))}

        for count, rounds in counts.items():
            name = "assistant answer to caller p50" + (f", {count} at once" if count > 1 else "")
            yield _row(name, context.measured(name, lambda rounds=rounds, count=count: compared(rounds, count)))
        with held(hub.port, _MANY, _MANY):
            memory = resident(hub.pid)
    name = f"assistant memory, {_MANY} sockets and questions"
    yield Row(name, "MB", memory, "—", None, [memory], Bar("<=", 120, of="value"))


def _row(name: str, runs: list[dict[str, float]]) -> Row:
    ours, theirs = ([run[kind] for run in runs] for kind in ("hub", "relay"))
    ratios = [one / other for one, other in zip(ours, theirs, strict=True)]
    return Row(name, "ms", median(ours), "a bare relay", median(theirs), ratios, _FAST)


def _p50(port: int, rounds: int, count: int) -> float:
    return median(median(times) for times in bursts("assistant", port, rounds, count))


@contextmanager
def _relay() -> Iterator[int]:
    command = [sys.executable, "-m", "benchmarks.relay"]
    with child(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline())
