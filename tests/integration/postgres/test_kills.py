"""The server dies, stands still or cuts everybody off: what was acknowledged is there, once, and all go on again."""

import os
import random
import time
from pathlib import Path
from typing import Any

import pytest
from support.engine_work import Work
from support.places import open_record
from support.postgres import Cluster, in_a_schema
from support.procs import until
from support.sizes import short_and_full
from support.spawning import SpawnAction
from support.spools import until_empty
from support.transcripts import acknowledged, assert_intact
from support.worker import KEY

from nanobot_transcript.record.spool.backlog import waiting_in


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


@pytest.mark.parametrize("kills", short_and_full(4, 60))
def test_processes_that_are_killed_while_they_hand_on_lose_nothing(
    server: Cluster, tmp_path: Path, spawn_on: SpawnAction, soak_row: Any, kills: int
) -> None:
    place, spool, ack = in_a_schema(server, "spools"), tmp_path / "spool", tmp_path / "acks"
    dice, left = random.Random(kills), 0
    for number in range(kills):
        victim = spawn_on("write_on", place=place, prefix=f"v{number}_", ack=str(ack), spool=str(spool), pause=0.0005)
        victim.go()
        began = len(acknowledged(ack))
        until(lambda began=began: len(acknowledged(ack)) > began + 50, "it writes")
        time.sleep(dice.uniform(0, 0.2))
        victim.kill()
        victim.end()
        left += waiting_in(spool).lines
    assert left, "they were in the middle of it"
    with open_record(place, spool_dir=spool) as record:
        record.store.append(KEY, "user", "om_last|" + "|om_last", "on_ada", "om_last")
        until_empty(spool)
        entries = assert_intact(record.store, KEY, [*acknowledged(ack), "om_last"])
        assert record.store.verify(KEY).duplicates == 0
    soak_row(kills=kills, left_behind=left, entries=entries, lost=0, doubled=0)


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
