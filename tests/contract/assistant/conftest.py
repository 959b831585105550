"""Every backend of ``QuestionStore`` goes through the same suite; a new one is added to ``BACKENDS``."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nanobot_transcript.sql.location import Shelf
from transcript_mcp.assistant.questions.contract import QuestionStore
from transcript_mcp.assistant.questions.sql_store import SqlQuestionStore

MakeStore = Callable[[], QuestionStore]

BACKENDS = ("sqlite", "postgres")


@pytest.fixture(params=BACKENDS)
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakeStore]:
    """One more object on the same place, as another process would have."""
    opened: list[QuestionStore] = []
    shelf = Shelf(tmp_path / "hub", request.getfixturevalue("engine") if request.param == "postgres" else None)

    def make() -> QuestionStore:
        opened.append(SqlQuestionStore(shelf))
        return opened[-1]

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def store(make_store: MakeStore) -> QuestionStore:
    """A store with nothing in it."""
    return make_store()
