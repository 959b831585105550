"""What a budget promises, whatever keeps it."""

import threading
import time
from collections.abc import Callable

import pytest
from support.procs import until
from support.waiting import PATIENCE

from nanobot_transcript import ConfigError, StoreBusyError
from nanobot_transcript.turns import Budget

MakeBudget = Callable[[], Budget]
STEP = 0.02
"""Seconds that a clock which goes in steps may be behind."""


def test_no_more_than_the_limit_is_granted(budget: Budget, make_budget: MakeBudget) -> None:
    granted = [(budget if number % 2 else make_budget()).take("calls", limit=5, window=60) for number in range(8)]
    assert granted == [True] * 5 + [False] * 3


def test_everybody_takes_from_the_same(budget: Budget, make_budget: MakeBudget) -> None:
    assert budget.take("calls", 2, limit=5, window=60)
    assert not make_budget().take("calls", 4, limit=5, window=60)
    assert make_budget().take("calls", 3, limit=5, window=60)


def test_what_does_not_fit_as_a_whole_is_refused_and_not_counted(budget: Budget) -> None:
    assert budget.take("calls", 4, limit=5, window=60)
    assert not budget.take("calls", 2, limit=5, window=60)
    assert budget.take("calls", 1, limit=5, window=60)
    assert not budget.take("calls", limit=5, window=60)


def test_what_was_used_comes_back_after_the_window(budget: Budget) -> None:
    assert budget.take("calls", limit=1, window=0.1)
    until(lambda: budget.take("calls", limit=1, window=0.1), "the window passed")


@pytest.mark.parametrize("window", [0.23, 0.31, 0.37])
def test_what_was_used_late_counts_for_a_whole_window_from_then_on(budget: Budget, window: float) -> None:
    """Wherever a window may begin anew: of one that does, some of these lengths meet the end too early."""

    def take(cost: int) -> bool:
        return budget.take("calls", cost, limit=3, window=window)

    def take_other() -> bool:
        return budget.take("other calls", limit=1, window=0.47 * window)

    assert take(1)
    assert take_other()
    until(take_other, "nearly half of the window passed")
    before = time.time()
    assert take(2)
    until(lambda: take(2), "the window passed")
    assert time.time() - before > window - STEP


def test_many_threads_are_granted_the_limit_together(make_budget: MakeBudget) -> None:
    names = [f"calls {number}" for number in range(10)]
    granted: list[str] = []
    start = threading.Barrier(4)

    def work() -> None:
        budget = make_budget()
        start.wait()
        for name in names * 20:
            granted.extend([name] * take_once(budget, name))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert [granted.count(name) for name in names] == [50] * len(names)


def take_once(budget: Budget, name: str) -> bool:
    """Ask once and be told, however often the others keep this one waiting too long."""
    while True:
        try:
            return budget.take(name, limit=50, window=PATIENCE * 10)
        except StoreBusyError:
            continue


def test_names_do_not_share(budget: Budget) -> None:
    for name in ("", "..", "a/b", "\0", "额度", "\ud83d", "x" * 10_000, "A", "a"):
        assert budget.take(name, limit=1, window=60)
        assert not budget.take(name, limit=1, window=60)


def test_a_limit_of_nothing_grants_nothing(budget: Budget) -> None:
    assert not budget.take("calls", limit=0, window=60)


def test_a_smaller_limit_than_before_grants_nothing(budget: Budget) -> None:
    budget.take("calls", 5, limit=5, window=60)
    assert not budget.take("calls", limit=3, window=60)
    assert budget.take("calls", limit=6, window=60)


def test_asking_for_nothing_is_granted_within_the_limit(budget: Budget) -> None:
    assert budget.take("calls", 0, limit=1, window=60)
    assert budget.take("calls", limit=1, window=60)


@pytest.mark.parametrize(("cost", "window"), [(-1, 60), (1, 0), (1, -5), (1, float("nan")), (1, float("inf"))])
def test_what_cannot_be_counted_is_refused(budget: Budget, cost: int, window: float) -> None:
    with pytest.raises(ConfigError):
        budget.take("calls", cost, limit=5, window=window)


def test_what_was_used_is_told_to_everybody_and_takes_nothing(budget: Budget, make_budget: MakeBudget) -> None:
    assert budget.used("calls", window=60) == 0
    assert budget.take("calls", 4, limit=5, window=60)
    assert not budget.take("calls", 2, limit=5, window=60)
    assert [make_budget().used("calls", window=60) for _ in range(3)] == [4] * 3
    assert budget.used("others", window=60) == 0
    assert budget.take("calls", limit=5, window=60)


def test_what_was_used_is_told_until_the_window_has_passed(budget: Budget) -> None:
    assert budget.take("calls", limit=1, window=0.1)
    until(lambda: budget.used("calls", window=0.1) == 0, "the window passed")


@pytest.mark.parametrize("window", [0, -5, float("nan"), float("inf")])
def test_nobody_is_told_what_was_used_in_a_time_that_is_none(budget: Budget, window: float) -> None:
    with pytest.raises(ConfigError):
        budget.used("calls", window=window)
