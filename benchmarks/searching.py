"""Finding text in a million lines without an index of words."""

import time
from collections.abc import Callable, Generator
from pathlib import Path
from statistics import median

from benchmarks.baselines import naive_search, scan
from benchmarks.context import Context
from benchmarks.samples import KEY
from benchmarks.table import Bar, Row
from nanobot_transcript import GroupTranscriptStore

__all__ = ["searching"]

_LINES = 1_000_000
_CASES = (
    ("text that occurs nowhere", "并不存在的句子", Bar("<=", 150, of="value")),
    ("a word in every line", "会议记录", Bar("<=", 1000, of="value")),
    ("a word in every line, never in a text", "role", None),
    ("one old message", "00000001 ", None),
)


def searching(context: Context) -> Generator[Row]:
    """Each search is the first one of a new store object."""
    lines = context.scaled(_LINES)
    with context.folder() as folder:
        context.fill(Path(folder), lines).close()
        paths = sorted(Path(folder).glob("*.jsonl"))
        for what, query, bar in _CASES:
            runs = context.measured(f"search: {what}", lambda query=query: _compare(Path(folder), paths, query))
            ours, theirs = [ms for ms, _ in runs], [ms for _, ms in runs]
            ratios = [one / other for one, other in runs]
            name = f"search {lines / 1e6:g}M lines: {what}"
            yield Row(name, "ms", median(ours), "scan", median(theirs), ratios, None if context.quick else bar)
        context.say("search the naive way")
        naive = _milliseconds(lambda: naive_search(paths, _CASES[0][1], 20))
        ours = _milliseconds(lambda: _search(Path(folder), _CASES[0][1]))
        yield Row(f"search {lines / 1e6:g}M lines: {_CASES[0][0]}", "ms", ours, "naive", naive, [ours / naive])


def _compare(folder: Path, paths: list[Path], query: str) -> tuple[float, float]:
    return _milliseconds(lambda: _search(folder, query)), _milliseconds(lambda: scan(paths, query))


def _search(folder: Path, query: str) -> None:
    with GroupTranscriptStore(folder) as store:
        store.search(query, KEY, 20)


def _milliseconds(call: Callable[[], object]) -> float:
    began = time.perf_counter_ns()
    call()
    return (time.perf_counter_ns() - began) / 1e6
