"""PgBouncer in transaction mode, which gives each transaction another connection: everything works through it but what
a session keeps, and for that it is said what to do.
"""

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.engine_work import Work, assert_held_by_one
from support.pgbouncer import LACKING, program, started_pooler
from support.places import open_record
from support.postgres import Cluster, in_a_schema
from support.spawning import SpawnAction
from support.waiting import PATIENCE

from nanobot_transcript.errors import StoreBusyError, StoreUnavailableError
from nanobot_transcript.outbox import Receipt
from nanobot_transcript.record import Record

KEY = "feishu:oc_1"
SCHEMA = "pooled"
KILLS = 10


@pytest.fixture
def direct(server: Cluster) -> Iterator[str]:
    """The server itself."""
    if program() is None:
        pytest.skip(LACKING)
    yield in_a_schema(server, SCHEMA)
    server.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")


@pytest.fixture
def pooled(server: Cluster, direct: str) -> Iterator[str]:
    """The same record by way of two connections that all share."""
    with started_pooler(server, connections=2) as url:
        yield f"{url}#{SCHEMA}"


def listening(pooled: str, server: Cluster) -> Record:
    """As the documentation says."""
    return open_record(pooled, listen_url=server.url)


def test_every_part_of_a_record_works_through_it(pooled: str, server: Cluster) -> None:
    with listening(pooled, server) as record, listening(pooled, server) as other:
        store = record.store
        assert [store.append(KEY, "user", f"text {number}", "on_ada", f"om_{number}") for number in range(40)]
        assert not other.store.append(KEY, "user", "text 7", "on_ada", "om_7")
        assert other.store.edit(KEY, "om_1", "other words", "on_ada")
        assert other.store.recall(KEY, "om_2")
        assert [hit.entry["message_id"] for hit in store.search("other words")] == ["om_1"]
        assert len(store.read(KEY).entries) == 39
        assert store.verify(KEY).duplicates == 0
        grant = record.leases.acquire("claim", "Alpha#1", 600)
        assert grant is not None
        assert other.leases.acquire("claim", "Bravo#2", 600) is None
        assert [record.budgets.take("calls", limit=1, window=60) for _ in range(2)] == [True, False]
        record.members.remember_person("on_ada", "Ada")
        record.members.flush(PATIENCE)
        assert other.members.name_of("on_ada") == "Ada"
        post = record.outbox.post(KEY, "hello")
        job = other.outbox.take("Alpha#1", [KEY], "Alpha")
        assert job is not None
        other.outbox.sent(job, Receipt("om_post"), "Alpha")
        assert record.outbox.status(post).message_id == "om_post"
        name = record.processes.join()
        assert other.processes.alive(name)
        assert {found.severity for found in record.check()} == {"ok"}
        assert store.redact(KEY, "om_3")
        store.purge(KEY)
        assert other.store.chats() == []


def test_who_follows_is_told_on_the_connection_that_stays(pooled: str, server: Cluster) -> None:
    async def told(record: Record, other: Record) -> frozenset[str]:
        with record.signals.listen("messages") as ear:
            await ear.wait(PATIENCE)  # that from now on nothing is missed
            await asyncio.to_thread(other.store.append, KEY, "user", "hello", "on_ada", "om_1")
            return await ear.wait(PATIENCE)

    async def followed(record: Record, other: Record) -> str | None:
        following = record.store.follow(KEY, record.store.end(KEY))
        await asyncio.to_thread(other.store.append, KEY, "user", "hello", "on_ada", "om_2")
        async for entry in following:
            await following.aclose()
            return entry["message_id"]
        return None

    with listening(pooled, server) as record, listening(pooled, server) as other:
        assert asyncio.run(told(record, other)) == {"messages"}
        assert asyncio.run(followed(record, other)) == "om_2"


def test_without_an_address_to_listen_at_it_is_said_what_to_name(pooled: str, caplog: pytest.LogCaptureFixture) -> None:
    with open_record(pooled) as record, caplog.at_level(logging.WARNING):
        assert record.store.append(KEY, "user", "hello", "on_ada", "om_1")
        with pytest.raises(StoreUnavailableError, match="a pooler hands each transaction") as refused:
            record.processes.join()
        assert refused.value.hint == "Name the server itself in record.listen_url."
        assert [found.fix for found in record.check() if found.severity == "error"] == [refused.value.hint]
    assert "Name the server itself in record.listen_url." in caplog.text


def test_an_address_to_listen_at_that_leads_to_the_pooler_too_is_told(pooled: str) -> None:
    with open_record(pooled, listen_url=pooled.partition("#")[0] + "?application_name=other") as record:
        assert record.store.append(KEY, "user", "hello", "on_ada", "om_1")
        assert "record.listen_url" in {found.fix for found in record.check() if found.severity == "error"}.pop()


def test_a_pooler_that_gives_each_session_its_own_connection_needs_none(server: Cluster, direct: str) -> None:
    with started_pooler(server, mode="session") as url, open_record(f"{url}#{SCHEMA}") as record:
        name = record.processes.join()
        with open_record(direct) as other:
            assert other.processes.alive(name)
        assert {found.severity for found in record.check()} == {"ok"}


@pytest.mark.soak
def test_a_server_that_is_killed_behind_it_loses_nothing_and_no_claim_is_held_by_two(
    server: Cluster, pooled: str, tmp_path: Path, spawn_on: SpawnAction, soak_row: Any
) -> None:
    notes = tmp_path / "claims"
    work = Work(pooled, tmp_path, spawn_on, pause=0.01)
    claiming = [spawn_on("claim_on", place=pooled, holder=f"Agent{n}", ttl=1.0, notes=str(notes)) for n in range(2)]
    for each in claiming:
        each.go()
    for _ in range(KILLS):
        work.goes_on()
        server.kill()
        server.start()
    work.goes_on()
    for each in claiming:
        each.stop()
    soak_row(kills=KILLS, claims=assert_held_by_one(notes), held_by_two=0, **work.ends())


def test_one_that_takes_no_more_programs_says_so(server: Cluster, direct: str) -> None:
    with started_pooler(server, clients=1) as url, open_record(f"{url}#{SCHEMA}") as record:
        assert record.store.append(KEY, "user", "hello", "on_ada", "om_1")
        with open_record(f"{url}#{SCHEMA}") as late:
            with pytest.raises(StoreBusyError, match="no more connections") as refused:
                late.store.append(KEY, "user", "hello", "on_ada", "om_2")
            assert "max_connections" in refused.value.hint
