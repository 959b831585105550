"""Marks that are kept in memory and written behind."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.waiting import PATIENCE

from nanobot_transcript.coordination import write_behind
from nanobot_transcript.coordination.files.marks import FileMarks
from nanobot_transcript.coordination.write_behind import MarksBehind
from nanobot_transcript.errors import StoreUnavailableError


class Far(FileMarks):
    """Marks over a network, which can be away."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.there = threading.Event()
        self.may_write = threading.Event()
        self.there.set()
        self.may_write.set()
        self.written: list[dict[str, Any]] = []

    @property
    def blocking(self) -> bool:
        return True

    def put(self, kind: str, document: dict[str, Any], *name: str) -> None:
        self._reach()
        assert self.may_write.wait(PATIENCE)
        super().put(kind, document, *name)
        self.written.append(document)

    def each(self, kind: str) -> Iterator[dict[str, Any]]:
        self._reach()
        return super().each(kind)

    def _reach(self) -> None:
        if not self.there.is_set():
            raise StoreUnavailableError("The other side is away.")


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_behind, "_SOON", 0.001)
    monkeypatch.setattr(write_behind, "_LATEST", 0.001)


@pytest.fixture
def far(tmp_path: Path) -> Far:
    return Far(tmp_path)


def test_what_was_put_is_there_at_once_and_after_a_restart(far: Far) -> None:
    marks = MarksBehind(far, "session", "private")
    assert not marks.blocking
    far.may_write.clear()
    marks.put("session", {"cursor": "c1"}, "a", "b")
    found = marks.get("session", "a", "b")
    assert found is not None
    assert found["cursor"] == "c1"
    assert (marks.has("session", "a", "b"), marks.has("session", "b"), marks.has("private", "a", "b")) == (
        True,
        False,
        False,
    )
    far.may_write.set()
    assert marks.drain(PATIENCE)
    again = MarksBehind(far, "session", "private")
    assert [document["cursor"] for document in again.each("session")] == ["c1"]
    assert again.has("session", "a", "b")


def test_of_one_name_the_newest_is_written_and_none_is_left_out(far: Far) -> None:
    marks = MarksBehind(far, "session")
    far.may_write.clear()
    for number in range(1000):
        marks.put("session", {"n": number}, "same")
        marks.put("session", {"n": number}, str(number))
    assert not marks.drain(0.01)
    far.may_write.set()
    assert marks.drain(PATIENCE)
    assert sorted(each["n"] for each in far.each("session")) == sorted([*range(1000), 999])
    assert len(far.written) <= 1002


def test_what_could_not_be_written_is_written_when_the_other_side_is_back(far: Far) -> None:
    marks = MarksBehind(far, "session")
    far.there.clear()
    marks.put("session", {"cursor": "c1"}, "a")
    assert not marks.drain(0.05)
    far.there.set()
    assert marks.drain(PATIENCE)
    assert MarksBehind(far, "session").has("session", "a")


def test_what_could_not_be_read_is_unknown_and_then_read(far: Far) -> None:
    first = MarksBehind(far, "session")
    for name, cursor in (("a", "old"), ("b", "old")):
        first.put("session", {"cursor": cursor}, name)
    assert first.drain(PATIENCE)
    far.there.clear()
    marks = MarksBehind(far, "session")
    with pytest.raises(StoreUnavailableError):
        marks.has("session", "a")
    marks.put("session", {"cursor": "new"}, "a")
    assert marks.has("session", "a")
    far.there.set()
    assert marks.drain(PATIENCE)
    assert sorted(each["cursor"] for each in marks.each("session")) == ["new", "old"]
    assert (marks.get("session", "a") or {})["cursor"] == "new"
    assert not marks.has("session", "c")


def test_those_that_were_put_first_are_pruned(far: Far) -> None:
    marks = MarksBehind(far, "session", "private")
    marks.put("private", {"n": 0}, "0")
    for number in range(5):
        marks.put("session", {"n": number}, str(number))
    marks.put("session", {"n": 0}, "0")
    assert marks.drain(PATIENCE)
    assert marks.prune("session", 2) == 3
    assert [each["n"] for each in marks.each("session")] == [4, 0]
    assert marks.has("private", "0")


def test_a_name_is_kept_as_a_digest_alone(far: Far, tmp_path: Path) -> None:
    marks = MarksBehind(far, "private")
    for name in (("oc_secret",), ("a", "b"), ("a\0b",), ("1:a", "b"), ("",), ()):
        assert not marks.has("private", *name)
        marks.put("private", {"digest": "x"}, *name)
    assert marks.drain(PATIENCE)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"secret" in path.read_bytes()]
