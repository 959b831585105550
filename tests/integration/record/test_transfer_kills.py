"""A move that is killed at any moment goes on where it was: nothing is lost, and nothing is there twice."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from support.moves import NOW, all_equal, moved, write
from support.places import open_record
from support.postgres import Cluster, in_a_schema, programs, started_cluster
from support.procs import Worker, until
from support.sizes import short_and_full
from support.waiting import PATIENCE

from nanobot_transcript.record import Record
from nanobot_transcript.record.transfer.move import move
from nanobot_transcript.store import arguments

if TYPE_CHECKING:
    from nanobot_transcript.entry import Entry

SoakRow = Callable[..., None]
Spawn = Callable[..., Worker]

WAYS = ("into a database", "into a folder")
CHATS = 2


class Size(NamedTuple):
    """How often the move is killed, and how many lines there are to begin with."""

    kills: int
    lines: int


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, tmp_path: Path, postgres_place: str) -> tuple[str, str]:
    ends = str(tmp_path / "folder"), postgres_place
    return ends if request.param == WAYS[0] else ends[::-1]


@pytest.fixture
def working() -> Iterator[Spawn]:
    """``working("carry", ...)`` starts an action of ``support.transfer_worker``."""
    workers: list[Worker] = []

    def start(action: str, **options: object) -> Worker:
        workers.append(Worker(action, options, "support.transfer_worker"))
        return workers[-1]

    yield start
    for worker in workers:
        worker.end()


def fill(record: Record, count: int) -> Counter[str]:
    """A history with some of everything; the texts that readers are shown."""
    shown: Counter[str] = Counter()
    lines: list[list[Entry]] = [[] for _ in range(CHATS)]
    for number in range(count):
        of, message_id = lines[number % CHATS], f"om_{number}" if number % 4 else None
        text = f"message {number} " + "x" * (number % 300)
        of.append(arguments.entry("user", text, "on_ada", message_id, NOW + number, {"source": "event"}))
        if message_id and number % 50 == 1:
            of.append(arguments.op("recall", message_id, "", "on_ada", NOW + number, {}))
        else:
            shown[text] += 1
    for number, each in enumerate(lines):
        write(record, f"feishu:oc_{number}", each)
    for number in range(count // 20):
        record.outbox.post("feishu:oc_0", f"post {number}")
    return shown


def all_texts(record: Record) -> Counter[str]:
    keys = [f"feishu:oc_{number}" for number in range(CHATS)]
    return Counter(entry["content"] for key in keys for entry in record.store.scan(key))


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("size", [Size(60, 40_000)], ids=["full"])
def test_killed_while_others_write(
    way: tuple[str, str], working: Spawn, tmp_path: Path, soak_row: SoakRow, size: Size
) -> None:
    with open_record(way[0]) as source:
        shown = fill(source, size.lines)
        said = {name: tmp_path / name for name in ("Alpha", "Beta")}
        talking = [working("chatter", place=way[0], ack=ack, name=name, posts=True) for name, ack in said.items()]
        for worker in talking:
            worker.go()
        dice, killed = random.Random(size.kills), 0
        while killed < size.kills:
            carrying = working("carry", source=way[0], target=way[1], killed_after=dice.uniform(0.02, 0.5))
            carrying.go()
            killed += carrying.process.wait(PATIENCE) < 0
        for worker in talking:
            worker.stop()
        with open_record(way[1]) as target:
            all_equal(source, target)
            notes = [text for ack in said.values() for text in ack.read_text().splitlines()]
            found = all_texts(target)
            assert all(found[text] == 1 for text in shown)
            spoken = [text for text in found if text.startswith(("Alpha ", "Beta "))]
            assert {text.removesuffix(" edited") for text in spoken} <= set(notes)
            assert max(found.values()) == 1
            assert all(target.store.verify(f"feishu:oc_{number}").duplicates == 0 for number in range(CHATS))
            soak_row(kills=killed, lines=sum(found.values()), said_meanwhile=len(notes), lost=0, doubled=0)


@pytest.mark.parametrize("size", short_and_full(Size(2, 1500), Size(40, 30_000), seconds=1200))
def test_killed_while_both_places_are_written_to(
    way: tuple[str, str], working: Spawn, tmp_path: Path, soak_row: SoakRow, size: Size
) -> None:
    with open_record(way[0]) as source, open_record(way[1]) as target:
        shown = fill(source, size.lines)
        move(source, target)
        talking = [
            working("chatter", place=place, ack=tmp_path / name, name=name)
            for place, name in zip(way, ("Old", "New"), strict=True)
        ]
        for worker in talking:
            worker.go()
        dice = random.Random(size.kills)
        for _ in range(size.kills):
            until((tmp_path / "Old").exists, "somebody talks")
            carrying = working("carry", source=way[0], target=way[1], killed_after=dice.uniform(0.02, 0.3))
            carrying.go()
            carrying.process.wait(PATIENCE)
        for worker in talking:
            worker.stop()
        assert move(source, target).is_fine
        assert moved(move(source, target)) == 0
        found = all_texts(target)
        assert all(found[text] == 1 for text in shown)
        for name in ("Old", "New"):
            for text in (tmp_path / name).read_text().splitlines():
                number = int(text.rpartition(" ")[2])
                hidden = number % 3 and number % 10 == 5
                edited = number % 3 and number % 10 == 1
                assert found[f"{text} edited" if edited else text] == (0 if hidden else 1), text
        soak_row(kills=size.kills, lines=sum(found.values()), lost=0, doubled=0)


def test_a_full_disk_says_so_and_the_next_run_goes_on(postgres_place: str, working: Spawn, tmp_path: Path) -> None:
    way = postgres_place, str(tmp_path / "folder")
    with open_record(way[0]) as source:
        fill(source, 5000)
        for limit in (100_000, 300_000):
            carrying = working("carry", source=way[0], target=way[1], limit=limit)
            carrying.go()
            told = carrying.result()
            assert told["error"] == "StoreFullError"
            assert "Free" in told["hint"]
        with open_record(way[1]) as target:
            all_equal(source, target)


@pytest.mark.skipif(programs() is None, reason="no PostgreSQL server")
@pytest.mark.parametrize("to", ["a database", "a folder"])
def test_a_server_that_is_killed_in_the_middle(working: Spawn, tmp_path: Path, to: str) -> None:
    with started_cluster() as cluster:
        _killed_server(cluster, working, tmp_path, to)


def _killed_server(cluster: Cluster, working: Spawn, tmp_path: Path, to: str) -> None:
    ends = str(tmp_path / "folder"), in_a_schema(cluster, "moving")
    way = ends if to == "a database" else ends[::-1]
    with open_record(way[0]) as source:
        fill(source, 12_000)
    for _ in range(2):
        carrying = working("carry", source=way[0], target=way[1], tells=True)
        carrying.go()
        first = carrying.line()
        while carrying.line().get("lines", 1) == first.get("lines"):
            pass
        cluster.kill()
        assert carrying.result()["error"] == "AwayError"
        cluster.start()
    with open_record(way[0]) as source, open_record(way[1]) as target:
        all_equal(source, target)
