"""A JSONL store in a temporary directory, and more doors to the same one."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nanobot_transcript import GroupTranscriptStore

MakeStore = Callable[..., GroupTranscriptStore]


@pytest.fixture
def base_dir(tmp_path: Path) -> Path:
    """Where the store lies; not made yet."""
    return tmp_path / "transcripts"


@pytest.fixture
def make_store(base_dir: Path) -> Iterator[MakeStore]:
    """``make_store(segment_bytes=2000)``: one more store object on the same directory."""
    opened: list[GroupTranscriptStore] = []

    def make(**options: Any) -> GroupTranscriptStore:
        opened.append(GroupTranscriptStore(base_dir, **options))
        return opened[-1]

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def store(make_store: MakeStore) -> GroupTranscriptStore:
    """A store with nothing in it."""
    return make_store()
