"""Time that no setting of the clock changes."""

import time

import pytest

from nanobot_transcript.coordination import clock
from nanobot_transcript.coordination.clock import Moment, by_the_clock, moment


def test_seconds_between_two_moments_of_one_start() -> None:
    assert Moment("a", 2.0).until(Moment("a", 5.5)) == 3.5


@pytest.mark.parametrize("later", [Moment("b", 5.5), Moment()])
def test_nobody_knows_how_long_the_machine_was_off(later: Moment) -> None:
    assert Moment("a", 2.0).until(later) is None
    assert Moment().until(later) is None


@pytest.mark.skipif(not moment().boot, reason="this system does not tell one start of the machine from another")
def test_it_counts_real_seconds() -> None:
    begun, before = time.monotonic(), moment()
    inside = time.monotonic()
    while time.monotonic() < inside + 0.05:
        continue
    over = time.monotonic()
    passed = before.until(moment())
    assert passed is not None
    assert over - inside <= passed + 0.01
    assert passed <= time.monotonic() - begun + 0.01


@pytest.mark.skipif(not moment().boot, reason="this system does not tell one start of the machine from another")
@pytest.mark.parametrize("set_by", [86_400.0, -86_400.0])
def test_what_was_before_the_clock_was_set_is_told_by_the_clock_of_now(set_by: float) -> None:
    earliest = time.time()
    now = moment()
    latest = time.time()
    then = Moment(now.boot, now.seconds - 30)
    assert earliest - 31 <= by_the_clock(then, earliest - 30 - set_by) <= latest - 29
    assert by_the_clock(then, told := earliest - 31) == told
    assert by_the_clock(Moment("another start", 5.0), 17.0) == 17.0


@pytest.fixture
def known_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that tells one start of the machine from another."""
    monkeypatch.setattr(clock, "_boot", lambda: "a")


@pytest.mark.usefixtures("known_start")
def test_it_counts_while_the_machine_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    slept = 7
    monkeypatch.setattr(time, "CLOCK_BOOTTIME", slept, raising=False)
    monkeypatch.setattr(time, "clock_gettime", {slept: 3600.0}.__getitem__, raising=False)
    assert moment() == Moment("a", 3600.0)


@pytest.mark.usefixtures("known_start")
def test_nothing_is_known_where_no_clock_does_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_clock: int) -> float:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(time, "CLOCK_BOOTTIME", 7, raising=False)
    monkeypatch.setattr(time, "clock_gettime", unknown, raising=False)
    assert moment() == Moment()
    monkeypatch.delattr(time, "CLOCK_BOOTTIME")
    assert moment() == Moment()
