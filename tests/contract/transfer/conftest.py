"""A record with nothing in it on either side: in a folder and in a database, moved both ways."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support.places import open_record

from nanobot_transcript.record import Record

WAYS = ("into a database", "into a folder")

Open = Callable[..., Record]


class Way(NamedTuple):
    """From which place to which, as texts that other processes are told."""

    source: str
    target: str


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, tmp_path: Path, postgres_place: str) -> Way:
    """Both directions, one after the other."""
    folder = str(tmp_path / "folder")
    return Way(folder, postgres_place) if request.param == WAYS[0] else Way(postgres_place, folder)


@pytest.fixture
def opened() -> Iterator[Open]:
    """``opened(place, segment_bytes=2000)`` opens a record, as another process would."""
    records: list[Record] = []

    def make(place: str | Path, **options: Any) -> Record:
        records.append(open_record(place, **options))
        return records[-1]

    yield make
    for record in records:
        record.close()


@pytest.fixture
def source(way: Way, opened: Open) -> Record:
    """Where it is moved from; a chat has several segments soon."""
    return opened(way.source, segment_bytes=4000)


@pytest.fixture
def target(way: Way, opened: Open) -> Record:
    """Where it is moved to."""
    return opened(way.target, segment_bytes=3000)
