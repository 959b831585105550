"""Every backend of ``Lease`` and ``Budget`` goes through the same suite; a new one is added to ``BACKENDS``."""

from collections.abc import Callable
from pathlib import Path

import pytest

from nanobot_transcript.turns import Budget, FileBudget, FileLease, Lease

MakeLease = Callable[[], Lease]
MakeBudget = Callable[[], Budget]

BACKENDS: dict[str, tuple[Callable[[Path], Lease], Callable[[Path], Budget]]] = {"files": (FileLease, FileBudget)}


@pytest.fixture(params=sorted(BACKENDS))
def make_lease(request: pytest.FixtureRequest, tmp_path: Path) -> MakeLease:
    """One more object on the same place, as another process would have."""
    return lambda: BACKENDS[request.param][0](tmp_path / "transcripts")


@pytest.fixture(params=sorted(BACKENDS))
def make_budget(request: pytest.FixtureRequest, tmp_path: Path) -> MakeBudget:
    """One more object on the same place, as another process would have."""
    return lambda: BACKENDS[request.param][1](tmp_path / "transcripts")


@pytest.fixture
def lease(make_lease: MakeLease) -> Lease:
    """A place where nothing is held."""
    return make_lease()


@pytest.fixture
def budget(make_budget: MakeBudget) -> Budget:
    """A place where nothing was used."""
    return make_budget()
