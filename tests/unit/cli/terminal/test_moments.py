"""Points in time as people write them."""

from datetime import date, datetime

import pytest

from nanobot_transcript.cli.terminal.exit_codes import UsageError
from nanobot_transcript.cli.terminal.moments import day_called, local, moment_ms

NOW = datetime(2025, 11, 20, 14, 7, 3).astimezone()
"""A Thursday."""


def shown(text: str) -> str:
    moment = moment_ms(text, NOW)
    assert moment is not None
    return f"{local(moment):%m-%d %H:%M:%S}"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30m", 1800),
        ("45 minutes", 2700),
        ("2h", 7200),
        ("1 Hour ago", 3600),
        ("3 d", 259_200),
        ("1w", 604_800),
        ("2小时", 7200),
        ("3 天前", 259_200),
        ("now", 0),
        ("现在", 0),
    ],
)
def test_an_age_counts_back_from_now(text: str, seconds: int) -> None:
    assert moment_ms(text, NOW) == (NOW.timestamp() - seconds) * 1000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2025-11-20", "2025-11-20 00:00:00"),
        ("2025-11-20T20:30", "2025-11-20 20:30:00"),
        ("2025-11-20 20:30:15", "2025-11-20 20:30:15"),
    ],
)
def test_a_day_or_a_day_and_time_is_local(text: str, expected: str) -> None:
    moment = moment_ms(text)
    assert moment is not None
    assert f"{local(moment):%Y-%m-%d %H:%M:%S}" == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("20:30", "11-20 20:30:00"),
        ("7:05", "11-20 07:05:00"),
        ("7:05:09", "11-20 07:05:09"),
        ("today", "11-20 00:00:00"),
        ("Yesterday", "11-19 00:00:00"),
        ("yesterday 20:30", "11-19 20:30:00"),
        ("前天", "11-18 00:00:00"),
        ("昨天20:30", "11-19 20:30:00"),
        ("monday", "11-17 00:00:00"),
        ("Sat 9:00", "11-15 09:00:00"),
        ("周日", "11-16 00:00:00"),
        ("星期天 9:00", "11-16 09:00:00"),
    ],
)
def test_a_day_in_words_begins_at_midnight_and_a_time_alone_is_today(text: str, expected: str) -> None:
    assert shown(text) == expected


def test_a_weekday_is_the_latest_one_and_may_be_today() -> None:
    assert shown("thursday") == "11-20 00:00:00"


def test_a_day_can_be_named_alone() -> None:
    assert day_called("2025-11-20") == date(2025, 11, 20)
    assert day_called("yesterday") < day_called("today")
    for text in ("20:30", "2h", "", "2025-13-01"):
        with pytest.raises(UsageError, match="is not a day"):
            day_called(text)


def test_a_zone_counts() -> None:
    assert moment_ms("2024-05-01T12:00:00Z") == 1_714_564_800_000


@pytest.mark.parametrize(
    "text", ["soon", "25:99", "yesterday 25:00", "2025-13-01", "", "99999999999w", "9" * 5000 + "d", "天", "0001-01-01"]
)
def test_anything_else_is_refused_with_examples(text: str) -> None:
    with pytest.raises(UsageError, match="is not a time") as caught:
        moment_ms(text)
    assert "2h" in caught.value.hint


def test_no_time_is_no_limit() -> None:
    assert moment_ms(None) is None


@pytest.mark.parametrize("ts", [float("nan"), 1e30, -1e30])
def test_what_no_calendar_holds_becomes_1970(ts: float) -> None:
    assert local(ts).year in (1969, 1970)
