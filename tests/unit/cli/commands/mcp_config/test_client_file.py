"""Files of other programs, as they come: links, modes, what is no file, and what a killed process left."""

import os
from pathlib import Path

import pytest

from nanobot_transcript.cli.commands.mcp_config.client_file import Change, change, content
from nanobot_transcript.errors import ConfigError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    return made


def put(text: bytes) -> Change:
    return lambda known: text


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o664])
def test_the_mode_stays(folder: Path, mode: int) -> None:
    path = folder / "mcp.json"
    path.write_bytes(b"{}")
    path.chmod(mode)
    assert change(path, put(b"{1}"))
    assert path.stat().st_mode & 0o777 == mode
    assert [each.name for each in folder.iterdir()] == ["mcp.json"]


@pytest.mark.parametrize("to", [b"{1}", None])
def test_a_file_that_nobody_is_to_change_is_not_replaced(folder: Path, to: bytes | None) -> None:
    path = folder / "mcp.json"
    path.write_bytes(b"{}")
    path.chmod(0o444)
    with pytest.raises(ConfigError, match="read-only") as refused:
        change(path, lambda known: to)
    assert refused.value.hint
    assert path.read_bytes() == b"{}"
    assert not change(path, put(b"{}")), "nothing is to be done"


def test_nothing_is_written_when_nothing_changes(folder: Path) -> None:
    path = folder / "mcp.json"
    path.write_bytes(b"{}")
    before = path.stat()
    assert not change(path, lambda known: known)
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_folders_are_made_only_for_a_file_that_is_written(folder: Path) -> None:
    path = folder / "a" / "b" / "mcp.json"
    assert not change(path, lambda known: None)

    def refuse(known: bytes | None) -> bytes:
        raise ConfigError("no")

    with pytest.raises(ConfigError, match="no"):
        change(path, refuse)
    assert list(folder.iterdir()) == []
    assert change(path, put(b"{}"))
    assert path.read_bytes() == b"{}"


def test_a_file_that_shall_be_none_goes(folder: Path) -> None:
    path = folder / "AGENTS.md"
    path.write_bytes(b"x")
    assert change(path, lambda known: None)
    assert list(folder.iterdir()) == []
    assert not change(path, lambda known: None)


def test_a_link_stays_a_link_and_leads_to_the_new_content(folder: Path) -> None:
    (folder / "kept").mkdir()
    real, link = folder / "kept" / "AGENTS.md", folder / "CLAUDE.md"
    link.symlink_to(real)
    assert content(link) is None, "it leads nowhere as yet"
    assert change(link, put(b"a"))
    assert change(link, put(b"b"))
    assert (link.is_symlink(), real.read_bytes()) == (True, b"b")


def test_a_ring_of_links_is_refused(folder: Path) -> None:
    (folder / "a").symlink_to("b")
    (folder / "b").symlink_to("a")
    with pytest.raises(ConfigError, match="broken link") as refused:
        change(folder / "a", put(b"x"))
    assert refused.value.hint
    with pytest.raises(ConfigError, match="broken link"):
        content(folder / "a")


def test_what_is_no_plain_file_is_refused_at_once(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    for path in (folder / "pipe", folder, folder / "pipe" / "mcp.json"):
        with pytest.raises(ConfigError) as refused:
            change(path, put(b"x"))
        assert refused.value.hint


def test_a_file_that_is_far_too_large_is_refused(folder: Path) -> None:
    path = folder / "mcp.json"
    path.touch()
    os.truncate(path, 17 * 1024 * 1024)
    with pytest.raises(ConfigError, match="too large"):
        change(path, put(b"x"))


def test_what_a_killed_process_left_half_written_goes_with_the_next_change(folder: Path) -> None:
    path, left, other = folder / "a.json", folder / "a.json.4711-99.new", folder / "b.json.4711-99.new"
    left.touch()
    other.touch()
    assert change(path, put(b"{}"))
    assert (path.exists(), left.exists(), other.exists()) == (True, False, True)
