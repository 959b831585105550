"""The forms are those of the clients' own documents; nanobot's is read by the real one."""

import json
import tomllib
from pathlib import Path

import pytest

from nanobot_transcript.cli.mcp_clients import CLIENTS, Endpoint, merged_text, snippet
from nanobot_transcript.errors import ConfigError

STARTED = Endpoint(("transcript", "filebox"), "/bin/nt", ("mcp", "transcript,filebox"))
CALLED = Endpoint(("filebox",), url="http://127.0.0.1:8765/mcp/filebox", token="TOKEN")
FILE = Path("mcp.json")


def entry(client: str, endpoint: Endpoint) -> dict:
    text = snippet(CLIENTS[client], "nt", endpoint)
    document = tomllib.loads(text) if client == "codex" else json.loads(text)
    for key in (*CLIENTS[client].place, "nt"):
        document = document[key]
    return document


@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_starts_the_command(client: str) -> None:
    made = entry(client, STARTED)
    assert (made["command"], made["args"]) == ("/bin/nt", ["mcp", "transcript,filebox"])


@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_is_told_the_address_and_never_the_token_itself(client: str) -> None:
    made = entry(client, CALLED)
    assert made["url"] == "http://127.0.0.1:8765/mcp/filebox"
    assert "TOKEN" in json.dumps(made)


def test_the_token_is_taken_from_the_variable_in_each_clients_own_way() -> None:
    assert entry("claude-code", CALLED)["headers"] == {"Authorization": "Bearer ${TOKEN}"}
    assert entry("cursor", CALLED)["headers"] == {"Authorization": "Bearer ${env:TOKEN}"}
    assert entry("codex", CALLED)["bearer_token_env_var"] == "TOKEN"


def test_without_a_token_none_is_asked_for() -> None:
    assert "headers" not in entry("claude-code", Endpoint(("filebox",), url="http://127.0.0.1:8765/mcp/filebox"))


def test_cursor_calls_the_mailboxes_own_tools_without_asking() -> None:
    assert entry("cursor", CALLED)["autoApprove"] == [
        "filebox_send_message",
        "filebox_list_messages",
        "filebox_read_message",
        "filebox_resolve_message",
        "filebox_reject_message",
    ]


def test_nanobot_itself_accepts_the_entry() -> None:
    schema = pytest.importorskip("nanobot.config.schema")
    for endpoint in (STARTED, CALLED):
        config = schema.Config.model_validate({"tools": {"mcpServers": {"nt": entry("nanobot", endpoint)}}})
        assert config.tools.mcp_servers["nt"].url == (endpoint.url or "")


def test_what_else_the_file_holds_stays() -> None:
    known = json.dumps({"theme": "暗", "mcpServers": {"other": {"command": "x"}}}, ensure_ascii=False)
    made = merged_text(CLIENTS["cursor"], FILE, known, "nt", STARTED)
    document = json.loads(made)
    assert document["theme"] == "暗"
    assert "暗" in made
    assert list(document["mcpServers"]) == ["other", "nt"]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_second_time_changes_nothing(client: str) -> None:
    once = merged_text(CLIENTS[client], FILE, "", "nt", STARTED)
    assert merged_text(CLIENTS[client], FILE, once, "nt", STARTED) == once


def test_an_older_entry_of_ours_is_replaced() -> None:
    once = merged_text(CLIENTS["vscode"], FILE, "", "nt", STARTED)
    assert json.loads(merged_text(CLIENTS["vscode"], FILE, once, "nt", CALLED))["servers"]["nt"]["type"] == "http"


def test_a_toml_file_keeps_its_comments() -> None:
    known = '# mine\nmodel = "o"\n'
    made = merged_text(CLIENTS["codex"], FILE, known, "nt", STARTED)
    assert made.startswith(known)
    assert tomllib.loads(made)["mcp_servers"]["nt"]["command"] == "/bin/nt"


def test_another_table_of_that_name_is_for_a_person_to_take_out() -> None:
    once = merged_text(CLIENTS["codex"], FILE, "", "nt", STARTED)
    with pytest.raises(ConfigError, match="another server called nt"):
        merged_text(CLIENTS["codex"], FILE, once, "nt", CALLED)


@pytest.mark.parametrize("known", ["{ // comment\n}", "[]", '{"mcpServers": []}', '"x"'])
def test_a_file_that_is_not_understood_is_left_alone(known: str) -> None:
    with pytest.raises(ConfigError) as problem:
        merged_text(CLIENTS["claude-code"], FILE, known, "nt", STARTED)
    assert problem.value.hint


def test_broken_toml_is_left_alone() -> None:
    with pytest.raises(ConfigError):
        merged_text(CLIENTS["codex"], FILE, "[", "nt", STARTED)
