"""Machines whose clocks are ten minutes off: who may do something, and who lives, goes by the database's clock."""

from pathlib import Path

import pytest
from support.engine_work import assert_held_by_one
from support.places import open_record
from support.postgres import Cluster
from support.procs import until
from support.spawning import SpawnAction
from support.spools import until_empty
from support.transcripts import acknowledged, assert_intact
from support.worker import KEY

OFF = (0, 600, -600)


def test_a_claim_is_held_by_one_however_wrong_the_clocks_are(
    postgres_place: str, tmp_path: Path, spawn_on: SpawnAction
) -> None:
    notes = tmp_path / "claims"
    claiming = [
        spawn_on("claim_on", place=postgres_place, holder=f"Agent{off}", ttl=0.2, notes=str(notes), clock_off=off)
        for off in OFF
    ]
    for each in claiming:
        each.go()
    until(lambda: all(f" Agent{off}\n" in _read(notes) for off in OFF), "each has held it")
    for each in claiming:
        each.stop()
    assert assert_held_by_one(notes)


def test_a_claim_is_not_given_again_by_a_server_that_took_over_with_a_clock_behind(
    cluster: Cluster, postgres_place: str
) -> None:
    schema = postgres_place.partition("#")[2]
    with open_record(postgres_place) as record, open_record(postgres_place) as other:
        grant = record.leases.acquire("answer", "Alpha#1", 60)
        assert grant is not None
        # What it finds: the end by the other server's clock, and a reign that is not its own.
        cluster.execute(f"UPDATE {schema}.leases SET expires = expires + 600, reign = gen_random_uuid()")
        cluster.execute(f"UPDATE {schema}.reigns SET began = extract(epoch FROM clock_timestamp())")
        assert other.leases.acquire("answer", "Bravo#2", 60) is None
        assert other.leases.current("answer") is not None
        cluster.execute(f"UPDATE {schema}.reigns SET began = began - 61")
        assert other.leases.current("answer") is None
        again = other.leases.acquire("answer", "Bravo#2", 60)
        assert again is not None
        assert again.token > grant.token
        assert record.leases.renew(grant, 60) is None


def test_a_claim_that_its_holder_renews_outlasts_the_server(cluster: Cluster, postgres_place: str) -> None:
    schema = postgres_place.partition("#")[2]
    with open_record(postgres_place) as record:
        grant = record.leases.acquire("answer", "Alpha#1", 60)
        assert grant is not None
        cluster.execute(f"UPDATE {schema}.leases SET reign = gen_random_uuid()")
        assert record.leases.renew(grant, 60) is not None
        cluster.execute(f"UPDATE {schema}.reigns SET began = began - 3600")
        assert record.leases.current("answer") is not None


def test_a_claim_is_free_when_the_servers_clock_was_set_back(cluster: Cluster, postgres_place: str) -> None:
    schema = postgres_place.partition("#")[2]
    with open_record(postgres_place) as record:
        assert record.leases.acquire("answer", "Alpha#1", 60) is not None
        cluster.execute(f"UPDATE {schema}.leases SET expires = expires + 600")
        assert record.leases.current("answer") is None
        assert record.leases.acquire("answer", "Bravo#2", 60) is not None
        cluster.execute(f"UPDATE {schema}.leases SET reign = gen_random_uuid()")
        cluster.execute(f"UPDATE {schema}.reigns SET began = extract(epoch FROM clock_timestamp()) + 3600")
        assert record.leases.current("answer") is None


def test_who_lives_is_seen_so_however_wrong_the_clocks_are(postgres_place: str, spawn_on: SpawnAction) -> None:
    living = [spawn_on("live_on", place=postgres_place, clock_off=off) for off in OFF]
    names = [each.line()["id"] for each in living]
    looking = [spawn_on("look_on", place=postgres_place, others=names, clock_off=off) for off in OFF]
    for each in (*living, *looking):
        each.go()
    living[0].kill()
    with open_record(postgres_place) as record:
        until(lambda: not record.processes.alive(names[0]), "it is seen to have ended")
    told = [each.stop() for each in looking]
    assert [(each["dead"][names[1]], each["dead"][names[2]]) for each in told] == [(0, 0)] * 3


def test_what_comes_from_such_machines_is_handed_on_once(
    postgres_place: str, tmp_path: Path, spawn_on: SpawnAction
) -> None:
    acks = [tmp_path / f"acks{number}" for number in range(len(OFF))]
    writing = [
        spawn_on(
            *("write_on",),
            place=postgres_place,
            prefix=f"w{number}_",
            ack=str(acks[number]),
            spool=str(tmp_path / "spool"),
            clock_off=off,
        )
        for number, off in enumerate(OFF)
    ]
    for each in writing:
        each.go()
    until(lambda: all(len(acknowledged(ack)) > 50 for ack in acks), "each has written")
    for each in writing:
        each.stop()
    until_empty(tmp_path / "spool")
    with open_record(postgres_place) as record:
        assert_intact(record.store, KEY, [name for ack in acks for name in acknowledged(ack)])


@pytest.mark.parametrize("off", OFF)
def test_doctor_says_on_which_machine_the_clock_is_wrong(
    cluster: Cluster, postgres_place: str, spawn_on: SpawnAction, off: int
) -> None:
    told = spawn_on("check_on", place=postgres_place, clock_off=off).result()
    said = {check: (severity, message) for check, severity, message in told}["clock"]
    right = ("ok", "The clock agrees with the database's.")
    assert said == right if not off else (said[0] == "warning" and "disagree by 600 seconds" in said[1])


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""
