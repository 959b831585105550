import json
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
