"""Reading a whole record to say how it is, also where nothing may be changed."""

import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from support.readonly import read_only
from support.transcripts import active_file

from nanobot_transcript import GroupTranscriptStore

KEY = "feishu:oc_shared"
MakeStore = Callable[..., GroupTranscriptStore]


def add(base_dir: Path, data: bytes) -> None:
    with active_file(base_dir).open("ab") as file:
        file.write(data)


@pytest.fixture
def store(make_store: MakeStore) -> GroupTranscriptStore:
    """A transcript with two messages."""
    opened = make_store()
    for number in range(2):
        opened.append(KEY, "user", f"text {number}", "on_ada", f"om_{number}")
    return opened


def test_a_half_line_is_counted_and_does_no_harm(store: GroupTranscriptStore, base_dir: Path) -> None:
    add(base_dir, b'{"role":"user","content":"half\n')
    add(base_dir, b'{"role":"user","content":"the last')
    report = store.verify(KEY)
    assert (report.torn_lines, report.entries, report.ok) == (2, 2, True)
    assert len(report.healed) == 1
    assert store.verify(KEY).healed == []


@pytest.mark.parametrize("line", [b"plain text", b'{"level":"info","msg":"a log"}', b"[1, 2]", b"{}"])
def test_a_line_of_another_program_is_foreign_and_not_half(
    store: GroupTranscriptStore, base_dir: Path, line: bytes
) -> None:
    add(base_dir, line + b"\n")
    report = store.verify(KEY)
    assert (report.torn_lines, report.foreign_lines, report.ok) == (0, 1, False)


def test_a_doubled_message_is_not_in_order(store: GroupTranscriptStore, base_dir: Path) -> None:
    add(base_dir, active_file(base_dir).read_bytes().splitlines(keepends=True)[0])
    report = store.verify(KEY)
    assert (report.duplicates, report.ok) == (1, False)


def test_where_nothing_may_be_changed_it_reports_and_mends_nothing(
    store: GroupTranscriptStore, make_store: MakeStore, base_dir: Path
) -> None:
    add(base_dir, b'{"role":"user","content":"the last')
    before = active_file(base_dir).read_bytes()
    with read_only(base_dir):
        for reader in (store, make_store()):
            report = reader.verify(KEY)
            assert report.read_only
            assert (report.segments, report.entries, report.torn_lines) == (1, 2, 1)
            assert (report.healed, report.unmended, report.ok) == ([], [], True)
    assert active_file(base_dir).read_bytes() == before
    report = store.verify(KEY)
    assert (report.read_only, len(report.healed), report.torn_lines) == (False, 1, 1)


def test_what_it_may_not_mend_is_named_and_is_not_in_order(
    store: GroupTranscriptStore, make_store: MakeStore, base_dir: Path
) -> None:
    active_file(base_dir).chmod(0o644)
    with read_only(base_dir):
        report = make_store().verify(KEY)
        assert (report.read_only, report.healed, report.ok) == (True, [], False)
        assert "0644" in report.unmended[0]
    report = store.verify(KEY)
    assert (report.read_only, report.unmended, report.ok) == (False, [], True)
    assert len(report.healed) == 1
    assert stat.S_IMODE(active_file(base_dir).stat().st_mode) == 0o600
