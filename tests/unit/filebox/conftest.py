"""Two agents with mailboxes."""

from pathlib import Path

import pytest
from support.mailboxes import Office


@pytest.fixture
def office(tmp_path: Path) -> Office:
    """``qa_agent`` and ``dev_agent``, each in a folder of its own."""
    return Office(tmp_path, "qa_agent", "dev_agent")


@pytest.fixture
def shared_office(tmp_path: Path) -> Office:
    """Three agents in one folder."""
    return Office(tmp_path, "qa_agent", "frontend_agent", "backend_agent", shared=True)
