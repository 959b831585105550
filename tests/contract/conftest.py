"""Every backend goes through the same suite; a new one is added to ``BACKENDS``."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nanobot_transcript import GroupTranscriptStore

MakeStore = Callable[..., GroupTranscriptStore]


def _jsonl(base_dir: Path, **options: Any) -> GroupTranscriptStore:
    return GroupTranscriptStore(base_dir, **options)


BACKENDS: dict[str, Callable[..., GroupTranscriptStore]] = {"jsonl": _jsonl}


@pytest.fixture(params=sorted(BACKENDS))
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakeStore]:
    """``make_store(segment_bytes=2000)`` opens one more store on the same place, as another process would."""
    opened: list[GroupTranscriptStore] = []

    def make(**options: Any) -> GroupTranscriptStore:
        store = BACKENDS[request.param](tmp_path / "transcripts", **options)
        opened.append(store)
        return store

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def store(make_store: MakeStore) -> GroupTranscriptStore:
    """A store with nothing in it."""
    return make_store()
