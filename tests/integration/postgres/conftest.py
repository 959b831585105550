"""A server that a test may do anything to, and processes that work with it."""

from collections.abc import Iterator

import pytest
from support.forking import preload
from support.postgres import MISSING, Cluster, programs, started_cluster
from support.spawning import SpawnAction, spawning

preload("nanobot_transcript.record.postgres.record", "nanobot_transcript.record.postgres.signals", "asyncio")


@pytest.fixture(scope="session")
def own_server() -> Iterator[Cluster]:
    """A server beside that of the contract suites."""
    if programs() is None:
        pytest.skip(MISSING)
    with started_cluster() as started:
        yield started


@pytest.fixture
def server(own_server: Cluster) -> Iterator[Cluster]:
    """A server that a test may kill, stop and start; whatever it leaves, the next one finds it running."""
    yield own_server
    own_server.stop()
    own_server.start()


@pytest.fixture
def spawn_on() -> Iterator[SpawnAction]:
    """``spawn_on("write_on", place=...)`` starts an action of ``support.engine_worker``."""
    with spawning("support.engine_worker") as start:
        yield start
