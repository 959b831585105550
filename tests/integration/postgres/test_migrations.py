"""Processes that make the tables at once, and are killed in the middle, as the server is: there is all of them or none,
and whoever comes next makes them.
"""

import random
import time
from collections import Counter
from contextlib import suppress
from typing import Any

import psycopg
import pytest
from support.places import open_record
from support.postgres import Cluster, in_a_schema
from support.sizes import short_and_full
from support.spawning import SpawnAction
from support.waiting import PATIENCE
from support.worker import KEY

SCHEMA = "begun"
AT_ONCE = 3
_CATALOG = f"""
SELECT 'relation', relname::text FROM pg_class WHERE relnamespace = to_regnamespace('{SCHEMA}')
UNION ALL SELECT 'function', proname::text FROM pg_proc WHERE pronamespace = to_regnamespace('{SCHEMA}')
UNION ALL SELECT 'schema', nspname::text FROM pg_namespace WHERE nspname = '{SCHEMA}'
"""


@pytest.fixture
def place(server: Cluster) -> str:
    """Nothing is there."""
    server.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
    return in_a_schema(server, SCHEMA)


def catalog(server: Cluster) -> Counter[tuple[str, str]]:
    """Everything that is there."""
    return Counter(server.execute(_CATALOG))


def whole(server: Cluster, place: str, spawn_on: SpawnAction) -> tuple[Counter[tuple[str, str]], float]:
    """What is there after a migration that nobody disturbs, and the seconds it takes."""
    alone = spawn_on("migrate_on", place=place, message_id="om_alone")
    alone.go()
    began = time.monotonic()
    alone.result()
    took, found = time.monotonic() - began, catalog(server)
    assert len(found) > 30
    server.execute(f"DROP SCHEMA {SCHEMA} CASCADE")
    return found, took


def all_or_none(server: Cluster, place: str, everything: Counter[tuple[str, str]]) -> str:
    """Which of both is there; whoever comes next makes what is missing. Afterwards nothing is there."""
    found = catalog(server)
    assert found in (Counter(), everything)
    with open_record(place) as record:
        record.store.append(KEY, "user", "om_next", "on_ada", "om_next")
        assert {found.severity for found in record.check()} == {"ok"}
        assert record.store.verify(KEY).duplicates == 0
    assert catalog(server) == everything
    server.execute(f"DROP SCHEMA {SCHEMA} CASCADE")
    return "all" if found else "none"


@pytest.mark.parametrize("rounds", short_and_full(6, 100))
def test_there_are_all_tables_or_none_whenever_who_makes_them_is_killed(
    server: Cluster, place: str, spawn_on: SpawnAction, soak_row: Any, rounds: int
) -> None:
    everything, took = whole(server, place, spawn_on)
    dice, ended = random.Random(rounds), Counter[str]()
    for _ in range(rounds):
        several = [
            spawn_on("migrate_on", place=place, message_id=f"om_{n}", killed_after=dice.uniform(0.001, took))
            for n in range(AT_ONCE)
        ]
        for worker in several:
            worker.go()
        killed = sum(worker.process.wait(PATIENCE) < 0 for worker in several)
        for worker in several:
            worker.end()
        ended["killed"] += killed
        ended[all_or_none(server, place, everything)] += 1
    assert ended["killed"]
    soak_row(rounds=rounds, **ended, half=0)


@pytest.mark.parametrize("rounds", short_and_full(2, 30))
def test_there_are_all_tables_or_none_whenever_the_server_is_killed(
    server: Cluster, place: str, spawn_on: SpawnAction, soak_row: Any, rounds: int
) -> None:
    everything, took = whole(server, place, spawn_on)
    dice, ended = random.Random(rounds), Counter[str]()
    for _ in range(rounds):
        worker = spawn_on("migrate_on", place=place, message_id="om_1")
        worker.go()
        with suppress(psycopg.OperationalError):
            server.execute(f"SELECT pg_sleep({dice.uniform(0, 2 * took):.4f})")
        server.kill()
        server.start()
        worker.result()
        worker.end()
        ended[all_or_none(server, place, everything)] += 1
    soak_row(rounds=rounds, **ended, half=0)
