"""Leases, budgets and marks of every kind of record."""

from collections.abc import Callable

import pytest
from contract.conftest import MakeRecord

from nanobot_transcript.coordination.contract import Budget, Lease, Marks

MakeLease = Callable[[], Lease]
MakeBudget = Callable[[], Budget]
MakeMarks = Callable[[], Marks]


@pytest.fixture
def make_lease(make_record: MakeRecord) -> MakeLease:
    """One more object on the same place, as another process would have."""
    return lambda: make_record().leases


@pytest.fixture
def make_budget(make_record: MakeRecord) -> MakeBudget:
    """One more object on the same place, as another process would have."""
    return lambda: make_record().budgets


@pytest.fixture
def make_marks(make_record: MakeRecord) -> MakeMarks:
    """One more object on the same place, as another process would have."""
    return lambda: make_record().marks


@pytest.fixture
def lease(make_lease: MakeLease) -> Lease:
    """A place where nothing is held."""
    return make_lease()


@pytest.fixture
def budget(make_budget: MakeBudget) -> Budget:
    """A place where nothing was used."""
    return make_budget()
