"""Where mailboxes lie."""

from pathlib import Path

import pytest

from nanobot_transcript.errors import ConfigError
from transcript_mcp.filebox.agent_folders import places

CONFIG = Path("/etc/agents.json")


def test_agents_with_folders_of_their_own_have_the_mailbox_right_there(tmp_path: Path) -> None:
    found = places({"a": str(tmp_path / "a"), "b": str(tmp_path / "b")}, CONFIG)
    assert found["a"].mailbox == tmp_path / "a" / "docs" / "mailbox"
    assert not found["a"].shared


def test_agents_that_share_a_folder_have_each_a_mailbox_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    real = tmp_path / "real"
    same = {"a": real, "b": f"{real}/", "c": tmp_path / "link", "d": real / "x" / ".."}
    found = places({name: str(path) for name, path in same.items()} | {"alone": str(tmp_path / "other")}, CONFIG)
    assert {name: place.mailbox for name, place in found.items() if place.shared} == {
        name: tmp_path / "real" / "docs" / "mailbox" / name for name in same
    }
    assert found["alone"].mailbox == tmp_path / "other" / "docs" / "mailbox"


@pytest.mark.parametrize("folder", ["", "relative/path", ".", "~/repo", None, 3, ["/a"], "/a\0b"])
def test_a_path_that_cannot_be_one_concerns_its_own_agent_only(tmp_path: Path, folder: object) -> None:
    found = places({"bad": folder, "good": str(tmp_path)}, CONFIG)
    assert found["good"].usable() is found["good"]
    with pytest.raises(ConfigError) as caught:
        found["bad"].usable()
    assert f"agents.bad in {CONFIG}" in str(caught.value)
    assert "agents.bad" in caught.value.hint


@pytest.mark.parametrize("name", ["", " ", "a/b", "..\\x", "a\nb", "x" * 101, "\u2028"])
def test_a_name_that_could_lead_elsewhere_is_none(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError):
        places({name: str(tmp_path)}, CONFIG)[name].usable()


@pytest.mark.parametrize("name", ["inbox", "done", ".state", ".."])
def test_in_a_shared_folder_no_agent_is_called_like_a_box_or_is_hidden(tmp_path: Path, name: str) -> None:
    found = places({name: str(tmp_path), "b": str(tmp_path)}, CONFIG)
    with pytest.raises(ConfigError, match="shares its folder"):
        found[name].usable()
    assert found["b"].usable().shared


def test_names_of_any_script_and_of_python_and_javascript_are_names(tmp_path: Path) -> None:
    for name in ("测试智能体", "__proto__", "constructor", "qa agent"):
        assert places({name: str(tmp_path)}, CONFIG)[name].usable().agent == name
