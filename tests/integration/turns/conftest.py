"""Other processes for the tests of turns."""

from collections.abc import Iterator

import pytest
from support.spawning import SpawnAction, spawning


@pytest.fixture
def spawn_turn() -> Iterator[SpawnAction]:
    """``spawn_turn("acquire_all", base_dir=...)`` starts an action of ``support.turn_worker``."""
    with spawning("support.turn_worker") as start:
        yield start
