"""Lines that were lost with the server they were on: who had come further goes on where the record ends now."""

import asyncio
from collections.abc import Iterator
from itertools import count

import pytest
from support.places import open_record
from support.postgres import Cluster
from support.waiting import PATIENCE

from nanobot_transcript.record import Record

KEY = "feishu:oc_lost"


@pytest.fixture
def record(postgres_place: str) -> Iterator[Record]:
    with open_record(postgres_place) as opened:
        for number in range(5):
            say(opened, f"om_{number}")
        yield opened


def say(record: Record, message_id: str) -> None:
    record.store.append(KEY, "user", message_id, "on_ada", message_id)


def lose(cluster: Cluster, place: str) -> None:
    """The last two lines, as a server that took over without them."""
    schema = place.partition("#")[2]
    cluster.execute(
        *(f"DELETE FROM {schema}.{table} WHERE seq > 3" for table in ("lines", "ids")),
        f"UPDATE {schema}.chats SET seq = 3",
    )


def test_who_reads_on_is_given_what_comes_then(record: Record, cluster: Cluster, postgres_place: str) -> None:
    cursor = record.store.end(KEY)
    lose(cluster, postgres_place)
    page = record.store.read(KEY, cursor)
    assert page.entries == []
    assert record.store.changes(KEY, cursor).erased
    say(record, "om_new")
    assert [entry["message_id"] for entry in record.store.read(KEY, page.cursor).entries] == ["om_new"]


async def test_who_follows_is_given_what_comes_then(record: Record, cluster: Cluster, postgres_place: str) -> None:
    seen: list[str | None] = []
    looked = asyncio.Event()
    cursor = record.store.end(KEY)

    async def follow() -> None:
        async for entry in record.store.follow(KEY, cursor):
            seen.append(entry["message_id"])
            looked.set()

    following = asyncio.create_task(follow())
    await asyncio.to_thread(say, record, "om_5")
    await looked.wait()
    await asyncio.to_thread(lose, cluster, postgres_place)
    numbers = count(6)
    async with asyncio.timeout(PATIENCE):
        while len(seen) < 2:
            await asyncio.to_thread(say, record, f"om_{next(numbers)}")
    following.cancel()
