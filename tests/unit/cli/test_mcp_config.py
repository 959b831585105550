import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from nanobot_transcript.cli import main

Config = Callable[..., str]


@pytest.fixture
def home(empty_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(empty_home)
    return empty_home


@pytest.fixture
def config(capsys: pytest.CaptureFixture[str]) -> Config:
    """What the command prints when it succeeds."""

    def call(*arguments: str) -> str:
        assert main(["mcp-config", *arguments]) == 0
        return capsys.readouterr().out

    return call


def test_the_snippet_alone_is_on_stdout(home: Path, config: Config) -> None:
    document = json.loads(config("claude-code"))
    assert document["mcpServers"]["nanobot-transcript"]["args"] == ["mcp", "transcript,filebox"]
    assert list(home.iterdir()) == []


def test_write_makes_the_folders_and_keeps_the_files_mode(home: Path, config: Config) -> None:
    config("cursor", "--servers", "filebox", "--write")
    path = home / ".cursor" / "mcp.json"
    path.chmod(0o600)
    config("cursor", "--write")
    assert json.loads(path.read_text())["mcpServers"]["nanobot-transcript"]["args"] == ["mcp", "transcript,filebox"]
    assert path.stat().st_mode & 0o777 == 0o600
    assert [child.name for child in path.parent.iterdir()] == ["mcp.json"]


def test_a_file_that_is_a_link_stays_one(home: Path, config: Config) -> None:
    kept = home / "dotfiles.json"
    kept.write_text("{}")
    (home / ".mcp.json").symlink_to(kept)
    config("claude-code", "--write")
    assert (home / ".mcp.json").is_symlink()
    assert "nanobot-transcript" in kept.read_text()


def test_one_server_of_the_hub_has_its_own_address(home: Path, config: Config) -> None:
    assert '"http://127.0.0.1:8765/mcp/filebox"' in config("claude-code", "--http", "--servers", "filebox")
    assert '"http://127.0.0.1:8765/mcp"' in config("claude-code", "--http")


def test_a_client_is_given_an_address_to_call_where_the_hub_listens_at_all(
    home: Path, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_HUB__HOST", "0.0.0.0")
    assert '"http://127.0.0.1:8765/mcp"' in config("claude-code", "--http")


@pytest.mark.parametrize("client", ["claude-code", "cursor", "vscode", "codex", "nanobot"])
def test_mail_is_always_that_of_the_hub_and_has_an_entry_of_its_own(home: Path, config: Config, client: str) -> None:
    config(client, "--write")
    document = json.loads(config(client, "--servers", "mail", "--json"))
    assert document["name"] == "agent-mail"
    assert document["entry"]["url"] == "http://127.0.0.1:8765/mcp/mail"
    config(client, "--servers", "mail", "--write")
    text = Path(document["file"]).read_text()
    assert "agent-mail" in text
    assert "nanobot-transcript" in text
    assert "transcript,filebox" in text


def test_the_io_bridge_is_that_of_the_hub_and_stands_alone(
    home: Path, config: Config, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(config("claude-code", "--servers", "io", "--json"))
    assert (document["name"], document["entry"]["url"]) == ("io-bridge", "http://127.0.0.1:8765/mcp/io")
    assert main(["mcp-config", "cursor", "--servers", "transcript,io"]) == 2
    assert "--servers io" in capsys.readouterr().err
    assert main(["mcp", "io,transcript"]) == 2
    assert "stands alone" in capsys.readouterr().err


def test_mail_beside_servers_that_a_client_starts_is_refused(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp-config", "cursor", "--servers", "filebox,mail"]) == 2
    assert "--servers mail" in capsys.readouterr().err
    assert main(["mcp-config", "cursor", "--servers", "filebox,mail", "--http"]) == 0
    assert '"http://127.0.0.1:8765/mcp"' in capsys.readouterr().out


def test_a_hub_elsewhere_wants_a_token(home: Path, config: Config) -> None:
    entry = json.loads(config("claude-code", "--url", "https://hub.example/", "--json"))["entry"]
    assert entry["url"] == "https://hub.example/mcp"
    assert entry["headers"] == {"Authorization": "Bearer ${TRANSCRIPT_HUB_TOKEN}"}


def test_an_unknown_server_is_refused_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp-config", "codex", "--servers", "mailbox"]) == 2
    assert "filebox" in capsys.readouterr().err


def started(home: Path, config: Config, *arguments: str) -> list[str]:
    return json.loads(config("claude-code", *arguments, "--json"))["entry"]["args"]


def test_the_settings_that_count_here_are_named_to_the_process(
    home: Path, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "c.yaml").write_text("agent: {name: Alpha}\n")
    assert started(home, config, "--config", "c.yaml")[2:] == ["--config", str(home / "c.yaml")]
    assert started(home, config, "--store", "there")[2:] == ["--store", str(home / "there")]
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_CONFIG", str(home / "c.yaml"))
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_STORE__DIR", str(home / "t"))
    assert started(home, config)[2:] == ["--config", str(home / "c.yaml"), "--store", str(home / "t")]


def test_settings_in_their_usual_place_need_not_be_named(home: Path, config: Config) -> None:
    (home / ".nanobot").mkdir()
    (home / ".nanobot" / "transcript.yaml").write_text("agent: {name: Alpha}\n")
    assert started(home, config) == ["mcp", "transcript,filebox"]


def test_a_variable_that_the_client_may_not_see_is_told(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_AGENT__NAME", "Alpha")
    assert main(["mcp-config", "codex"]) == 0
    assert "WARNING: NANOBOT_TRANSCRIPT_AGENT__NAME counts here, but Codex may not see it" in capsys.readouterr().err


def test_a_configuration_file_that_is_not_there_is_refused(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp-config", "claude-code", "--config", "nope.yaml"]) == 2
    assert "nope.yaml" in capsys.readouterr().err


def test_one_server_alone_takes_its_token_from_a_variable_of_its_own(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_FILEBOX__TOKENS__QA_AGENT", "a-long-enough-token-of-a-mailbox")
    for servers, variable, source in (
        ("filebox", "TRANSCRIPT_FILEBOX_TOKEN", "filebox.tokens"),
        ("transcript", "TRANSCRIPT_TRANSCRIPT_TOKEN", "hub.tokens"),
        ("transcript,filebox", "TRANSCRIPT_HUB_TOKEN", "hub.tokens"),
    ):
        assert main(["mcp-config", "claude-code", "--http", "--servers", servers, "--write"]) == 0
        assert f"Bearer ${{{variable}}}" in (home / ".mcp.json").read_text()
        assert f"Set {variable} to a token of the hub ({source}) where Claude Code runs." in capsys.readouterr().err


def test_cursor_is_told_in_the_project_whose_mailbox_it_is(home: Path, config: Config) -> None:
    project = home / "project"
    project.mkdir()
    os.chdir(project)
    config("cursor", "--write")
    assert (project / ".cursor" / "mcp.json").is_file()


def test_a_server_of_somebody_else_under_that_name_is_refused(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = '{"mcpServers": {"nanobot-transcript": {"command": "npx", "args": ["other"]}}}'
    (home / ".mcp.json").write_text(known)
    assert main(["mcp-config", "claude-code", "--write"]) == 2
    assert "--name" in capsys.readouterr().err
    assert (home / ".mcp.json").read_text() == known


def test_an_unknown_client_is_refused_in_plain_words(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp-config", "windsurf"]) == 2
    told = capsys.readouterr().err
    assert "Value error" not in told
    assert "windsurf" in told
    assert "claude-code" in told
