"""The server dies, stands still or cuts everybody off: what was acknowledged is there, once, and all go on again."""

import os
import random
import time
from pathlib import Path
from typing import Any

import pytest
from support.places import open_record
from support.postgres import Cluster, in_a_schema
from support.procs import until
from support.sizes import short_and_full
from support.spawning import SpawnAction
from support.transcripts import acknowledged, assert_intact
from support.worker import KEY

WRITERS = 3
_WRITES = """
SELECT pid FROM pg_stat_activity WHERE query LIKE '%append%' AND pid <> pg_backend_pid() LIMIT 1
"""


class Work:
    """Writers and a follower in processes of their own."""

    def __init__(self, place: str, folder: Path, spawn_on: SpawnAction, *, writers: int = WRITERS) -> None:
        self.place = place
        self.acks = [folder / f"acks{number}" for number in range(writers)]
        self.followed = folder / "followed"
        with open_record(place) as record:
            record.store.append(KEY, "user", "om_first|" + "|om_first", "on_ada", "om_first")
        self.follower = spawn_on("follow_on", place=place, ack=str(self.followed))
        self.writers = [
            spawn_on("write_on", place=place, prefix=f"w{number}_", ack=str(ack))
            for number, ack in enumerate(self.acks)
        ]
        for worker in (self.follower, *self.writers):
            worker.go()

    def acknowledged(self) -> list[str]:
        """All ids that any writer has noted."""
        return [message_id for ack in self.acks for message_id in acknowledged(ack)]

    def goes_on(self, more: int = 5) -> None:
        """Return when each writer has written more."""
        before = [len(acknowledged(ack)) for ack in self.acks]
        for ack, count in zip(self.acks, before, strict=True):
            until(lambda ack=ack, count=count: len(acknowledged(ack)) > count + more, "a writer went on")

    def ends(self) -> dict[str, Any]:
        """Stop the writers, let the follower come to the end, and judge what there is."""
        told = [writer.stop() for writer in self.writers]
        acked = self.acknowledged()
        with open_record(self.place) as record:
            record.store.append(KEY, "user", "om_last|" + "|om_last", "on_ada", "om_last")
            entries = assert_intact(record.store, KEY, [*acked, "om_first", "om_last"])
            in_order = [entry["message_id"] for entry in record.store.scan(KEY)]
            until(lambda: "om_last" in acknowledged(self.followed)[-1:], "the follower came to the end")
            assert record.store.verify(KEY).duplicates == 0
        self.follower.stop()
        assert acknowledged(self.followed) == in_order[1:], "each entry once and in order"
        return {
            "entries": entries,
            "lost": 0,
            "doubled": 0,
            "found_there": sum(one["found_there"] for one in told),
            "refused": sum(one["refused"] for one in told),
            "longest_s": max(one["longest"] for one in told),
        }


@pytest.mark.parametrize("kills", short_and_full(3, 20))
def test_a_server_that_is_killed_in_the_middle_of_appends_loses_nothing(
    server: Cluster, tmp_path: Path, spawn_on: SpawnAction, soak_row: Any, kills: int
) -> None:
    work, dice = Work(in_a_schema(server, "killed"), tmp_path, spawn_on), random.Random(kills)
    for _ in range(kills):
        work.goes_on()
        time.sleep(dice.uniform(0, 0.05))
        server.kill()
        server.start()
    work.goes_on()
    soak_row(kills=kills, **work.ends())


@pytest.mark.parametrize("kills", short_and_full(3, 20))
def test_one_of_the_servers_processes_that_is_killed_restarts_all_and_nothing_is_lost(
    server: Cluster, tmp_path: Path, spawn_on: SpawnAction, soak_row: Any, kills: int
) -> None:
    work = Work(in_a_schema(server, "crashed"), tmp_path, spawn_on)
    for _ in range(kills):
        work.goes_on()
        ((pid,),) = server.execute(
            "SELECT pid FROM pg_stat_activity WHERE query LIKE '%append%' AND pid<>pg_backend_pid() LIMIT 1"
        )
        os.kill(pid, 9)
    work.goes_on()
    soak_row(kills=kills, **work.ends())


@pytest.mark.parametrize("kills", short_and_full(4, 60))
def test_writers_that_are_killed_leave_whole_messages_and_hold_up_nobody(
    server: Cluster, tmp_path: Path, spawn_on: SpawnAction, soak_row: Any, kills: int
) -> None:
    place = in_a_schema(server, "clients")
    work, dice = Work(place, tmp_path, spawn_on, writers=1), random.Random(kills)
    ack = tmp_path / "killed"
    work.acks.append(ack)
    for number in range(kills):
        victim = spawn_on("write_on", place=place, prefix=f"v{number}_", ack=str(ack), size=200_000)
        victim.go()
        began = len(acknowledged(ack))
        until(lambda began=began: len(acknowledged(ack)) > began, "it writes")
        time.sleep(dice.uniform(0, 0.02))
        victim.kill()
    work.acks.pop()
    work.goes_on()
    work.acks.append(ack)
    soak_row(kills=kills, **work.ends())


@pytest.mark.parametrize("seconds", short_and_full(2, 30))
def test_a_server_that_stands_still_for_a_while_loses_nothing(
    server: Cluster, tmp_path: Path, spawn_on: SpawnAction, soak_row: Any, seconds: int
) -> None:
    work = Work(in_a_schema(server, "still"), tmp_path, spawn_on)
    work.goes_on()
    server.pause()
    time.sleep(seconds)
    server.resume()
    work.goes_on()
    soak_row(seconds=seconds, **work.ends())


@pytest.mark.parametrize("times", short_and_full(10, 300))
def test_connections_that_the_server_cuts_again_and_again_lose_nothing(
    server: Cluster, tmp_path: Path, spawn_on: SpawnAction, soak_row: Any, times: int
) -> None:
    work, cut = Work(in_a_schema(server, "cut"), tmp_path, spawn_on), 0
    for _ in range(times):
        work.goes_on(1)
        ((count,),) = server.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        cut += count
    work.goes_on()
    soak_row(cuts=times, connections=cut, **work.ends())
