"""Every kind of record goes through the same suites; a new one is added to ``BACKENDS``."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.places import behind_a_socket, behind_a_spool, open_record, serving_records

from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.record import Record

MakeStore = Callable[..., GroupTranscriptStore]
MakeRecord = Callable[..., Record]

SOAKED = [pytest.param(name, marks=pytest.mark.soak) for name in ("socket", "spool")]
BACKENDS = ("files", "postgres", *SOAKED)

BEHIND_A_SPOOL = {
    "test_what_is_not_known_of_a_message_has_no_key": "what has no id is given one, so that it is handed on once",
}
"""What cannot hold there, even when every write waits until the record has it."""


@pytest.fixture(scope="session")
def record_server() -> Iterator[Path]:
    """The address at which another process holds records."""
    with tempfile.TemporaryDirectory(prefix="records-") as folder:  # the name of a socket is short
        address = Path(folder) / "s"
        with serving_records(address):
            yield address


@pytest.fixture(params=BACKENDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a record with nothing in it is."""
    folder = tmp_path / "transcripts"
    if request.param == "files":
        return str(folder)
    if request.param == "postgres":
        return request.getfixturevalue("postgres_place")
    if request.param == "spool":
        if reason := BEHIND_A_SPOOL.get(request.node.originalname):
            request.applymarker(pytest.mark.xfail(reason=reason, strict=True))
        return behind_a_spool(tmp_path / "spool", request.getfixturevalue("postgres_place"))
    assert request.param == "socket", "say here where a record of this kind is"
    return behind_a_socket(request.getfixturevalue("record_server"), folder)


@pytest.fixture
def make_record(place: str) -> Iterator[MakeRecord]:
    """``make_record(segment_bytes=2000)`` opens the record once more, as another process would."""
    opened: list[Record] = []

    def make(**options: Any) -> Record:
        opened.append(open_record(place, **options))
        return opened[-1]

    yield make
    for record in opened:
        record.close()


@pytest.fixture
def record(make_record: MakeRecord) -> Record:
    """A record with nothing in it."""
    return make_record()


@pytest.fixture
def make_store(make_record: MakeRecord) -> MakeStore:
    """``make_store(segment_bytes=2000)`` opens one more store on the same place, as another process would."""
    return lambda **options: make_record(**options).store


@pytest.fixture
def store(make_store: MakeStore) -> GroupTranscriptStore:
    """A store with nothing in it."""
    return make_store()
