"""Other processes for the tests of the outbox."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.spawning import SpawnAction, spawning

from nanobot_transcript.outbox import Outbox


@pytest.fixture
def spawn_outbox() -> Iterator[SpawnAction]:
    """``spawn_outbox("serve", base_dir=...)`` starts an action of ``support.outbox_worker``."""
    with spawning("support.outbox_worker") as start:
        yield start


@pytest.fixture
def outbox(base_dir: Path) -> Iterator[Outbox]:
    """The outbox as this process sees it."""
    with Outbox(base_dir) as opened:
        yield opened


@pytest.fixture
def platform(tmp_path: Path) -> Path:
    """Where the processes deliver to."""
    folder = tmp_path / "platform"
    folder.mkdir()
    return folder
