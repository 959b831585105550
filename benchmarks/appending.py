"""How fast messages are recorded, alone and with eight processes on one chat."""

from collections.abc import Generator
from pathlib import Path
from statistics import median

from benchmarks.context import Context
from benchmarks.crew import Crew, Speed
from benchmarks.table import Bar, Row

__all__ = ["appending", "synchronous"]


def appending(context: Context) -> Generator[Row]:
    """Without waiting for the disk."""
    names = ["store", "naive", "raw-json", "raw", "sqlite"]
    alone = _race(context, 1, names, chunks=context.scaled(20), count=1000)
    yield _row("append, 1 process", alone, "naive", Bar(">=", 1.5, 2.5))
    yield _row("append, 1 process", alone, "raw-json", Bar(">=", 0.5, 0.65))
    yield _row("append, 1 process", alone, "raw", None)
    yield _row("append, 1 process", alone, "sqlite", None)
    crowd = _race(context, 8, ["store", "naive", "raw-json"], chunks=context.scaled(6), count=1000)
    yield _row("append, 8 processes", crowd, "naive", Bar(">=", 0.85))
    yield _row("append, 8 processes", crowd, "raw-json", None)
    yield _latency("append p99, 8 processes", crowd, "naive", Bar("<=", 1000, of="value"))


def synchronous(context: Context) -> Generator[Row]:
    """With ``fsync=always``: every acknowledged message is on the disk."""
    for size, count, floor in ((1, 100, 0.8), (8, 50, 0.35)):
        runs = context.runs + 2  # a disk is less even than a processor
        speeds = _race(context, size, ["store-sync", "raw-sync"], context.scaled(6), count, runs)
        name = f"append fsync=always, {size} process{'es' if size > 1 else ''}"
        yield _row(name, speeds, "raw-sync", Bar(">=", floor), candidate="store-sync")


Speeds = list[dict[str, Speed]]
"""For each run the speed of each contestant."""


def _race(context: Context, size: int, names: list[str], chunks: int, count: int, runs: int | None = None) -> Speeds:
    """Contestants take turns chunk by chunk, so that a busy moment of the machine hits them all."""

    def once() -> dict[str, Speed]:
        with context.folder() as folder, Crew(size, Path(folder)) as crew:
            turns = [{name: crew.append(name, count) for name in names} for _ in range(chunks)]
        return {name: _mean([turn[name] for turn in turns]) for name in names}

    return context.measured(f"{size} process(es)", once, runs)


def _mean(speeds: list[Speed]) -> Speed:
    total = len(speeds) / sum(1 / speed.per_second for speed in speeds)
    return Speed(total, median(speed.p50_us for speed in speeds), median(speed.p99_us for speed in speeds))


def _row(name: str, runs: Speeds, baseline: str, bar: Bar | None, candidate: str = "store") -> Row:
    ours = [run[candidate] for run in runs]
    theirs = [run[baseline] for run in runs]
    return Row(
        name,
        "per s",
        median(speed.per_second for speed in ours),
        baseline,
        median(speed.per_second for speed in theirs),
        [one.per_second / other.per_second for one, other in zip(ours, theirs, strict=True)],
        bar,
        f"p50 {median(s.p50_us for s in ours):.1f} µs, p99 {median(s.p99_us for s in ours):.1f} µs",
    )


def _latency(name: str, runs: Speeds, baseline: str, bar: Bar) -> Row:
    ours = [run["store"].p99_us for run in runs]
    theirs = [run[baseline].p99_us for run in runs]
    ratios = [one / other for one, other in zip(ours, theirs, strict=True)]
    return Row(name, "µs", median(ours), baseline, median(theirs), ratios, bar)
