"""Every backend of ``QueueStore`` goes through the same suite; a new one is added to ``BACKENDS``."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.queues import Clocks

from transcript_mcp.io_bridge import Limits, QueueStore, SqliteQueueStore

MakeStore = Callable[..., QueueStore]


def sqlite_store(folder: Path, limits: Limits, clocks: Clocks) -> QueueStore:
    return SqliteQueueStore(folder, limits, clock=lambda: clocks.wall, monotonic=lambda: clocks.steady)


BACKENDS: dict[str, Callable[[Path, Limits, Clocks], QueueStore]] = {"sqlite": sqlite_store}


@pytest.fixture
def clocks() -> Clocks:
    """What the stores take for the time."""
    return Clocks()


@pytest.fixture(params=sorted(BACKENDS))
def make_store(request: pytest.FixtureRequest, tmp_path: Path, clocks: Clocks) -> Iterator[MakeStore]:
    """``make_store(items=3)``: one more store on the same place, as another process would have."""
    opened: list[QueueStore] = []

    def make(**limits: Any) -> QueueStore:
        opened.append(BACKENDS[request.param](tmp_path / "hub", Limits(**limits), clocks))
        return opened[-1]

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def store(make_store: MakeStore) -> QueueStore:
    """An empty store."""
    return make_store()
