"""Which file names the agents, and who lives here."""

import json
import os
from pathlib import Path

import pytest
from support.mailboxes import Office

from nanobot_transcript.errors import ConfigError
from transcript_mcp.filebox.config import ConfigSource


def write(file: Path, document: object) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return file


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def test_the_example_of_the_plan_is_understood(office: Office) -> None:
    roster = ConfigSource(cwd=office.roots["qa_agent"], home=office.home).load()
    assert roster.current == "qa_agent"
    assert list(roster.agents) == ["qa_agent", "dev_agent"]
    assert roster.agents["dev_agent"].mailbox == office.roots["dev_agent"] / "docs" / "mailbox"


def test_an_explicitly_named_file_wins(office: Office, tmp_path: Path) -> None:
    other = write(tmp_path / "other.json", {"current_agent": "x", "agents": {"x": str(tmp_path)}})
    roster = ConfigSource(explicit=other, cwd=office.roots["qa_agent"], home=office.home).load()
    assert (roster.file, roster.current) == (other, "x")


def test_a_file_in_a_folder_above_is_found_the_nearest_first(office: Office) -> None:
    deep = office.roots["qa_agent"] / "src" / "deep"
    deep.mkdir(parents=True)
    assert ConfigSource(cwd=deep, home=office.home).load().current == "qa_agent"
    office.configure(deep.parent, current="dev_agent")
    assert ConfigSource(cwd=deep, home=office.home).load().current == "dev_agent"


def test_the_file_of_the_home_folder_goes_by_the_working_directory(tmp_path: Path, home: Path) -> None:
    folders = {name: home / name for name in ("one", "two")} | {"inner": home / "one" / "inner"}
    for folder in folders.values():
        (folder / "src").mkdir(parents=True)
    write(home / ".filebox", {"agents": {name: str(folder) for name, folder in folders.items()}})
    for cwd, expected in {
        folders["two"]: "two",
        folders["one"] / "src": "one",
        folders["inner"]: "inner",
        folders["inner"] / "src": "inner",
    }.items():
        assert ConfigSource(cwd=cwd, home=home).load().current == expected
    elsewhere = ConfigSource(cwd=tmp_path, home=home).load()
    assert elsewhere.current == ""
    assert "not in the folder of any agent" in elsewhere.reason


def test_nobody_is_ever_taken_for_the_first_agent(tmp_path: Path, home: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    write(home / ".filebox", {"agents": {"a": str(shared), "b": str(shared)}})
    roster = ConfigSource(cwd=shared, home=home).load()
    assert roster.current == ""
    assert "a, b" in roster.reason


def test_where_there_is_no_folder_nobody_is_told_to_add_what_does_not_count_there(tmp_path: Path, home: Path) -> None:
    write(home / ".filebox", {"current_agent": "a", "agents": {"a": str(tmp_path / "a")}})
    hubs = ConfigSource(cwd=None, home=home).load()
    assert hubs.current == ""
    assert hubs.advice == "Pass runAs, set filebox.agent, or call with a token of filebox.tokens."


def test_the_home_files_current_agent_is_nobody_elsewhere(tmp_path: Path, home: Path) -> None:
    write(home / ".filebox", {"current_agent": "a", "agents": {"a": str(tmp_path / "a")}})
    elsewhere = ConfigSource(cwd=tmp_path, home=home).load()
    assert elsewhere.current == ""
    assert elsewhere.advice == "Pass runAs, set filebox.agent, or work in the agent's folder."  # it is there already
    assert ConfigSource(cwd=home, home=home).load().current == "a"


def test_a_home_folder_reached_by_a_link_is_the_home_folder(tmp_path: Path, home: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(home)
    write(home / ".filebox", {"current_agent": "a", "agents": {"a": str(tmp_path / "a")}})
    (home / "work").mkdir()
    assert ConfigSource(cwd=link / "work", home=link).load().current == ""


def test_a_project_file_without_current_agent_goes_by_the_folder(office: Office) -> None:
    office.configure(office.roots["qa_agent"])
    assert ConfigSource(cwd=office.roots["qa_agent"], home=office.home).load().current == "qa_agent"


def test_without_a_working_directory_the_file_names_agents_but_nobody_lives_there(office: Office) -> None:
    file = office.configure(office.base, current="qa_agent")
    roster = ConfigSource(explicit=file, home=office.home).load()
    assert roster.current == ""
    assert list(roster.agents) == ["qa_agent", "dev_agent"]


def test_a_change_of_the_file_is_seen_at_once(office: Office, tmp_path: Path) -> None:
    source = ConfigSource(cwd=office.roots["qa_agent"], home=office.home)
    assert "new_agent" not in source.load().agents
    office.roots["new_agent"] = tmp_path
    office.configure(office.roots["qa_agent"], current="qa_agent")
    assert "new_agent" in source.load().agents


def test_a_folder_of_that_name_is_no_configuration(tmp_path: Path, home: Path) -> None:
    (tmp_path / "a" / ".filebox").mkdir(parents=True)
    write(home / ".filebox", {"agents": {"a": str(tmp_path / "a")}})
    assert ConfigSource(cwd=tmp_path / "a", home=home).load().current == "a"


def test_no_configuration_says_where_it_was_looked_for(tmp_path: Path, home: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        ConfigSource(cwd=tmp_path, home=home).load()
    assert str(tmp_path) in str(caught.value)
    assert str(home / ".filebox") in str(caught.value)
    assert '"agents"' in caught.value.hint


@pytest.mark.parametrize(
    ("document", "key"),
    [
        ("{", "JSON"),
        ("", "JSON"),
        ("[" * 100_000, "JSON"),
        ("[]", "agents"),
        ({}, "agents"),
        ({"agents": []}, "agents"),
        ({"agents": {}}, "agents"),
        ({"agents": {"a": "/a"}, "current_agent": "b"}, "current_agent"),
        ({"agents": {"a": "/a"}, "current_agent": 1}, "current_agent"),
        ({"agents": {"a": "/a"}, "current_agent": ["a"]}, "current_agent"),
    ],
)
def test_a_wrong_file_is_an_error_that_names_file_and_key(
    tmp_path: Path, home: Path, document: object, key: str
) -> None:
    file = write(tmp_path / ".filebox", document)
    with pytest.raises(ConfigError) as caught:
        ConfigSource(cwd=tmp_path, home=home).load()
    assert str(file) in str(caught.value)
    assert key in str(caught.value)
    assert caught.value.hint


def test_a_broken_project_file_is_not_passed_over_for_the_home_file(tmp_path: Path, home: Path) -> None:
    write(home / ".filebox", {"agents": {"a": str(tmp_path)}})
    write(tmp_path / ".filebox", "{")
    with pytest.raises(ConfigError):
        ConfigSource(cwd=tmp_path, home=home).load()


def test_a_file_with_a_mark_at_its_beginning_is_read(tmp_path: Path, home: Path) -> None:
    (tmp_path / ".filebox").write_bytes(b"\xef\xbb\xbf" + json.dumps({"agents": {"a": str(tmp_path)}}).encode())
    assert ConfigSource(cwd=tmp_path, home=home).load().current == "a"


@pytest.mark.parametrize("where", ["nowhere.json", "file/agents.json", "pipe", "."])
def test_an_explicit_file_that_cannot_be_read_is_an_error_that_names_it(tmp_path: Path, home: Path, where: str) -> None:
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigError, match="cannot be read") as caught:
        ConfigSource(explicit=tmp_path / where, cwd=tmp_path, home=home).load()
    assert str(tmp_path / where) in str(caught.value)
