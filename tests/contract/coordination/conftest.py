"""Every backend of leases, budgets and marks goes through the same suite; a new one is added to ``BACKENDS``."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from nanobot_transcript.coordination.contract import Budget, Lease, Marks
from nanobot_transcript.coordination.files.budget import FileBudget
from nanobot_transcript.coordination.files.lease import FileLease
from nanobot_transcript.coordination.files.marks import FileMarks

MakeLease = Callable[[], Lease]
MakeBudget = Callable[[], Budget]
MakeMarks = Callable[[], Marks]


class Backend(NamedTuple):
    """What opens each of them at a place."""

    lease: Callable[[Path], Lease]
    budget: Callable[[Path], Budget]
    marks: Callable[[Path], Marks]


BACKENDS = {"files": Backend(FileLease, FileBudget, FileMarks)}


@pytest.fixture(params=sorted(BACKENDS))
def make_lease(request: pytest.FixtureRequest, tmp_path: Path) -> MakeLease:
    """One more object on the same place, as another process would have."""
    return lambda: BACKENDS[request.param].lease(tmp_path / "transcripts")


@pytest.fixture(params=sorted(BACKENDS))
def make_budget(request: pytest.FixtureRequest, tmp_path: Path) -> MakeBudget:
    """One more object on the same place, as another process would have."""
    return lambda: BACKENDS[request.param].budget(tmp_path / "transcripts")


@pytest.fixture(params=sorted(BACKENDS))
def make_marks(request: pytest.FixtureRequest, tmp_path: Path) -> MakeMarks:
    """One more object on the same place, as another process would have."""
    return lambda: BACKENDS[request.param].marks(tmp_path / "transcripts")


@pytest.fixture
def lease(make_lease: MakeLease) -> Lease:
    """A place where nothing is held."""
    return make_lease()


@pytest.fixture
def budget(make_budget: MakeBudget) -> Budget:
    """A place where nothing was used."""
    return make_budget()
