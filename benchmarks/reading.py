"""What the newest twenty messages cost: unchanged, after somebody else wrote, in long transcripts, at first sight."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.baselines import naive_recent, stat_and_copy, tail
from benchmarks.children import child
from benchmarks.context import Context
from benchmarks.crew import Crew
from benchmarks.samples import KEY
from benchmarks.table import Bar, Row
from nanobot_transcript import GroupTranscriptStore

__all__ = ["long_transcript", "recent"]

_ROOT = Path(__file__).resolve().parents[1]
LONG = 5_000_000
SHORT = 1000


def recent(context: Context) -> Generator[Row]:
    """``get_recent(20)`` of a short transcript."""

    def once() -> dict[str, float]:
        with context.folder() as folder, Crew(1, Path(folder)) as crew:
            store = context.fill(Path(folder) / "store", SHORT)
            took = _compare_recent(store, crew, context.scaled(300)) | {"naive": _time_naive(_path(store))}
            store.close()
        return took

    runs = context.measured("get_recent", once)
    yield _row("get_recent(20), unchanged", runs, "unchanged", "stat+copy", Bar("<=", 4))
    yield _row("get_recent(20), after a foreign append", runs, "changed", "stat+copy, changed", Bar("<=", 15))
    yield _row("get_recent(20), after a foreign append", runs, "changed", "naive", None, f"{SHORT} lines")


def long_transcript(context: Context) -> Generator[Row]:
    """The same in five million lines, and the very first look of a new process at them."""
    if context.quick:
        return
    with context.folder() as short, context.folder() as long:
        small, large = Path(short), Path(long)
        few = context.fill(small / "store", SHORT)
        many = context.fill(large / "store", LONG)
        with Crew(1, small) as short_crew, Crew(1, large) as long_crew:
            what = "get_recent of a long transcript"
            runs = context.measured(what, lambda: _compare_lengths(few, short_crew, many, long_crew))
        yield _row("get_recent(20), 5M lines, changed", runs, "long", "1k lines", Bar("<=", 1.5))
        few.close()
        many.close()
        yield from _first_reads(context, large / "store")


def _compare_recent(store: GroupTranscriptStore, crew: Crew, rounds: int) -> dict[str, float]:
    path, twenty = str(_path(store)), naive_recent(_path(store), 20)

    def ours() -> object:
        return store.get_recent(KEY, 20)

    def least() -> object:
        return stat_and_copy(path, twenty)

    unchanged = _in_turns(ours, least, rounds, calls=50)
    changed: dict[str, list[float]] = {"ours": [], "least": []}
    for _ in range(rounds):
        crew.append_one("store")
        changed["least"].append(_time(least))
        changed["ours"].append(_time(ours))
    return {
        "unchanged": unchanged[0],
        "stat+copy": unchanged[1],
        "changed": median(changed["ours"]),
        "stat+copy, changed": median(changed["least"]),
    }


def _compare_lengths(
    few: GroupTranscriptStore, short_crew: Crew, many: GroupTranscriptStore, long_crew: Crew
) -> dict[str, float]:
    took: dict[str, list[float]] = {"1k lines": [], "long": []}
    for _ in range(300):
        for name, store, crew in (("1k lines", few, short_crew), ("long", many, long_crew)):
            crew.append_one("store")
            took[name].append(_time(lambda store=store: store.get_recent(KEY, 20)))
    return {name: median(times) for name, times in took.items()}


def _first_reads(context: Context, base_dir: Path) -> Generator[Row]:
    """A process that has never seen the transcript; its memory is measured above what it had before."""
    for cold in (False, True):
        looks = context.measured("first read of a long transcript", lambda cold=cold: _first_look(base_dir, cold=cold))
        name = "first read, 5M lines" + (", not in the page cache" if cold else "")
        bar = None if cold else Bar("<=", 2000, of="value")
        yield _row(name, looks, "first", "tail", bar)
        if not cold:
            grown = [look["grown"] for look in looks]
            yield Row("first read, 5M lines: memory", "MB", median(grown), "—", None, grown, Bar("<=", 10, of="value"))


def _first_look(base_dir: Path, *, cold: bool) -> dict[str, float]:
    if cold:
        _evict(base_dir)
    code = f"from benchmarks.reading import look; look({str(base_dir)!r})"
    env = os.environ | {"PYTHONPATH": str(_ROOT)}
    with child([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE) as process:
        answer, _ = process.communicate(timeout=120)
    return json.loads(answer)


def look(base_dir: str) -> None:
    """In a process of its own: the first read, timed, beside the reading of the file's end."""
    end = max(Path(base_dir).glob("*.jsonl"), key=lambda path: path.stat().st_mtime)
    before = _memory("VmRSS")
    began = time.perf_counter_ns()
    tail(end)
    raw = time.perf_counter_ns() - began
    began = time.perf_counter_ns()
    found = GroupTranscriptStore(base_dir).get_recent(KEY, 20)
    took = time.perf_counter_ns() - began
    assert len(found) == 20
    grown = max(0, _memory("VmHWM") - before) / 1024
    print(json.dumps({"first": took / 1000, "tail": raw / 1000, "grown": grown}))


def _memory(name: str) -> int:
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith(name):
            return int(line.split()[1])
    return 0


def _evict(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY)
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)


def _in_turns(one: Callable[[], object], other: Callable[[], object], rounds: int, calls: int) -> tuple[float, float]:
    took: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for times, call in zip(took, (one, other), strict=True):
            times.append(_time(call, calls))
    return median(took[0]), median(took[1])


def _time(call: Callable[[], object], calls: int = 1) -> float:
    """Microseconds per call."""
    began = time.perf_counter_ns()
    for _ in range(calls):
        call()
    return (time.perf_counter_ns() - began) / calls / 1000


def _time_naive(path: Path) -> float:
    return _time(lambda: naive_recent(path, 20))


def _path(store: GroupTranscriptStore) -> Path:
    return max(store.base_dir.glob("*.jsonl"), key=lambda path: path.stat().st_mtime)


def _row(name: str, runs: list[dict[str, Any]], ours: str, baseline: str, bar: Bar | None, note: str = "") -> Row:
    measured, compared = (median(run[key] for run in runs) for key in (ours, baseline))
    ratios = [run[ours] / run[baseline] for run in runs]
    return Row(name, "µs", measured, baseline, compared, ratios, bar, note)
