"""A million lines into a database and back, while two processes go on talking and the move is killed now and then."""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.moves import NOW, write
from support.places import open_record
from support.postgres import in_a_schema, programs, started_cluster
from support.procs import Worker

from nanobot_transcript.record import Record
from nanobot_transcript.record.transfer.move import check
from nanobot_transcript.store import arguments

SoakRow = Callable[..., None]

SIZES = (600_000, 150_000, *[50_000] * 4, *[1000] * 50)
"""How many lines each chat has."""
KILLS = 3
TALKERS = (("Alpha", "Beta"), ("Gamma", "Delta"))
"""Who talks while it is moved in, and while it is moved out."""
HOURS = 3600.0

pytestmark = [
    pytest.mark.soak,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(programs() is None, reason="no PostgreSQL server"),
]


@pytest.fixture
def database() -> Iterator[str]:
    """As it comes: what is acknowledged is on the disk."""
    with started_cluster(()) as cluster:
        yield in_a_schema(cluster, "million")


def key_of(chat: int) -> str:
    return f"feishu:oc_{chat}"


def fill(place: Path) -> None:
    with open_record(place) as record:
        for chat, size in enumerate(SIZES):
            for start in range(0, size, 10_000):
                some = range(start, min(size, start + 10_000))
                texts = [(number, f"line {chat} {number} " + "x" * (number % 300)) for number in some]
                rows = [
                    arguments.entry("user", text, "on_ada", f"om_{chat}_{number}" if number % 4 else None, NOW, {})
                    for number, text in texts
                ]
                write(record, key_of(chat), rows)


def carried(source: str, target: str, said: Sequence[Path], soak_row: SoakRow) -> None:
    """Move, killed three times, while two talk in the source; and once more when they have stopped."""
    dice, began, kills = random.Random(7), time.monotonic(), 0
    workers = [Worker("chatter", {"place": source, "ack": path, "name": path.name}, MODULE) for path in said]
    try:
        for worker in workers:
            worker.go()
        for _ in range(KILLS):
            carrying = Worker(
                "carry", {"source": source, "target": target, "killed_after": dice.uniform(1.5, 5)}, MODULE
            )
            workers.append(carrying)
            carrying.go()
            kills += carrying.process.wait(HOURS) < 0
        told = carry(source, target, workers)
        seconds = time.monotonic() - began
        for worker in workers[: len(said)]:
            worker.stop()
        last = carry(source, target, workers)
    finally:
        for worker in workers:
            worker.end()
    assert kills == KILLS
    lines = sum(SIZES)
    soak_row(
        into=target.partition(":")[0] if "://" in target else "files",
        lines=lines,
        kills=kills,
        seconds=round(seconds),
        lines_per_second=round(lines / seconds),
        peak_mb=told["peak_mb"],
        last_run_lines=last["moved"],
        last_run_seconds=round(last["seconds"], 1),
    )


MODULE = "support.transfer_worker"


def carry(source: str, target: str, workers: list[Worker]) -> Any:
    carrying = Worker("carry", {"source": source, "target": target}, MODULE)
    workers.append(carrying)
    carrying.go()
    told = carrying.result(HOURS)
    assert told["fine"]
    return told


def compared(source: str, target: str, soak_row: SoakRow) -> None:
    with open_record(source) as here, open_record(target) as there:
        report = check(here, there)
        assert report.is_fine
        assert len(report.chats) == len(SIZES)
        for chat in report.chats:
            assert (chat.outcome, chat.hash, chat.readers) == ("equal", chat.hash_there, chat.readers_there)
        assert sum(chat.lines for chat in report.chats) >= sum(SIZES)
        lines = sum(chat.lines for chat in report.chats)
        soak_row(compared_lines=lines, chats=len(SIZES), different=0, seconds=round(report.seconds))


def all_there(record: Record, said: Sequence[Path]) -> dict[str, int]:
    """Every line that there was is there once, and all that was said meanwhile."""
    spoken: set[str] = set()
    for chat, size in enumerate(SIZES):
        seen = bytearray(size)
        for entry in record.store.scan(key_of(chat)):
            words = entry["content"].split()
            if words[0] == "line":
                seen[int(words[2])] += 1
            else:
                assert entry["content"] not in spoken
                spoken.add(entry["content"])
        assert seen.count(1) == size
    told = [text for path in said for text in path.read_text().splitlines()]
    for text in told:
        number = int(text.rpartition(" ")[2])
        is_edited, is_hidden = number % 3 and number % 10 == 1, number % 3 and number % 10 == 5
        assert ((f"{text} edited" if is_edited else text) in spoken) != bool(is_hidden), text
    return {"said_meanwhile": len(told), "lost": 0, "doubled": 0}


def test_a_million_lines_both_ways(database: str, tmp_path: Path, soak_row: SoakRow) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    said = [[tmp_path / name for name in names] for names in TALKERS]
    fill(first)
    carried(str(first), database, said[0], soak_row)
    compared(str(first), database, soak_row)
    carried(database, str(second), said[1], soak_row)
    compared(database, str(second), soak_row)
    with open_record(second) as record:
        soak_row(**all_there(record, [*said[0], *said[1]]))
