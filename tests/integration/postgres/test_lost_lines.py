"""Lines that were lost with the server they were on: who had come further goes on where the record ends now."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from support.places import open_record
from support.postgres import Cluster
from support.waiting import until

from nanobot_transcript.record import Record
from nanobot_transcript.record.postgres import follower

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


def test_who_reads_on_is_given_what_comes_when_the_whole_chat_was_lost(
    record: Record, cluster: Cluster, postgres_place: str
) -> None:
    cursor = record.store.end(KEY)
    schema = postgres_place.partition("#")[2]
    cluster.execute(*(f"DELETE FROM {schema}.{table}" for table in ("lines", "ids", "chats")))
    page = record.store.read(KEY, cursor)
    say(record, "om_new")
    assert [entry["message_id"] for entry in record.store.read(KEY, page.cursor).entries] == ["om_new"]


async def test_who_follows_is_given_what_comes_then(
    record: Record, cluster: Cluster, postgres_place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str | None] = []
    ends: list[int] = []
    cursor, behind = record.store.end(KEY), follower._behind

    def looked(*asked: Any) -> Any:
        told = behind(*asked)
        if told is not None and told[0] is not None and not told[1]:
            ends.append(told[0].seq)
        return told

    async def listen() -> None:
        async for entry in record.store.follow(KEY, cursor):
            seen.append(entry["message_id"])  # noqa: PERF401 - it never ends

    monkeypatch.setattr(follower, "_behind", looked)
    following = asyncio.create_task(listen())
    await asyncio.to_thread(say, record, "om_5")
    await until(lambda: seen == ["om_5"])
    await asyncio.to_thread(lose, cluster, postgres_place)
    await asyncio.to_thread(say, record, "om_6")
    await until(lambda: ends[-1:] == [4])  # it has noticed where the record ends now
    await asyncio.to_thread(say, record, "om_7")
    await until(lambda: seen[1:] == ["om_7"])
    following.cancel()
