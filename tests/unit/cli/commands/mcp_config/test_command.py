import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nanobot_transcript.cli import main
from nanobot_transcript.cli.commands.mcp_config.clients import CLIENTS

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


@pytest.mark.parametrize("client", [name for name, client in CLIENTS.items() if client.calls])
def test_mail_is_always_that_of_the_hub_and_has_an_entry_of_its_own(home: Path, config: Config, client: str) -> None:
    config(client, "--write")
    document = json.loads(config(client, "--servers", "mail", "--json"))
    assert document["name"] == "agent-mail"
    assert "http://127.0.0.1:8765/mcp/mail" in document["entry"].values()
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
    assert "cannot be combined with other servers" in capsys.readouterr().err


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
    assert "WARNING: NANOBOT_TRANSCRIPT_AGENT__NAME is set here, but Codex may not see it" in capsys.readouterr().err


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
    assert main(["mcp-config", "notepad"]) == 2
    told = capsys.readouterr().err
    assert "Value error" not in told
    assert "notepad" in told
    assert "claude-code" in told


def test_a_scope_is_a_file_of_its_own(home: Path, config: Config) -> None:
    project = home / "project"
    project.mkdir()
    os.chdir(project)
    for client, name in (("gemini-cli", ".gemini/settings.json"), ("codex", ".codex/config.toml")):
        for scope, base in (("project", project), ("user", home)):
            told = json.loads(config(client, "--scope", scope, "--write", "--json"))
            assert told["file"] == str(base / name)
            assert "nanobot-transcript" in (base / name).read_text()
    assert json.loads(config("codex", "--json"))["file"] == str(home / ".codex/config.toml")


def test_a_scope_that_a_client_does_not_have_is_refused(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp-config", "windsurf", "--scope", "project", "--write"]) == 2
    assert "--scope user" in capsys.readouterr().err
    assert list(home.iterdir()) == []


def test_claude_desktop_is_shown_its_entry_everywhere_and_written_to_where_its_file_is(
    home: Path, config: Config, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = json.loads(config("claude-desktop", "--servers", "mail", "--json"))["entry"]
    assert entry["args"] == ["mcp", "mail"], "it starts what goes to the hub, for its file takes no address"
    assert main(["mcp-config", "claude-desktop", "--http"]) == 2
    assert "Leave out --http" in capsys.readouterr().err
    config("claude-desktop", "--write", "--file", "desktop.json")
    assert "nanobot-transcript" in (home / "desktop.json").read_text()


@pytest.mark.skipif(sys.platform == "darwin", reason="there its place is known")
def test_where_claude_desktop_has_its_file_elsewhere_is_not_guessed(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["mcp-config", "claude-desktop", "--write"]) == 2
    assert "--file" in capsys.readouterr().err
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("client", ["cline", "trae"])
def test_a_client_that_reads_no_variables_starts_what_knows_the_token(
    home: Path, config: Config, client: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert json.loads(config(client, "--servers", "mail", "--json"))["entry"]["url"].endswith("/mcp/mail")
    (home / ".nanobot").mkdir()
    (home / ".nanobot" / "transcript.yaml").write_text("hub: {tokens: {ada: long-enough-for-a-token}}\n")
    text = config(client, "--servers", "mail", "--json")
    assert json.loads(text)["entry"]["args"] == ["mcp", "mail"]
    assert "long-enough" not in text
    for called in (["--http"], ["--url", "https://hub.example"]):
        assert main(["mcp-config", client, "--servers", "mail", *called]) == 2
        assert "hub.tokens" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content", [b"{", b"\xff\xfe{}", b'{"a": 1} x', b"\x00" * 64, b"[" * 100_000, b'{"mcpServers": "x"}']
)
def test_a_broken_file_is_left_as_it_is(home: Path, content: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    (home / ".mcp.json").write_bytes(content)
    for arguments in (["--write"], ["--servers", "assistant", "--write", "--rules", "--yes"]):
        assert main(["mcp-config", "claude-code", *arguments]) == 2
        told = capsys.readouterr().err
        assert "Hint: " in told
        assert "Traceback" not in told
    assert (home / ".mcp.json").read_bytes() == content
    assert [each.name for each in home.iterdir()] == [".mcp.json"]


def test_other_servers_and_their_form_stay_to_the_last_byte(home: Path, config: Config) -> None:
    known = '{ "mcpServers":{"other" : {"command":"x","args":[ ]}},\n\n"n": 1.0e2 }'
    (home / ".mcp.json").write_text(known)
    config("claude-code", "--write")
    written = (home / ".mcp.json").read_text()
    assert written.startswith('{ "mcpServers":{"other" : {"command":"x","args":[ ]}, "nanobot-transcript"')
    assert written.endswith('},\n\n"n": 1.0e2 }')


def asking(home: Path, client: str = "claude-code", *more: str) -> int:
    return main(["mcp-config", client, "--servers", "assistant", "--write", "--rules", *more])


def test_without_a_terminal_and_without_yes_nothing_is_written(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "CLAUDE.md").write_text("Mine.\n")
    assert asking(home) == 2
    assert "--yes" in capsys.readouterr().err
    assert [each.name for each in home.iterdir()] == ["CLAUDE.md"]
    assert (home / "CLAUDE.md").read_text() == "Mine.\n"


def test_rules_are_added_replaced_and_taken_out(home: Path, config: Config) -> None:
    (home / "CLAUDE.md").write_text("Mine.")
    assert asking(home, "claude-code", "--yes") == 0
    once = (home / "CLAUDE.md").read_text()
    assert once.startswith("Mine.\n\n<!-- nanobot-transcript:begin")
    config("claude-code", "--rules")  # nothing to change: nobody is asked
    config("claude-code", "--servers", "filebox", "--write")
    config("claude-code", "--rules", "--yes")
    assert "filebox_list_messages" in (home / "CLAUDE.md").read_text()
    told = json.loads(config("claude-code", "--rules", "--remove", "--yes", "--json"))
    assert told == {"client": "claude-code", "rules": {"file": str(home / "CLAUDE.md"), "changed": True}}
    assert (home / "CLAUDE.md").read_text() == "Mine."
    assert json.loads(config("claude-code", "--rules", "--remove", "--json"))["rules"]["changed"] is False


def test_a_file_of_rules_that_we_created_goes_again(home: Path, config: Config) -> None:
    assert asking(home, "cursor", "--yes") == 0
    rules = home / ".cursor/rules/nanobot-transcript.mdc"
    assert rules.read_text().startswith("---\ndescription: ")
    assert "alwaysApply: true" in rules.read_text()
    config("cursor", "--rules", "--remove", "--yes")
    assert not rules.exists()
    assert (home / ".cursor/mcp.json").exists()


def test_rules_are_for_the_servers_that_the_client_has(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp-config", "claude-code", "--rules", "--yes"]) == 2
    assert "--servers assistant" in capsys.readouterr().err
    servers = {"mcpServers": {"nt": {"command": "nanobot-transcript", "args": ["mcp", "mail"], "disabled": True}}}
    (home / ".mcp.json").write_text(json.dumps(servers))
    assert main(["mcp-config", "claude-code", "--rules", "--yes"]) == 2
    assert not (home / "CLAUDE.md").exists()


def test_a_hub_that_offers_all_is_good_for_all_rules(home: Path, config: Config) -> None:
    config("claude-code", "--http", "--write", "--rules", "--yes")
    rules = (home / "CLAUDE.md").read_text()
    assert all(tool in rules for tool in ("ask_question", "check_my_messages", "filebox_list_messages"))
    (home / ".nanobot").mkdir()
    (home / ".nanobot" / "transcript.yaml").write_text("hub: {servers: [mail]}\n")
    config("claude-code", "--rules", "--yes")
    assert "ask_question" not in (home / "CLAUDE.md").read_text()


def test_a_file_that_several_clients_read_has_the_rules_for_the_servers_of_all(home: Path, config: Config) -> None:
    (home / "AGENTS.md").write_text("Mine.\n")
    (home / "CLAUDE.md").symlink_to("AGENTS.md")
    (home / ".vscode").mkdir()
    (home / ".vscode/mcp.json").write_text("broken")
    config("codex", "--servers", "mail", "--write", "--rules", "--yes")
    config("claude-code", "--servers", "assistant", "--write", "--rules", "--yes")
    rules = (home / "AGENTS.md").read_text()
    assert (home / "CLAUDE.md").is_symlink()
    assert rules.count("nanobot-transcript:begin") == 1
    assert "ask_question" in rules
    assert "check_my_messages" in rules


def test_rules_for_all_projects_are_for_servers_of_all_projects(
    home: Path, config: Config, capsys: pytest.CaptureFixture[str]
) -> None:
    project = home / "project"
    project.mkdir()
    os.chdir(project)
    config("gemini-cli", "--servers", "assistant", "--write")
    assert main(["mcp-config", "gemini-cli", "--rules", "--scope", "user", "--yes"]) == 2
    capsys.readouterr()
    config("gemini-cli", "--servers", "mail", "--write", "--rules", "--scope", "user", "--yes")
    assert "ask_question" not in (home / ".gemini/GEMINI.md").read_text()
    config("gemini-cli", "--rules", "--yes")
    assert "check_my_messages" in (project / "GEMINI.md").read_text()
    assert main(["mcp-config", "claude-code", "--rules", "--scope", "user", "--yes"]) == 2
    assert main(["mcp-config", "claude-desktop", "--rules", "--yes"]) == 2


@pytest.mark.parametrize("wrong", [["--remove"], ["--rules", "--remove", "--write"]])
def test_remove_is_for_rules_alone(home: Path, wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp-config", "claude-code", *wrong]) == 2
    assert "--rules --remove" in capsys.readouterr().err


def test_marks_that_somebody_has_broken_are_named_and_left(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "CLAUDE.md").write_text("<!-- nanobot-transcript:end -->\n")
    assert asking(home, "claude-code", "--yes") == 2
    assert "CLAUDE.md" in capsys.readouterr().err
    assert [each.name for each in home.iterdir()] == ["CLAUDE.md"]


def test_a_file_of_rules_that_is_a_link_to_itself_is_told(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "CLAUDE.md").symlink_to("CLAUDE.md")
    for more in ((), ("--yes",)):
        assert asking(home, "claude-code", *more) == 2
        said = capsys.readouterr().err
        assert "CLAUDE.md is a broken link." in said
        assert "Correct the link." in said
    assert [each.name for each in home.iterdir()] == ["CLAUDE.md"]
