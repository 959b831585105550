"""Two agents with mailboxes."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.mailboxes import Office

Glances = Callable[[], int]


@pytest.fixture
def glances() -> Glances:
    """How many threads look at inboxes by now that did not before this test."""
    before = set(threading.enumerate())
    return lambda: [thread.name for thread in set(threading.enumerate()) - before].count("filebox-glances")


@pytest.fixture
def office(tmp_path: Path) -> Office:
    """``qa_agent`` and ``dev_agent``, each in a folder of its own."""
    return Office(tmp_path, "qa_agent", "dev_agent")


@pytest.fixture
def shared_office(tmp_path: Path) -> Office:
    """Three agents in one folder."""
    return Office(tmp_path, "qa_agent", "frontend_agent", "backend_agent", shared=True)


@pytest.fixture
def far_east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This machine stands eight hours east of UTC, so that local time and UTC cannot be taken for each other."""
    monkeypatch.setenv("TZ", "CST-8")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()
