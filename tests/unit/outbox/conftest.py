"""An outbox with a clock that goes when told."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nanobot_transcript.coordination.files.signals import FileSignals
from nanobot_transcript.outbox import Outbox, OutboxLimits

MakeOutbox = Callable[..., Outbox]

in_a_file = pytest.mark.parametrize("make_outbox", ["sqlite"], indirect=True)
"""For what is so in a file alone."""


class Clock:
    """Seconds since 1970, as told."""

    def __init__(self) -> None:
        self.now = 1_763_600_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    """The clock of this test's outboxes."""
    return Clock()


@pytest.fixture(params=["sqlite", "postgres"])
def make_outbox(request: pytest.FixtureRequest, base_dir: Path, clock: Clock) -> Iterator[MakeOutbox]:
    """``make_outbox(lease=5)``: one more outbox object on ``base_dir``, as another process would have; and again over
    tables in PostgreSQL.
    """
    opened: list[Outbox] = []
    place = base_dir if request.param == "sqlite" else request.getfixturevalue("engine")

    def make(**limits: Any) -> Outbox:
        opened.append(Outbox(place, OutboxLimits(**limits), clock=clock, signals=FileSignals(base_dir)))
        return opened[-1]

    yield make
    for outbox in opened:
        outbox.close()


@pytest.fixture
def outbox(make_outbox: MakeOutbox) -> Outbox:
    """An outbox with nothing in it."""
    return make_outbox()
