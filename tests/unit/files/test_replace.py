"""Files that are replaced as a whole, and what a kill in the middle leaves."""

import os
import time
from pathlib import Path

import pytest

from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.files.descriptors import to_write_anew
from nanobot_transcript.files.replace import write_whole

KEY = "feishu:oc_1"


def killed_while_writing(path: Path, hours: float) -> Path:
    """What a process leaves that was killed so many hours ago, in the middle of replacing a file."""
    left = path.with_name(f"{path.name}.4711-140735.new")
    left.parent.mkdir(parents=True, exist_ok=True)
    left.write_text("half", encoding="utf-8")
    moment = time.time() - hours * 3600
    os.utime(left, (moment, moment))
    return left


def test_maintenance_removes_what_killed_processes_left_and_nothing_else(tmp_path: Path) -> None:
    state = tmp_path / "record" / ".state"
    with GroupTranscriptStore(tmp_path / "record") as store:
        store.append(KEY, "user", "hello", "on_ada", "om_1")
        store.members.remember_person("on_ada", "Ada")
        kept = sorted(path for path in state.rglob("*") if path.is_file())
        names = ("members.json", "cursors/abc.json", "cursors/private/abc", "locks/leases/a.json", "index/x.key")
        old = [killed_while_writing(state / name, 2) for name in names]
        young = killed_while_writing(state / "budgets.json", 0.1)
        other = state / "notes.new"
        other.write_text("of somebody else", encoding="utf-8")
        os.utime(other, (0, 0))
        store.maintain()
    assert [path for path in old if path.exists()] == []
    assert (young.exists(), other.exists()) == (True, True)
    assert [path for path in kept if not path.exists()] == []


def test_a_file_that_cannot_be_replaced_stays_and_nothing_is_left_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "document"
    write_whole(str(path), b"old")

    def refuse(*_: object) -> None:
        raise OSError("no")

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(OSError, match="no"):
        write_whole(str(path), b"new")
    assert (path.read_bytes(), [each.name for each in tmp_path.iterdir()]) == (b"old", ["document"])


def test_a_pipe_in_the_place_of_a_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="No such device"):
        to_write_anew(tmp_path / "pipe")
