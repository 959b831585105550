"""How far a session was told outlives a restart, and takes little room."""

import json
import os
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.waiting import PATIENCE

from nanobot_transcript.coordination.files.marks import FileMarks
from transcript_channels.nanobot_host.watermark import Watermark, Watermarks, digest

SESSION = "feishu:oc_1:om_1"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path / "transcripts"


def files(base: Path) -> list[Path]:
    return sorted((base / ".state" / "cursors").glob("*"))


def test_a_mark_is_found_again_by_another_process(base: Path) -> None:
    mark = Watermark("c1", "oc_1", "c0", "turn 1").with_turn("om_1", "hello").with_told(["om_0", None, "om_0"])
    mark = mark.with_answer("om_2", "hi")
    Watermarks(FileMarks(base)).save("cli_a", SESSION, mark)
    assert Watermarks(FileMarks(base)).load("cli_a", SESSION) == mark
    assert (mark.turns, mark.told) == ({"om_1": digest("hello")}, ("om_0",))
    assert mark.answers == {"om_2": digest(" hi\n")}


def test_bots_and_sessions_do_not_share_marks(base: Path) -> None:
    marks = Watermarks(FileMarks(base))
    marks.save("cli_a", SESSION, Watermark("c1"))
    assert marks.load("cli_b", SESSION) is None
    assert marks.load("cli_a", "feishu:oc_1") is None


def test_files_are_private_and_left_whole(base: Path) -> None:
    marks = Watermarks(FileMarks(base))
    for number in range(3):
        marks.save("cli_a", SESSION, Watermark(f"c{number}"))
    (path,) = files(base)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for folder in (base, base / ".state", base / ".state" / "cursors"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    document = json.loads(path.read_bytes())
    assert next(iter(document)) == "v"
    assert "hello" not in path.read_text(encoding="utf-8")


def test_a_mark_that_cannot_be_read_is_told_and_counts_as_none(base: Path, caplog: pytest.LogCaptureFixture) -> None:
    Watermarks(FileMarks(base)).save("cli_a", SESSION, Watermark("c1"))
    (path,) = files(base)
    path.unlink()
    path.symlink_to(base)
    assert Watermarks(FileMarks(base)).load("cli_a", SESSION) is None
    assert f"A session's read position cannot be read: {path} is not a plain file" in caplog.text


def test_what_is_kept_of_a_session_is_bounded() -> None:
    mark = Watermark("c")
    for number in range(1000):
        mark = mark.with_turn(f"om_{number}", "x").with_answer(f"om_{number}", "x").with_told([f"om_t{number}"])
    assert (len(mark.turns), len(mark.answers), len(mark.told)) == (64, 64, 256)
    assert "om_999" in mark.turns
    assert mark.told[-1] == "om_t999"


@given(junk=st.binary(max_size=40) | st.sampled_from([b'{"v":1}', b'{"v":1,"cursor":7}', b"[]", b"{", b"null"]))
def test_a_file_of_junk_counts_as_none(tmp_path_factory: pytest.TempPathFactory, junk: bytes) -> None:
    base = tmp_path_factory.mktemp("junk")
    Watermarks(FileMarks(base)).save("cli_a", SESSION, Watermark("c1"))
    (path,) = files(base)
    path.write_bytes(junk)
    assert Watermarks(FileMarks(base)).load("cli_a", SESSION) is None


def test_a_file_of_a_newer_version_is_left_alone(base: Path) -> None:
    marks = Watermarks(FileMarks(base))
    marks.save("cli_a", SESSION, Watermark("c1"))
    (path,) = files(base)
    path.write_text('{"v": 2, "cursor": "new"}', encoding="utf-8")
    fresh = Watermarks(FileMarks(base))
    assert fresh.load("cli_a", SESSION) is None
    fresh.save("cli_a", SESSION, Watermark("c2"))
    assert fresh.load("cli_a", SESSION) == Watermark("c2")
    assert json.loads(path.read_bytes())["v"] == 2


def test_a_link_is_not_followed(base: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (base / ".state").mkdir(parents=True)
    (base / ".state" / "cursors").symlink_to(tmp_path / "elsewhere")
    marks = Watermarks(FileMarks(base))
    marks.save("cli_a", SESSION, Watermark("c1"))
    assert marks.load("cli_a", SESSION) == Watermark("c1")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_disk_that_refuses_costs_only_the_next_restart(
    base: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    base.write_text("a file where the folder should be", encoding="utf-8")
    marks = Watermarks(FileMarks(base))
    marks.save("cli_a", SESSION, Watermark("c1"))
    assert marks.load("cli_a", SESSION) == Watermark("c1")
    assert "only until the next restart" in caplog.text


def test_the_quietest_sessions_are_pruned(base: Path) -> None:
    marks = Watermarks(FileMarks(base))
    assert marks.prune() == 0
    for number in range(5):
        marks.save("cli_a", f"s{number}", Watermark("c"))
    for number, path in enumerate(files(base)):
        os.utime(path, (number, number))
    newest = files(base)[-2:]
    assert marks.prune(keep=2) == 3
    assert files(base) == newest


def test_the_sessions_that_hold_a_message_are_found(base: Path) -> None:
    marks = Watermarks(FileMarks(base))
    marks.save("cli_a", "told", Watermark("c").with_told(["om_1"]))
    marks.save("cli_a", "asked", Watermark("c").with_turn("om_1", "hi"))
    marks.save("cli_a", "neither", Watermark("c").with_told(["om_2"]))
    marks.save("cli_b", "of another bot", Watermark("c").with_told(["om_1"]))
    marks.save("cli_a", "answered", Watermark("c").with_answer("om_1", "hi"))
    assert sorted(Watermarks(FileMarks(base)).holding(["cli_a"], "om_1")) == ["answered", "asked", "told"]


def test_an_answer_that_is_noted_while_the_mark_moves_on_takes_nothing_back(base: Path) -> None:
    marks = Watermarks(FileMarks(base))
    marks.save("cli_a", SESSION, Watermark("c1"))
    moves = threading.Event()

    def noted(mark: Watermark | None) -> Watermark | None:
        moves.set()
        return mark and mark.with_answer("om_1", "First answer.")

    def moved(mark: Watermark | None) -> Watermark | None:
        other = threading.Thread(target=marks.change, args=("cli_a", SESSION, noted))
        other.start()
        assert not moves.wait(0.05), "it has not waited"
        others.append(other)
        return mark and mark.moved("c2").with_turn("om_2", "second question")

    others: list[threading.Thread] = []
    marks.change("cli_a", SESSION, moved)
    others[0].join(PATIENCE)
    mark = Watermarks(FileMarks(base)).load("cli_a", SESSION)
    assert mark is not None
    assert (mark.cursor, list(mark.turns), list(mark.answers)) == ("c2", ["om_2"], ["om_1"])
