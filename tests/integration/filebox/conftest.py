"""Other processes for the tests of mailboxes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.mailboxes import Office
from support.spawning import SpawnAction, spawning


@pytest.fixture
def spawn_filebox() -> Iterator[SpawnAction]:
    """``spawn_filebox("reply_many", config=...)`` starts an action of ``support.filebox_worker``."""
    with spawning("support.filebox_worker") as start:
        yield start


@pytest.fixture
def office(tmp_path: Path) -> Office:
    """``qa_agent`` and ``dev_agent``, each in a folder of its own, and a configuration for all processes."""
    office = Office(tmp_path, "qa_agent", "dev_agent")
    office.configure(office.base)
    return office


@pytest.fixture
def config(office: Office) -> Path:
    """The configuration of all processes."""
    return office.base / ".filebox"
