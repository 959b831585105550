"""What a process has accepted on its own disk reaches the database, whatever happens to both."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.places import open_record
from support.postgres import Cluster, in_a_schema
from support.procs import Worker, until
from support.sizes import short_and_full
from support.spools import until_empty
from support.transcripts import acknowledged, assert_intact
from support.worker import KEY

from nanobot_transcript import StoreUnavailableError

SoakRow = Callable[..., None]
SpawnWorker = Callable[..., Worker]


@pytest.fixture
def spool(tmp_path: Path) -> dict[str, Any]:
    """The options of a record with a spool."""
    return {"spool_dir": str(tmp_path / "spool")}


def handed_on(place: str, spool: dict[str, Any], ids: list[str]) -> int:
    """Let another process of the machine hand on what was left, and see that all of it is there, once."""
    with open_record(place, **spool) as record:
        record.store.chats()
        until_empty(Path(spool["spool_dir"]))
        there = assert_intact(record.store, KEY, ids)
        assert record.store.verify(KEY).duplicates == 0
    return there


@pytest.mark.parametrize("kills", short_and_full(1, 20))
def test_who_is_killed_before_it_could_hand_on_has_lost_nothing(
    server: Cluster, spawn: SpawnWorker, spool: dict[str, Any], tmp_path: Path, soak_row: SoakRow, kills: int
) -> None:
    """Two at a time, in the middle of writing, while the server stands still in the middle of what they send."""
    place, acks = in_a_schema(server, "killed_spools"), [tmp_path / "one", tmp_path / "two"]
    most = 0
    for _ in range(kills):
        before = [len(acknowledged(ack)) for ack in acks]
        writers = [
            spawn("append_forever", place=place, size=200, prefix=f"{ack.name}_", ack=str(ack), store=spool)
            for ack in acks
        ]
        for writer in writers:
            writer.go()
        for ack, count in zip(acks, before, strict=True):
            until(lambda ack=ack, count=count: len(acknowledged(ack)) > count + 200, "some are accepted")
        server.pause()
        before = [len(acknowledged(ack)) for ack in acks]
        for ack, count in zip(acks, before, strict=True):
            until(lambda ack=ack, count=count: len(acknowledged(ack)) > count + 100, "more are")
        for writer in writers:
            writer.kill()
        server.resume()
        ids = list(itertools.chain.from_iterable(map(acknowledged, acks)))
        most = max(most, handed_on(place, spool, ids))
    soak_row(kills=2 * kills, accepted=most, lost=0, doubled=0)


def test_a_process_that_starts_without_the_database_accepts_and_says_that_it_cannot_read(
    server: Cluster, spawn: SpawnWorker, spool: dict[str, Any]
) -> None:
    place = in_a_schema(server, "started_alone")
    server.stop()
    alone = spawn("append_until_error", place=place, count=150, store=spool)
    alone.go()
    told = alone.result()
    assert (len(told["acked"]), told["error"]) == (150, None)
    with open_record(place, **spool) as record:
        with pytest.raises(StoreUnavailableError):
            record.store.get_recent(KEY, 20)
        assert record.store.append(KEY, "user", "om_x|" + "|om_x", "on_ada", "om_x")
        server.start()
        until_empty(Path(spool["spool_dir"]))
        assert_intact(record.store, KEY, [*told["acked"], "om_x"])


@pytest.mark.parametrize("full", ["disk", "spool"])
def test_a_full_spool_is_a_full_disk(server: Cluster, spawn: SpawnWorker, spool: dict[str, Any], full: str) -> None:
    place = in_a_schema(server, f"full_{full}")
    server.stop()
    limit = {"limit": 200_000} if full == "disk" else {}
    options = spool if full == "disk" else spool | {"spool_bytes": 200_000}
    filling = spawn("append_until_error", place=place, store=options, **limit)
    filling.go()
    told = filling.result()
    assert told["error"] == "StoreFullError"
    assert told["hint"]
    assert 100 < len(told["acked"]) < 200
    server.start()
    assert handed_on(place, spool, told["acked"]) == len(told["acked"])
