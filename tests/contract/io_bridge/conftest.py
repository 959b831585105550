"""Every backend of ``QueueStore`` goes through the same suite; a new one is added to ``BACKENDS``."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.queues import Clocks

from nanobot_transcript.sql.location import Shelf
from transcript_mcp.io_bridge.contract import QueueStore
from transcript_mcp.io_bridge.store import SqlQueueStore
from transcript_mcp.io_bridge.values import Limits

MakeStore = Callable[..., QueueStore]


BACKENDS = ("sqlite", "postgres")


@pytest.fixture
def clocks() -> Clocks:
    """What the stores take for the time."""
    return Clocks()


@pytest.fixture(params=BACKENDS)
def make_store(request: pytest.FixtureRequest, tmp_path: Path, clocks: Clocks) -> Iterator[MakeStore]:
    """``make_store(items=3)``: one more store on the same place, as another process would have."""
    opened: list[QueueStore] = []
    shelf = Shelf(tmp_path / "hub", request.getfixturevalue("engine") if request.param == "postgres" else None)

    def make(**limits: Any) -> QueueStore:
        times: Any = {"clock": lambda: clocks.wall, "monotonic": lambda: clocks.steady}
        opened.append(SqlQueueStore(shelf, Limits(**limits), **times))
        return opened[-1]

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def store(make_store: MakeStore) -> QueueStore:
    """An empty store."""
    return make_store()
