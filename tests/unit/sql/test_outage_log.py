"""A database that is away is told of once, and so is that it is back; a moment is not worth a word."""

import logging

import pytest

from nanobot_transcript.errors import StoreUnavailableError
from nanobot_transcript.sql.outage import AwayError, level_of
from nanobot_transcript.sql.postgres.outage_log import Outage

AWAY = AwayError("db is away.", hint="Start it.")


def test_it_is_said_once_until_it_is_over(caplog: pytest.LogCaptureFixture) -> None:
    clock = [0.0]
    outage = Outage(lambda: clock[0])
    for _ in range(2):
        for _ in range(30):
            outage.failed(AWAY)
            clock[0] += 0.4
        outage.over()
        outage.over()
    away = "db is away. Start it. Until it is back, this is not logged again."
    assert [record.getMessage() for record in caplog.records] == [away, "The database is back after 12 s."] * 2
    assert {record.levelno for record in caplog.records} == {logging.WARNING}


def test_what_waits_for_its_end_is_done_then() -> None:
    done: list[str] = []
    outage = Outage()
    outage.then = lambda: done.append("handed on")
    outage.over()
    assert done == []
    outage.failed(AWAY)
    outage.over()
    outage.over()
    assert done == ["handed on"]


def test_what_is_over_in_a_moment_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    clock = [0.0]
    outage = Outage(lambda: clock[0])
    for _ in range(10):
        outage.failed(AWAY)
        clock[0] += 0.9
        outage.failed(AWAY)
        outage.over()
    assert caplog.records == []


def test_who_goes_on_without_it_says_so_at_a_level_that_nobody_sees() -> None:
    assert level_of(AWAY, logging.ERROR) == level_of(AWAY.about("Alpha"), logging.ERROR) == logging.DEBUG
    assert level_of(StoreUnavailableError("It is newer."), logging.ERROR) == logging.ERROR
