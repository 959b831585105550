"""A bridge on an empty folder."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest_asyncio

from nanobot_transcript.sql.location import Shelf
from transcript_mcp.io_bridge.bridge import Bridge
from transcript_mcp.io_bridge.store import SqlQueueStore
from transcript_mcp.io_bridge.values import Limits

MakeBridge = Callable[..., Bridge]


@pytest_asyncio.fixture
async def make_bridge(tmp_path: Path) -> AsyncIterator[MakeBridge]:
    """``make_bridge(limits=Limits(items=2), lease=0.1)``: one more bridge on the folder, as in another process."""
    made: list[Bridge] = []

    def make(limits: Limits | None = None, **options: Any) -> Bridge:
        made.append(Bridge(SqlQueueStore(Shelf(tmp_path / "hub"), limits), **options))
        return made[-1]

    yield make
    for bridge in made:
        bridge.close()


@pytest_asyncio.fixture
async def bridge(make_bridge: MakeBridge) -> Bridge:
    """A bridge in which nothing lies."""
    return make_bridge()
