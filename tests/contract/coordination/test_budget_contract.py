"""What a budget promises, whatever keeps it."""

from collections.abc import Callable

import pytest
from support.procs import until

from nanobot_transcript import ConfigError
from nanobot_transcript.turns import Budget

MakeBudget = Callable[[], Budget]


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
