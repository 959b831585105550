"""In a process of its own: what it costs to use a record. ``python -m benchmarks.scale.looking ACTION JSON``."""

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.samples import message
from benchmarks.scale.filling import key_of, opened
from nanobot_transcript.record import Record

_OFTEN, _FEW = 200, 3
_PAGE = 100
_MISSING = "stands in no message"


def look(place: str, chat: int, entries: int, began: float) -> dict[str, float]:
    """Milliseconds of each call (the median), and MiB. ``began`` is when this process was started."""
    key = key_of(chat)
    with opened(place) as record, opened(place) as other:
        store = record.store
        store.get_recent(key, 20)
        told = {"start": (time.monotonic() - began) * 1000}
        numbers = iter(range(1 << 30))
        prefix = f"om_look_{time.monotonic_ns()}_"

        def append(to: Record) -> Callable[[], object]:
            return lambda: to.store.append(key, *message(next(numbers), prefix))

        told["append"] = _median(append(record), _OFTEN)
        told["recent"] = _median(lambda: store.get_recent(key, 20), _OFTEN, append(other))
        told["page"] = _back(record, key, max(1, min(20, entries // _PAGE)))
        told["oldest"] = _median(lambda: store.read(key, None, _PAGE), _FEW)
        told["hit"] = _median(lambda: store.search(f"{entries // 2:08}", key, limit=1), _FEW)
        told["miss"] = _median(lambda: store.search(_MISSING, key), _FEW)
        told["anywhere"] = _median(lambda: store.search(_MISSING), _FEW)
        told["chats"] = _median(store.chats, _FEW)
        told["follow"] = asyncio.run(_follow(record, key, append(other)))
        told["memory"] = _most_memory()
    return told


def _most_memory() -> float:
    """MiB that this program had at the most; what ``getrusage`` says begins with the program that started it."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def _median(work: Callable[[], object], times: int, before: Callable[[], object] = lambda: None) -> float:
    took: list[float] = []
    for _ in range(times):
        before()
        began = time.perf_counter()
        work()
        took.append(time.perf_counter() - began)
    return median(took) * 1000


def _back(record: Record, key: str, pages: int) -> float:
    """Page by page from the end."""
    before: str | None = None

    def page() -> None:
        nonlocal before
        before = record.store.read_back(key, before, _PAGE).cursor

    return _median(page, pages)


async def _follow(record: Record, key: str, append: Callable[[], object]) -> float:
    """From the moment at which somebody else was told that a message is recorded."""
    late: list[float] = []
    entries = record.store.follow(key, await asyncio.to_thread(record.store.end, key))
    for _ in range(_OFTEN // 4):
        coming = asyncio.ensure_future(anext(entries))
        await asyncio.sleep(0.01)
        await asyncio.to_thread(append)
        told = time.perf_counter()
        await coming
        late.append(max(0.0, time.perf_counter() - told))
    await entries.aclose()
    return median(late) * 1000


def write(place: str, chat: int, count: int, spooled: bool) -> dict[str, Any]:
    """Append so many messages when told to; when that began and ended, and how long each took (ms, sorted)."""
    key, took = key_of(chat), list[float]()
    with tempfile.TemporaryDirectory() as folder:
        options = {"spool_dir": folder} if spooled else {"connections": 1} if "#" in place else {}
        with opened(place, **options) as record:
            record.store.append(key, *message(0, "om_first_"))
            assert record.store.flush(key, 60)
            print("ready", flush=True)
            sys.stdin.readline()
            began = time.monotonic()
            for number in range(count):
                at = time.perf_counter()
                record.store.append(key, *message(number, "om_write_"))
                took.append((time.perf_counter() - at) * 1000)
            assert record.store.flush(key, 600)
            ended = time.monotonic()
    return {"began": began, "ended": ended, "took": sorted(took)}


if __name__ == "__main__":
    print(json.dumps({"look": look, "write": write}[sys.argv[1]](**json.loads(sys.argv[2]))))
