"""Places in a chat as clients name them."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nanobot_transcript.errors import InvalidCursorError
from transcript_mcp.transcript.positions import AtMessage, AtTime, position

KEY = "feishu:oc_team"
SHANGHAI = timezone(timedelta(hours=8))


def entry(number: int, **fields: Any) -> Any:
    message = {"role": "user", "content": f"{number}", "sender": "on_ada", "message_id": f"om_{number}"}
    return {**message, "ts": 1000.0 * number, **fields}


@settings(deadline=None, max_examples=60)
@given(st.integers(-(10**15), 10**15), st.integers(0, 10**9), st.text(max_size=10))
def test_a_cursor_leads_back_to_its_place(ts: int, depth: int, key: str) -> None:
    for bound in (None, "c1.7a54f7.1.e2a6"):
        place = AtMessage.of(entry(1, ts=float(ts)), depth, bound)
        assert position(key, place.cursor(key), None) == place


def test_the_cursor_of_another_chat_is_refused() -> None:
    cursor = AtMessage.of(entry(1)).cursor("feishu:oc_other")
    with pytest.raises(InvalidCursorError, match="another chat"):
        position(KEY, cursor, None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2025-11-20", "2025-11-20T00:00:00+08:00"),
        ("2025-11-20T09:30", "2025-11-20T09:30:00+08:00"),
        (" 2025-11-20 09:30:15 ", "2025-11-20T09:30:15+08:00"),
        ("2025-11-20T09:30+02:00", "2025-11-20T09:30:00+02:00"),
        ("2025-11-20T09:30Z", "2025-11-20T09:30:00+00:00"),
    ],
)
def test_times_are_of_the_zone_that_is_shown_unless_they_say_otherwise(text: str, expected: str) -> None:
    assert position(KEY, text, SHANGHAI) == AtTime(datetime.fromisoformat(expected).timestamp() * 1000)


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("30m", 1800), ("5 min", 300), ("2h", 7200), ("1d", 86400)])
def test_an_age_counts_back_from_now(text: str, seconds: int) -> None:
    earliest = datetime.now(UTC).timestamp()
    place = position(KEY, text, SHANGHAI)
    latest = datetime.now(UTC).timestamp()
    assert isinstance(place, AtTime)
    assert earliest <= place.ts / 1000 + seconds <= latest


@pytest.mark.parametrize(
    "text",
    ["", "om_1", "c1.abc.1.2", "2025", "20251120", "2025-13-01", "999999w", "9999-12-31T23:59", "m1.x.y", "\ud800"],
)
def test_whatever_else_is_no_place_or_one_far_away(text: str) -> None:
    assert position(KEY, text, SHANGHAI) is None or text.startswith("9999")


def test_a_message_is_found_by_what_it_is() -> None:
    entries = [entry(number) for number in range(10)]
    assert AtMessage.of(entries[4]).find(entries, whole=False) == (4, 5)
    edited = [*entries[:4], entry(4, content="edited"), *entries[5:]]
    assert AtMessage.of(entries[4]).find(edited, whole=False) == (4, 5)


def test_a_message_without_id_is_found_by_its_text() -> None:
    entries = [entry(number, message_id=None) for number in range(10)]
    assert AtMessage.of(entries[4]).find(entries, whole=False) == (4, 5)


def test_the_time_of_a_message_stands_in_when_it_is_gone() -> None:
    entries = [entry(number) for number in range(200)]
    gone = entries.pop(150)
    assert AtMessage.of(gone).find(entries, whole=False) == (150, 150)


def test_near_the_edge_of_a_part_of_the_chat_a_time_proves_nothing() -> None:
    entries = [entry(number) for number in range(200)]
    assert AtTime(entries[10]["ts"]).find(entries, whole=False) is None
    assert AtTime(entries[10]["ts"]).find(entries, whole=True) == (10, 10)
    assert AtTime(entries[100]["ts"]).find(entries, whole=False) == (100, 100)


def test_a_time_from_the_far_future_in_one_message_misleads_nobody() -> None:
    entries = [entry(number, rts=1000 * number) for number in range(200)]
    entries[20]["ts"] = 1e15
    assert AtTime(100_000.0).find(entries, whole=True) == (100, 100)
