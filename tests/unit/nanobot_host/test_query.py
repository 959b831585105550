"""What the agent may ask of the record."""

import json
import time
from datetime import UTC
from typing import Any

import pytest

from transcript_channels.nanobot_host.host import Host
from transcript_channels.nanobot_host.query import QueryError, RecordQuery

KEY = "feishu:oc_1"
NOON = 1763640000000  # 2025-11-20 12:00 UTC


@pytest.fixture
def query(host: Host) -> RecordQuery:
    """A chat in which Ada and Bo took turns, ten lines, a minute apart."""
    for number in range(10):
        person = "ada" if number % 2 == 0 else "bo"
        host.record.store.append(KEY, "user", f"line {number}", f"on_{person}", f"om_{number}", NOON + number * 60_000)
    for person, name in (("on_ada", "Ada Wong"), ("on_bo", "Bo")):
        host.record.store.members.remember_person(person, name)
        host.record.store.members.saw(KEY, person)
    host.record.store.append("feishu:oc_2", "user", "elsewhere, line 1", "on_ada", "om_x")
    return RecordQuery(host, UTC)


async def ask(record: RecordQuery, **options: Any) -> list[str]:
    answer = await record.answer("oc_1", "cli_a", **options)
    found = [json.loads(line) for line in answer.text.splitlines() if line.startswith("{")]
    assert answer.message_ids == [line["id"] for line in found]
    return [line["text"] for line in found]


def lines(*numbers: int) -> list[str]:
    return [f"line {number}" for number in numbers]


async def test_the_newest_come_oldest_first(query: RecordQuery) -> None:
    assert await ask(query, limit=3) == lines(7, 8, 9)
    assert await ask(query) == lines(*range(10))


async def test_a_member_is_found_by_name_part_of_it_or_id(query: RecordQuery) -> None:
    for member in ("Ada Wong", "ada", "@Ada", "on_ada"):
        assert await ask(query, member=member) == lines(0, 2, 4, 6, 8)
    assert await ask(query, member="Chen") == []
    assert await ask(query, member="Bo", limit=2) == lines(7, 9)


async def test_since_takes_a_time_an_age_or_a_cursor(query: RecordQuery, host: Host) -> None:
    assert await ask(query, since="2025-11-20T12:08") == lines(8, 9)
    assert await ask(query, since="2025-11-20T13:08+01:00") == lines(8, 9)
    cursor = host.record.store.read(KEY, None, 4).cursor
    assert await ask(query, since=cursor, limit=2) == lines(4, 5)
    host.record.store.append(KEY, "user", "an hour ago", "on_ada", "om_new", int(time.time() * 1000) - 3_600_000)
    assert await ask(query, since="3600s") == await ask(query, since="60m") == await ask(query, since="1h") == []
    assert await ask(query, since="7200s") == await ask(query, since="120m") == ["an hour ago"]
    assert await ask(query, since="2h") == await ask(query, since="1d") == ["an hour ago"]


async def test_an_answer_carries_the_cursor_for_the_next_question(query: RecordQuery, host: Host) -> None:
    answer = await query.answer("oc_1", "cli_a", limit=1)
    cursor = answer.text.rpartition("since=")[2]
    assert await ask(query, since=cursor) == []
    host.record.store.append(KEY, "user", "line 10", "on_ada", "om_10")
    assert await ask(query, since=cursor) == lines(10)


async def test_text_is_searched_in_this_chat_only(query: RecordQuery) -> None:
    assert await ask(query, query="line 1") == lines(1)
    assert await ask(query, query="line", member="Bo", limit=2) == lines(7, 9)
    assert await ask(query, query="line", since="2025-11-20T12:08") == lines(8, 9)
    assert await ask(query, query="nowhere") == []


async def test_a_wrong_since_says_what_is_right(query: RecordQuery) -> None:
    with pytest.raises(QueryError, match="a time such as"):
        await ask(query, since="yesterday")


async def test_too_much_text_is_cut_from_the_oldest_on(query: RecordQuery, host: Host) -> None:
    for number in range(8):
        host.record.store.append(KEY, "user", "x" * 9000, "on_ada", f"om_long_{number}")
    answer = await query.answer("oc_1", "cli_a")
    assert len(answer.text) < 30_000
    assert "did not fit" in answer.text


async def test_an_empty_chat_says_so(query: RecordQuery) -> None:
    answer = await query.answer("oc_empty", "cli_a")
    assert "No message" in answer.text
