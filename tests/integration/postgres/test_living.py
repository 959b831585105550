"""Who lives, and who may do something, while the server dies and comes back: nobody is taken for dead that lives, and
nothing is given to two.
"""

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from support.cutting import CuttableLine, cuttable_line
from support.engine_work import assert_held_by_one
from support.places import open_record
from support.postgres import Cluster, in_a_schema
from support.procs import until
from support.sizes import short_and_full
from support.spawning import SpawnAction
from support.waiting import PATIENCE

from nanobot_transcript.record import Record

SCHEMA = "living"
ALONE = 40
"""Seconds without a standby, which are more than the processes have to come back."""
DEAD = "d" * 32
"""A process of which nothing is heard."""
_CUT_OFF = """
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
"""
_WAITING = "SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
_HOLDERS = f"""
SELECT id FROM {SCHEMA}.processes JOIN pg_locks ON locktype = 'advisory' AND objsubid = 1
    AND classid::bigint = (number >> 32) & 4294967295 AND objid::bigint = number & 4294967295
"""


@pytest.fixture
def place(server: Cluster) -> Iterator[str]:
    """A record with nothing in it."""
    yield in_a_schema(server, SCHEMA)
    server.stop()
    server.start()
    server.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")


def restart(server: Cluster) -> None:
    """kill -9, and start."""
    server.kill()
    server.start()


def crash(server: Cluster) -> None:
    """One process of the server dies: it ends all others and recovers by itself."""
    with psycopg.connect(server.url, autocommit=True) as victim:
        os.kill(victim.info.backend_pid, 9)
        with pytest.raises(psycopg.OperationalError):
            victim.execute("SELECT 1")
    until(lambda: _is_up(server), "the server is back")


def cut_off(server: Cluster) -> None:
    """It ends all connections."""
    server.execute(_CUT_OFF)


def _is_up(server: Cluster) -> bool:
    try:
        server.execute("SELECT 1")
    except psycopg.OperationalError:
        return False
    return True


def holders(server: Cluster) -> set[str]:
    """The processes whose locks are held now."""
    return {name for (name,) in server.execute(_HOLDERS)}


OUTAGES: dict[str, Callable[[Cluster], None]] = {"killed": restart, "crashed": crash, "cut off": cut_off}


@pytest.mark.parametrize("times", short_and_full(1, 10))
@pytest.mark.parametrize("how", OUTAGES)
def test_who_lives_is_never_seen_as_dead_and_who_was_killed_soon_is(
    server: Cluster, place: str, spawn_on: SpawnAction, soak_row: Any, how: str, times: int
) -> None:
    living = [spawn_on("live_on", place=place) for _ in range(3)]
    names = [each.line()["id"] for each in living]
    looking = [spawn_on("look_on", place=place, others=names) for _ in range(2)]
    for each in (*living, *looking):
        each.go()
    for _ in range(times):
        OUTAGES[how](server)
        until(lambda: holders(server) == set(names), "all have come back")
    told = [each.stop() for each in looking]
    assert [each["dead"] for each in told] == [dict.fromkeys(names, 0)] * 2
    living[0].kill()
    began = time.monotonic()
    with open_record(place) as record:
        until(lambda: not record.processes.alive(names[0]), "it is seen to have ended")
        assert [record.processes.alive(name) for name in names[1:]] == [True, True]
    looks, longest = sum(each["looks"] for each in told), max(each["longest"] for each in told)
    seen = round(time.monotonic() - began, 1)
    soak_row(outages=times, looks=looks, seen_as_dead=0, longest_s=longest, killed_is_seen_after_s=seen)


@contextmanager
def alone(server: Cluster) -> Iterator[None]:
    """kill -9, and start as a primary that waits for a standby, until the end of the ``with``."""
    server.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
    restart(server)
    try:
        yield
    finally:
        server.execute("ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")


def test_the_time_to_come_back_begins_when_the_server_takes_writes(server: Cluster, place: str) -> None:
    with open_record(place) as record:
        name = record.processes.join()
        with alone(server):
            until(lambda: server.execute(_WAITING), "it waits")
            assert server.execute(f"SELECT FROM {SCHEMA}.reigns") == []
        until(lambda: holders(server) == {name}, "it is back")
        assert server.execute(f"SELECT FROM {SCHEMA}.reigns") == [()]


@pytest.mark.soak
def test_who_lives_is_not_seen_as_dead_while_the_next_primary_waits_for_a_standby(
    server: Cluster, place: str, spawn_on: SpawnAction, soak_row: Any
) -> None:
    """As long as that takes, nobody can renew its word: a primary that waits for a standby takes no writes."""
    living = [spawn_on("live_on", place=place) for _ in range(3)]
    names = [each.line()["id"] for each in living]
    looking = spawn_on("look_on", place=place, others=names)
    for each in (*living, looking):
        each.go()
    with alone(server):
        time.sleep(ALONE)
    until(lambda: holders(server) == set(names), "all have come back")
    told = looking.stop()
    assert told["dead"] == dict.fromkeys(names, 0)
    living[0].kill()
    with open_record(place) as record:
        until(lambda: not record.processes.alive(names[0]), "it is seen to have ended")
        assert [record.processes.alive(name) for name in names[1:]] == [True, True]
    soak_row(alone_s=ALONE, looks=told["looks"], seen_as_dead=0)


class Line:
    """A record over a line that can be cut, whose process has joined."""

    def __init__(self, line: CuttableLine, record: Record) -> None:
        self.line = line
        self.record = record
        self.name = record.processes.join()


@contextmanager
def over_lines(server: Cluster, count: int) -> Iterator[list[Line]]:
    """So many of them."""
    with ExitStack() as stack:
        lines = [stack.enter_context(cuttable_line(server.port)) for _ in range(count)]
        addresses = [server.url.replace(str(server.port), str(line.port)) for line in lines]
        records = [stack.enter_context(open_record(f"{address}#{SCHEMA}")) for address in addresses]
        yield [Line(line, record) for line, record in zip(lines, records, strict=True)]


def looked_at(looker: Record, name: str, seconds: float) -> set[bool]:
    """What is seen of a process within so many seconds."""
    until_then, seen = time.monotonic() + seconds, set[bool]()
    while time.monotonic() < until_then:
        seen.add(looker.processes.alive(name))
        time.sleep(0.05)
    return seen


@pytest.mark.parametrize("how", [restart, crash])
def test_who_needs_some_seconds_to_come_back_after_an_outage_lives(
    server: Cluster, place: str, how: Callable[[Cluster], None]
) -> None:
    with over_lines(server, 1) as (slow,), open_record(place) as looker:
        slow.line.refuses = True
        how(server)
        assert looked_at(looker, slow.name, 3) == {True}
        slow.line.refuses = False
        until(lambda: slow.name in holders(server), "it is back")
        assert looker.processes.alive(slow.name)


def test_who_lived_before_an_outage_of_hours_lives_and_who_was_dead_then_does_not(server: Cluster, place: str) -> None:
    with over_lines(server, 2) as (looker, slow):
        for each in (looker, slow):
            each.line.refuses = True
        restart(server)
        hours = "UPDATE living.processes SET renewed = renewed - 36000"
        dead = (
            "INSERT INTO living.processes SELECT repeat('d', 32), 1, renewed - 30, reign FROM living.processes LIMIT 1"
        )
        server.execute(hours, dead)
        looker.line.refuses = False
        until(lambda: looker.name in holders(server), "who looks is back")
        assert looker.record.processes.alive(slow.name)
        assert not looker.record.processes.alive(DEAD)
        slow.line.refuses = False


def test_who_is_connected_anew_before_the_server_has_noticed_lives_when_it_does(server: Cluster, place: str) -> None:
    with over_lines(server, 1) as (moved,), open_record(place) as looker:
        first = server.execute("SELECT number FROM living.processes")
        moved.line.leave_hanging()
        until(lambda: server.execute("SELECT number FROM living.processes") != first, "it holds another lock")
        moved.line.cut_hanging()
        until(lambda: len(server.execute("SELECT FROM pg_locks WHERE locktype = 'advisory'")) == 1, "the first is free")
        assert holders(server) == {moved.name}
        assert looked_at(looker, moved.name, 2.5) == {True}


def test_who_was_cut_off_once_has_time_to_come_back_the_next_time_too(server: Cluster, place: str) -> None:
    with over_lines(server, 1) as (unlucky,), open_record(place) as looker:
        for _ in range(2):
            unlucky.line.refuses = True
            unlucky.line.cut()
            until(lambda: unlucky.name not in holders(server), "its lock is free")
            assert looker.processes.alive(unlucky.name)
            unlucky.line.refuses = False
            until(lambda: unlucky.name in holders(server), "it is back")
            looked_at(looker, DEAD, 2.1)


def test_who_leaves_cuts_off_nobody_who_listens(server: Cluster, place: str) -> None:
    async def listen(record: Record) -> frozenset[str]:
        with record.signals.listen("messages") as ear:
            await asyncio.to_thread(record.processes.join)
            await ear.wait(1)
            await asyncio.to_thread(record.processes.leave)
            await ear.wait(5)  # it is told once that it may have missed something
            await asyncio.to_thread(other.store.append, "feishu:oc_1", "user", "hello", "on_ada", "om_1")
            return await ear.wait(PATIENCE)

    with open_record(place) as record, open_record(place) as other:
        assert asyncio.run(listen(record)) == {"messages"}


@pytest.mark.parametrize("kills", short_and_full(2, 20))
def test_a_claim_is_never_held_by_two_while_the_server_is_killed(
    server: Cluster, place: str, tmp_path: Path, spawn_on: SpawnAction, soak_row: Any, kills: int
) -> None:
    notes = tmp_path / "claims"
    claiming = [spawn_on("claim_on", place=place, holder=f"Agent{n}#{n}", ttl=1.0, notes=str(notes)) for n in range(3)]
    for each in claiming:
        each.go()

    def held() -> list[list[str]]:
        return [line.split() for line in notes.read_text().splitlines()] if notes.exists() else []

    for _ in range(kills):
        before = len(held())
        until(lambda before=before: len(held()) > before + 10, "claims are given")
        restart(server)
    before = len(held())
    until(lambda: len(held()) > before + 10, "claims are given")
    told = [each.stop() for each in claiming]
    claims, refused = assert_held_by_one(notes), sum(each["refused"] for each in told)
    soak_row(kills=kills, claims=claims, held_by_two=0, tokens="grow", refused=refused)
