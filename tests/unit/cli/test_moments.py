"""Points in time as people write them."""

import time

import pytest

from nanobot_transcript.cli.moments import local, moment_ms
from nanobot_transcript.cli.problems import UsageError


@pytest.mark.parametrize(("text", "seconds"), [("30m", 1800), ("2h", 7200), ("3 d", 259_200), ("1w", 604_800)])
def test_an_age_counts_back_from_now(text: str, seconds: int) -> None:
    before = (time.time() - seconds) * 1000
    moment = moment_ms(text)
    assert moment is not None
    assert before - 3_600_000 <= moment <= time.time() * 1000 - seconds * 1000 + 3_600_000


def test_now_is_now() -> None:
    before = time.time() * 1000
    moment = moment_ms("now")
    assert moment is not None
    assert before - 1 <= moment <= time.time() * 1000 + 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2025-11-20", "2025-11-20 00:00:00"),
        ("2025-11-20T20:30", "2025-11-20 20:30:00"),
        ("2025-11-20 20:30:15", "2025-11-20 20:30:15"),
    ],
)
def test_a_day_or_a_day_and_time_is_local(text: str, shown: str) -> None:
    moment = moment_ms(text)
    assert moment is not None
    assert f"{local(moment):%Y-%m-%d %H:%M:%S}" == shown


@pytest.mark.parametrize(("text", "shown"), [("20:30", "20:30:00"), ("7:05", "07:05:00"), ("7:05:09", "07:05:09")])
def test_a_time_alone_is_today(text: str, shown: str) -> None:
    moment = moment_ms(text)
    assert moment is not None
    assert f"{local(moment):%H:%M:%S}" == shown


def test_a_zone_counts() -> None:
    assert moment_ms("2024-05-01T12:00:00Z") == 1_714_564_800_000


@pytest.mark.parametrize("text", ["soon", "25:99", "2025-13-01", "", "99999999999w"])
def test_anything_else_is_refused_with_examples(text: str) -> None:
    with pytest.raises(UsageError, match="no point in time") as caught:
        moment_ms(text)
    assert "2h" in caught.value.hint


def test_no_time_is_no_limit() -> None:
    assert moment_ms(None) is None


@pytest.mark.parametrize("ts", [float("nan"), 1e30, -1e30])
def test_what_no_calendar_holds_becomes_1970(ts: float) -> None:
    assert local(ts).year in (1969, 1970)
