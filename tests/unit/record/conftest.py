"""A record over a network that fails when a test says so, and processes that spool for it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.far_backend import FaultyFar

from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.record.spool.backend import SpooledBackend
from nanobot_transcript.record.spool.limits import SpoolLimits

MakeProcess = Callable[..., GroupTranscriptStore]


@pytest.fixture
def far(tmp_path: Path) -> FaultyFar:
    """See ``FaultyFar``."""
    return FaultyFar(tmp_path / "far")


@pytest.fixture
def record(far: FaultyFar) -> GroupTranscriptStore:
    """The record itself, as another machine sees it."""
    return GroupTranscriptStore(backend=far)


@pytest.fixture
def process(far: FaultyFar, tmp_path: Path) -> Iterator[MakeProcess]:
    """``process(bytes=1000)``: a store with a spool of its own, as a process has one."""
    opened: list[GroupTranscriptStore] = []

    def make(at: FaultyFar = far, spool: Path = tmp_path / "spool", **limits: float) -> GroupTranscriptStore:
        chosen = {"read_seconds": 60.0, "close_seconds": 60.0, "look_seconds": 0.0} | limits
        backend = SpooledBackend(at, spool, limits=SpoolLimits(**chosen), pause=lambda failures: 0.01)  # pyright: ignore[reportArgumentType]
        opened.append(GroupTranscriptStore(backend=backend))
        return opened[-1]

    yield make
    for far_one in {id(one.backend.far): one.backend.far for one in opened}.values():  # type: ignore[attr-defined]
        far_one.down = far_one.deaf = False
        far_one.busy = frozenset()
    for one in opened:
        one.close()
