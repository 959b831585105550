"""How the cost grows: one long chat, many chats, many processes; in files and in PostgreSQL."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.children import child
from benchmarks.context import Context
from benchmarks.scale.filling import Filled, fill, size_of
from benchmarks.table import Row, columns

__all__ = ["Point", "scale", "shown"]

_ROOT: Final = Path(__file__).resolve().parents[2]
_LENGTHS: Final = (10_000, 100_000, 1_000_000)
_CHATS: Final = (10, 100, 1000, 10_000)
_IN_EACH: Final = 10
_PROCESSES: Final = (1, 2, 4, 8, 16, 32)
_WRITES: Final = {"files": 40_000, "postgres": 6000, "spools": 40_000}
"""How many messages all processes write together."""
_UNITS: Final = {"memory": "MiB", "disk": "bytes per entry", "rate": "per s"}


@dataclass
class Point(Row):
    """What something costs at one ``size`` of an ``axis``. The baseline is the smallest size."""

    axis: str = ""
    where: str = ""
    what: str = ""
    size: int = 0


def scale(context: Context) -> Generator[Row]:
    """A server of its own, on loopback, with the settings that PostgreSQL comes with, and a folder beside it."""
    sys.path.insert(0, str(_ROOT / "tests"))  # the same server that the tests start
    from support.postgres import started_cluster

    shrunk = 10 if context.quick else 1
    with started_cluster(("max_connections=200",)) as cluster, context.folder() as folder:
        places = _Places(Path(folder), cluster.url)
        first: dict[tuple[str, str, str], float] = {}
        for size in (length // shrunk for length in _LENGTHS):
            yield from _points(context, "entries", size, first, places.looked(Filled(1, size)))
        for size in (chats // shrunk for chats in _CHATS if chats > shrunk):
            yield from _points(context, "chats", size, first, places.looked(Filled(size, _IN_EACH)))
        for size in _PROCESSES:
            yield from _points(context, "processes", size, first, places.written(size, shrunk))


_Found = Iterable[tuple[str, dict[str, float]]]


def _points(
    context: Context, axis: str, size: int, first: dict[tuple[str, str, str], float], found: _Found
) -> Generator[Row]:
    context.say(f"{size:,} {axis}")
    for where, told in found:
        for what, value in told.items():
            least = first.setdefault((axis, where, what), value)
            name = f"{where}, {size:,} {axis}: {what}"
            unit = _UNITS.get(what, "ms")
            ratio = value / least if least else 1.0
            yield Point(name, unit, value, "the smallest", least, [ratio], None, "", axis, where, what, size)


class _Places:
    """The same record in a folder and in a database, made anew for each size."""

    def __init__(self, folder: Path, url: str) -> None:
        self._folder: Path = folder
        self._url: str = url

    def looked(self, filled: Filled) -> _Found:
        """What it costs to use a record of that size."""
        files, database = self._new()
        fill(files, filled, [database])
        entries = filled.chats * filled.entries
        for where, place in (("files", files), ("postgres", database)):
            disk = size_of(place) / entries
            options = {"place": place, "chat": filled.chats // 2, "entries": filled.entries}
            yield where, _look(options) | {"disk": disk}
        shutil.rmtree(files)

    def written(self, processes: int, shrunk: int) -> _Found:
        """What so many processes write together, each into a chat of its own."""
        for where, count in _WRITES.items():
            files, database = self._new()
            place = files if where == "files" else database
            yield where, _write(place, processes, count // shrunk // processes, spooled=where == "spools")

    def _new(self) -> tuple[str, str]:
        name = f"scale_{time.monotonic_ns()}"
        return str(self._folder / name), f"{self._url}#{name}"


def _command(action: str, options: dict[str, Any]) -> list[str]:
    return [sys.executable, "-m", "benchmarks.scale.looking", action, json.dumps(options)]


def _look(options: dict[str, Any]) -> dict[str, float]:
    command = _command("look", options | {"began": time.monotonic()})
    with child(command, stdout=subprocess.PIPE, text=True, cwd=_ROOT) as process:
        return json.loads(process.communicate()[0])


def _write(place: str, processes: int, each: int, *, spooled: bool) -> dict[str, float]:
    with ExitStack() as running:
        started = [
            running.enter_context(
                child(
                    _command("write", {"place": place, "chat": chat, "count": each, "spooled": spooled}),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    cwd=_ROOT,
                    env=os.environ | {"PYTHONUNBUFFERED": "1"},
                )
            )
            for chat in range(processes)
        ]
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in started:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        told = [json.loads(process.communicate()[0]) for process in started]
    seconds = max(one["ended"] for one in told) - min(one["began"] for one in told)
    took = sorted(value for one in told for value in one["took"])
    return {"rate": processes * each / seconds, "append": median(took), "append_p99": took[int(len(took) * 0.99)]}


def shown(rows: Sequence[Any]) -> str:
    """A table for each axis: a line for each size, a column for each thing that was measured."""
    return "\n\n".join(
        _table([row for row in rows if row.axis == axis]) for axis in dict.fromkeys(r.axis for r in rows)
    )


def _table(points: Sequence[Point]) -> str:
    whats = list(dict.fromkeys(point.what for point in points))
    found = {(point.where, point.size, point.what): point for point in points}
    lines = list(dict.fromkeys((point.where, point.size) for point in points))
    head = ("", points[0].axis, *(f"{what} ({_UNITS.get(what, 'ms')})" for what in whats))
    return columns([head, *((where, f"{size:,}", *_cells(found, where, size, whats)) for where, size in sorted(lines))])


def _cells(found: dict[tuple[str, int, str], Point], where: str, size: int, whats: Sequence[str]) -> Iterable[str]:
    for what in whats:
        value = found[where, size, what].measured
        yield f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
