"""The age of a message by clocks that differ."""

from typing import Any

import pytest

from nanobot_transcript.turns.message_age import age_ms

MINUTE = 60_000


def entry(ts: float, rts: float | None = None, **fields: Any) -> Any:
    received = {} if rts is None else {"rts": rts}
    return {"role": "user", "content": "x", "sender": "on_ada", "message_id": "om_1", "ts": ts, **received, **fields}


def test_without_other_knowledge_the_clocks_agree() -> None:
    assert age_ms(entry(1_000), [], 5_000) == 4_000


@pytest.mark.parametrize("apart", [0, 3 * MINUTE, 14 * MINUTE])
def test_a_clock_that_is_minutes_ahead_makes_no_message_older(apart: int) -> None:
    near = [entry(at, at + delay + apart) for at, delay in ((0, 5_000), (1_000, 200), (2_000, 90_000))]
    assert age_ms(near[-1], near, 10_000 + apart) == pytest.approx(8_000, abs=200)


def test_one_time_in_the_future_makes_no_other_message_older() -> None:
    message = entry(0, 100)
    assert age_ms(message, [message, entry(10 * MINUTE, 200)], 1_000) == 1_000


def test_what_comes_hours_late_is_no_sign_of_a_wrong_clock() -> None:
    late = entry(0, 120 * MINUTE)
    assert age_ms(late, [late], 120 * MINUTE) > 100 * MINUTE


def test_what_the_history_brought_says_nothing_about_the_clocks() -> None:
    filled = entry(0, 10 * MINUTE, source="history")
    assert age_ms(filled, [filled], 10 * MINUTE) == 10 * MINUTE


def test_a_clock_that_is_behind_makes_no_message_younger() -> None:
    near = [entry(at, at + delay - 40 * MINUTE) for at, delay in ((0, 900), (1_000, 200), (2_000, 90_000))]
    assert age_ms(near[-1], near, 10_000 - 40 * MINUTE) == pytest.approx(8_000, abs=1_000)


def test_without_a_time_now_the_time_of_receipt_counts() -> None:
    assert age_ms(entry(1_000, 3_000), [], None) == 2_000
    assert age_ms(entry(1_000), [], None) == 0


@pytest.mark.parametrize("source", ["history", "import", "send", "stream"])
def test_without_a_time_now_what_was_not_pushed_counts_as_on_time(source: str) -> None:
    message = entry(0, 120 * MINUTE, source=source)
    assert age_ms(message, [message], None) == 0
    assert age_ms(message, [message], 150 * MINUTE) == 150 * MINUTE


@pytest.mark.parametrize("source", ["event", "peer_event", "something newer", ["import"], {}, None])
def test_what_came_by_no_known_way_was_pushed(source: Any) -> None:
    message = entry(0, 20 * MINUTE, source=source)
    assert age_ms(message, [], None) == 20 * MINUTE
    assert age_ms(message, [entry(0, 14 * MINUTE, source=source)], None) == 6 * MINUTE


@pytest.mark.parametrize("odd", ["soon", None, float("nan"), float("inf"), True, 10**400, [1]])
def test_what_is_no_time_says_nothing(odd: Any) -> None:
    assert age_ms(entry(odd, 5), [entry(odd, odd)], 1_000) == 0
    assert age_ms(entry(1_000, odd), [entry(odd, 7), entry(7, odd)], 5_000) == 4_000
