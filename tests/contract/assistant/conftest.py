"""Every backend of ``QuestionStore`` goes through the same suite; a new one is added to ``BACKENDS``."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from transcript_mcp.assistant.sqlite import SqliteQuestionStore
from transcript_mcp.assistant.store import QuestionStore

MakeStore = Callable[[], QuestionStore]

BACKENDS: dict[str, Callable[[Path], QuestionStore]] = {"sqlite": SqliteQuestionStore}


@pytest.fixture(params=sorted(BACKENDS))
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakeStore]:
    """One more object on the same place, as another process would have."""
    opened: list[QuestionStore] = []

    def make() -> QuestionStore:
        opened.append(BACKENDS[request.param](tmp_path / "hub"))
        return opened[-1]

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def store(make_store: MakeStore) -> QuestionStore:
    """A store with nothing in it."""
    return make_store()
