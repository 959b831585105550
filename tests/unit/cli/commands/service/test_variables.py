import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot_transcript.cli.commands.service.variables import put, read
from nanobot_transcript.errors import ConfigError

UNIT = ("serve", "nanobot-transcript-serve.service")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "serve.env"


def test_a_file_is_for_its_owner_alone(file: Path) -> None:
    assert put(file, *UNIT, {"A": "secret-1"})
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert read(file) == {"A": "secret-1"}
    file.chmod(0o644)
    assert not put(file, *UNIT, {"A": "secret-1"})
    assert file.stat().st_mode & 0o777 == 0o600


def test_there_is_a_file_to_write_into_though_nothing_is_known(file: Path) -> None:
    assert put(file, *UNIT, {})
    assert read(file) == {}
    assert "systemctl --user restart nanobot-transcript-serve.service" in file.read_text()
    assert not put(file, *UNIT, {})


def test_what_a_person_wrote_stays(file: Path) -> None:
    file.parent.mkdir()
    file.write_text("# mine\nB='two words'\n; systemd takes this for a comment, too\nA=old\nC=3")
    assert put(file, *UNIT, {"A": "new", "C": "3"})
    assert file.read_text() == "# mine\nB='two words'\n; systemd takes this for a comment, too\nC=3\nA=new\n"


def test_a_file_that_is_a_link_stays_one(file: Path, tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles.env"
    kept.write_text("B=2\n")
    file.parent.mkdir()
    file.symlink_to(kept)
    assert put(file, *UNIT, {"A": "1"})
    assert file.is_symlink()
    assert read(kept) == {"A": "1", "B": "2"}


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20))
def test_whatever_a_variable_holds_is_kept(value: str) -> None:
    path = Path(os.environ["HOME"]) / "any.env"
    put(path, *UNIT, {"A": value, "B": "after"})
    assert read(path) == {"A": value, "B": "after"}


def test_line_ends_of_another_system_come_back_as_they_are(file: Path) -> None:
    put(file, *UNIT, {"A": "one\r\ntwo\rthree"})
    assert read(file) == {"A": "one\r\ntwo\rthree"}
    assert not put(file, *UNIT, {"A": "one\r\ntwo\rthree"})


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("plain-1", "plain-1"),
        ("two words", "'two words'"),
        ("$HOME", "'$HOME'"),
        ('it\'s "\\"', r'"it' + r"'s \"\\\"" + '"'),
    ],
)
def test_a_value_is_written_as_systemd_reads_it(file: Path, value: str, written: str) -> None:
    put(file, *UNIT, {"A": value})
    assert file.read_text().splitlines()[-1] == f"A={written}"


def test_what_cannot_be_read_or_written_is_told(file: Path) -> None:
    with pytest.raises(ConfigError, match="no UTF-8"):
        put(file, *UNIT, {"A": "\udcff"})
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(b"A=\xff\n")
    with pytest.raises(ConfigError, match="not UTF-8"):
        put(file, *UNIT, {"A": "1"})
    file.unlink()
    file.mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        read(file)
