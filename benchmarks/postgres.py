"""A record in PostgreSQL, beside plain statements of the same driver in the same database."""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.children import child
from benchmarks.context import Context
from benchmarks.samples import KEY, message
from benchmarks.table import Bar, Row
from nanobot_transcript.record import Record

__all__ = ["postgres"]

_ROOT: Final = Path(__file__).resolve().parents[1]
_GAP: Final = 0.01
"""Seconds between two messages that are followed."""
_SPOOLS: Final = 8
_DURABLE: Final = ("max_connections=200",)
"""As it comes: what is acknowledged is on the disk."""


def postgres(context: Context) -> Generator[Row]:
    """A server of its own, on loopback, with the settings that PostgreSQL comes with."""
    sys.path.insert(0, str(_ROOT / "tests"))  # the same server that the tests start
    from support.postgres import started_cluster

    with started_cluster(_DURABLE) as cluster:
        yield from _appending(context, cluster.url)
        yield from _following(context, cluster.url)
        yield from _looking(context, cluster.url)


def _appending(context: Context, url: str) -> Generator[Row]:
    chunks, count, each = context.scaled(10), 200, context.scaled(2000)

    def once() -> dict[str, float]:
        with _Bare(url) as bare, _record(url) as record:
            record.store.append(KEY, *message(0, "first"))
            turns = [(_rate(count, bare.insert), _rate(count, _appender(record, turn))) for turn in range(chunks)]
        speeds = {name: len(turns) / sum(1 / turn[at] for turn in turns) for at, name in enumerate(("bare", "one"))}
        return speeds | {"spools": _drained(url, each)}

    runs = context.measured("append", once)
    for name, key, floor in (("append, 1 process", "one", 0.6), ("append, 8 spools", "spools", 2.0)):
        ratios = [run[key] / run["bare"] for run in runs]
        ours, theirs = median(run[key] for run in runs), median(run["bare"] for run in runs)
        yield Row(name, "per s", ours, "INSERT … RETURNING", theirs, ratios, Bar(">=", floor))


def _appender(record: Record, turn: int) -> Callable[[int], object]:
    store, prefix = record.store, f"om_{turn}_{time.monotonic_ns()}_"
    return lambda number: store.append(KEY, *message(number, prefix))


def _drained(url: str, each: int) -> float:
    """Messages per second of eight processes, from the first one accepted to the last one in the database."""
    schema = f"spools_{time.monotonic_ns()}"
    code = f"from benchmarks.postgres import accept; accept({url!r}, {schema!r}, {each})"
    env = os.environ | {"PYTHONPATH": str(_ROOT)}
    with _Bare(url) as bare, _record(url, schema) as record, ExitStack() as running:
        record.store.append(KEY, *message(0, "first"))
        command = [sys.executable, "-c", code]
        processes = [
            running.enter_context(child([*command, str(number)], env=env, stdout=-1, text=True))
            for number in range(_SPOOLS)
        ]
        said = [process.communicate(timeout=300)[0].split() for process in processes]
        row = bare.connection.execute(f'SELECT count(*) FROM "{schema}".lines').fetchone()  # type: ignore[call-overload]
    assert row == (each * _SPOOLS + 1,), row
    return each * _SPOOLS / (max(float(end) for _, end in said) - min(float(begin) for begin, _ in said))


def accept(url: str, schema: str, count: int) -> None:
    """In a process of its own: accept so many messages, and end when they are handed on; prints when both were."""
    with tempfile.TemporaryDirectory() as folder, Record.open(url, schema=schema, spool_dir=folder) as record:
        key = f"{KEY}_{sys.argv[-1]}"
        print(time.monotonic())
        for number in range(count):
            record.store.append(key, *message(number))
        if not record.store.flush(key, 300):
            sys.exit(1)
        print(time.monotonic())


def _following(context: Context, url: str) -> Generator[Row]:
    count = context.scaled(300)

    def once() -> dict[str, float]:
        with _Bare(url) as bare, _record(url) as record:
            record.store.append(KEY, *message(0, "first"))
            trip = bare.round_trip(_GAP)
            late = asyncio.run(_arrivals(url, record, count))
        return {"trip": trip, "p50": _at(late, 0.5), "p99": _at(late, 0.99)}

    runs = context.measured("follow", once)
    for name, limit in (("p50", 3.0), ("p99", 60.0)):
        ratios = [run[name] / run["trip"] for run in runs]
        ours, trip = median(run[name] for run in runs), median(run["trip"] for run in runs)
        yield Row(f"follow {name}", "ms", ours * 1000, "round trip", trip * 1000, ratios, Bar("<=", limit))


async def _arrivals(url: str, record: Record, count: int) -> list[float]:
    """Seconds from the answer of ``append`` in another process to the arrival in this one."""
    schema = record.store.place.rpartition("schema ")[2].rstrip(")")
    code = f"from benchmarks.postgres import write; write({url!r}, {schema!r}, {count})"
    env = os.environ | {"PYTHONPATH": str(_ROOT)}
    arrived: list[float] = []
    entries = record.store.follow(KEY, record.store.end(KEY))
    first = asyncio.ensure_future(anext(entries))
    await asyncio.sleep(0.3)
    with child([sys.executable, "-c", code], env=env, stdout=-1, text=True) as process:
        async with asyncio.timeout(120):
            await first
            arrived.append(time.monotonic())
            async for _ in entries:
                arrived.append(time.monotonic())
                if len(arrived) == count:
                    break
        assert process.stdout is not None
        written = [float(line) for line in process.stdout.read().split()]
    await entries.aclose()
    return [max(0.0, seen - told) for seen, told in zip(arrived, written, strict=True)]


def write(url: str, schema: str, count: int) -> None:
    """In a process of its own: messages ten milliseconds apart, and when each was acknowledged."""
    with Record.open(url, schema=schema) as record:
        acknowledged: list[float] = []
        for number in range(count):
            time.sleep(_GAP)
            record.store.append(KEY, *message(number, "follow_"))
            acknowledged.append(time.monotonic())
    print("\n".join(map(str, acknowledged)))


def _looking(context: Context, url: str) -> Generator[Row]:
    """``get_recent`` of a process that has looked before."""
    count = context.scaled(300)

    def once() -> dict[str, float]:
        with _Bare(url) as bare, _record(url) as record, _same(url, record) as other:
            for number in range(200):
                other.store.append(KEY, *message(number))
            record.store.get_recent(KEY)
            trip, unchanged, changed = bare.round_trip(), list[float](), list[float]()
            for number in range(count):
                unchanged.append(_timed(lambda: record.store.get_recent(KEY)))
                other.store.append(KEY, *message(number, "later_"))
                changed.append(_timed(lambda: record.store.get_recent(KEY)))
        return {"trip": trip, "unchanged": median(unchanged), "changed": median(changed)}

    runs = context.measured("get_recent", once)
    named = (("get_recent(20), unchanged", "unchanged", 4.0), ("get_recent(20), a foreign append", "changed", 4.0))
    for name, key, limit in named:
        ratios = [run[key] / run["trip"] for run in runs]
        ours, trip = median(run[key] for run in runs), median(run["trip"] for run in runs)
        yield Row(name, "ms", ours * 1000, "round trip", trip * 1000, ratios, Bar("<=", limit))


class _Bare:
    """The driver alone, with a table that has a key and nothing else."""

    def __init__(self, url: str) -> None:
        import psycopg

        self.connection: psycopg.Connection[Any] = psycopg.connect(url, autocommit=True)
        self.connection.execute("CREATE TABLE IF NOT EXISTS bare (id bigserial PRIMARY KEY, line bytea NOT NULL)")

    def insert(self, number: int) -> None:
        line = repr(message(number)).encode()
        self.connection.execute("INSERT INTO bare (line) VALUES (%s) RETURNING id", (line,)).fetchone()

    def round_trip(self, gap: float = 0.0) -> float:
        """Seconds for a statement that does nothing, with so many seconds between: what rests takes time to wake."""
        return median(self._one_trip(gap) for _ in range(300))

    def _one_trip(self, gap: float) -> float:
        time.sleep(gap)
        return _timed(lambda: self.connection.execute("SELECT 1").fetchone())

    def __enter__(self) -> "_Bare":
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()


def _record(url: str, schema: str = "") -> Record:
    return Record.open(url, schema=schema or f"bench_{time.monotonic_ns()}")


def _same(url: str, record: Record) -> Record:
    return _record(url, record.store.place.rpartition("schema ")[2].rstrip(")"))


def _rate(count: int, work: Callable[[int], object]) -> float:
    began = time.monotonic()
    for number in range(count):
        work(number)
    return count / (time.monotonic() - began)


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _at(times: list[float], place: float) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * place))]
