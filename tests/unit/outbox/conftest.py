"""An outbox with a clock that goes when told."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nanobot_transcript.outbox import Outbox, OutboxLimits

MakeOutbox = Callable[..., Outbox]


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


@pytest.fixture
def make_outbox(base_dir: Path, clock: Clock) -> Iterator[MakeOutbox]:
    """``make_outbox(lease=5)``: one more outbox object on ``base_dir``, as another process would have."""
    opened: list[Outbox] = []

    def make(**limits: Any) -> Outbox:
        opened.append(Outbox(base_dir, OutboxLimits(**limits), clock=clock))
        return opened[-1]

    yield make
    for outbox in opened:
        outbox.close()


@pytest.fixture
def outbox(make_outbox: MakeOutbox) -> Outbox:
    """An outbox with nothing in it."""
    return make_outbox()
