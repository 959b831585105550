"""The store most unit tests begin with."""

from collections.abc import Callable

import pytest

from nanobot_transcript import GroupTranscriptStore

MakeStore = Callable[..., GroupTranscriptStore]


@pytest.fixture
def store(make_store: MakeStore) -> GroupTranscriptStore:
    """A store with nothing in it."""
    return make_store()
