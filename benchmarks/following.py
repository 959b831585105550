"""How soon another process sees a message."""

import asyncio
import json
import os
import sys
import time
from collections.abc import Generator
from pathlib import Path
from statistics import median

from benchmarks.children import child
from benchmarks.context import Context
from benchmarks.samples import KEY
from benchmarks.table import Bar, Row
from nanobot_transcript import GroupTranscriptStore

__all__ = ["following"]

_ROOT = Path(__file__).resolve().parents[1]
_GAP = 0.01
_POLL = 0.02


def following(context: Context) -> Generator[Row]:
    """Messages ten milliseconds apart, from the call of ``append`` to their arrival in the follower."""
    count = context.scaled(200)

    def once() -> dict[str, list[float]]:
        with context.folder() as folder:
            return {how: asyncio.run(_arrivals(Path(folder) / how, how, count)) for how in ("follow", "poll")}

    runs = context.measured("follow", once)
    for name, place, limit in (("p50", 0.5, 1.0), ("p99", 0.99, 10.0)):
        ours = [_at(run["follow"], place) for run in runs]
        theirs = [_at(run["poll"], place) for run in runs]
        ratios = [one / other for one, other in zip(ours, theirs, strict=True)]
        yield Row(f"follow {name}", "ms", median(ours), "poll", median(theirs), ratios, Bar("<=", limit, of="value"))


async def _arrivals(base_dir: Path, how: str, count: int) -> list[float]:
    store = GroupTranscriptStore(base_dir)
    store.append(KEY, "user", "0", "on_ada")
    code = f"from benchmarks.following import write; write({str(base_dir)!r}, {count})"
    env = os.environ | {"PYTHONPATH": str(_ROOT)}
    follow = _follow if how == "follow" else _poll
    watching = asyncio.create_task(follow(store, store.end(KEY), count))
    await asyncio.sleep(0.05)
    try:
        with child([sys.executable, "-c", code], env=env):
            async with asyncio.timeout(60):
                return await watching
    finally:
        store.close()


async def _follow(store: GroupTranscriptStore, after: str, count: int) -> list[float]:
    late: list[float] = []
    async for entry in store.follow(KEY, after):
        late.append((time.monotonic_ns() - int(entry["content"])) / 1e6)
        if len(late) == count:
            break
    return late


async def _poll(store: GroupTranscriptStore, after: str, count: int) -> list[float]:
    """The simplest way: look at the file's size every now and then, and decode what is new."""
    (path,) = store.base_dir.glob("*.jsonl")
    late: list[float] = []
    done = path.stat().st_size
    while len(late) < count:
        await asyncio.sleep(_POLL)
        if path.stat().st_size == done:
            continue
        with path.open("rb") as file:
            file.seek(done)
            lines = file.read().splitlines()
            done = file.tell()
        now = time.monotonic_ns()
        late += [(now - int(json.loads(line)["content"])) / 1e6 for line in lines]
    return late


def write(base_dir: str, count: int) -> None:
    """In a process of its own: messages that say when they were sent."""
    store = GroupTranscriptStore(base_dir)
    store.get_recent(KEY)
    for _ in range(count):
        time.sleep(_GAP)
        store.append(KEY, "user", str(time.monotonic_ns()), "on_ada")


def _at(times: list[float], place: float) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * place))]
