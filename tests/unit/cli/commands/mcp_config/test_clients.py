"""The forms are those of the clients' own documents; nanobot's is read by the real one."""

import json
import tomllib
from pathlib import Path

import pytest
import tomlkit

from nanobot_transcript.cli.commands.mcp_config.clients import CLIENTS, ServerEndpoint
from nanobot_transcript.cli.commands.mcp_config.entry import merged_text, snippet
from nanobot_transcript.errors import ConfigError
from nanobot_transcript.settings.sections.assistant import AssistantSettings

TOKEN = "TRANSCRIPT_FILEBOX_TOKEN"
STARTED = ServerEndpoint(("transcript", "filebox"), "/bin/nanobot-transcript", ("mcp", "transcript,filebox"))
CALLED = ServerEndpoint(("filebox",), url="http://127.0.0.1:8765/mcp/filebox", token=TOKEN)
FILE = Path("mcp.json")
CALLING = [name for name, client in CLIENTS.items() if client.calls]
"""Clients whose file can name an address; Claude Desktop's cannot."""


def entry(client: str, endpoint: ServerEndpoint) -> dict:
    text = snippet(CLIENTS[client], "nt", endpoint)
    document = tomllib.loads(text) if client == "codex" else json.loads(text)
    for key in (*CLIENTS[client].place, "nt"):
        document = document[key]
    return document


def merged(client: str, known: str, endpoint: ServerEndpoint) -> str:
    return merged_text(CLIENTS[client], FILE, known, "nt", endpoint)[0]


@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_starts_the_command(client: str) -> None:
    made = entry(client, STARTED)
    command = made["command"] if client == "opencode" else [made["command"], *made["args"]]
    assert command == ["/bin/nanobot-transcript", "mcp", "transcript,filebox"]


@pytest.mark.parametrize("client", CALLING)
def test_every_client_is_told_the_address_and_where_it_can_the_variable_of_the_token(client: str) -> None:
    made = entry(client, CALLED)
    key = {"gemini-cli": "httpUrl", "qwen-code": "httpUrl", "windsurf": "serverUrl"}.get(client, "url")
    assert made[key] == "http://127.0.0.1:8765/mcp/filebox"
    assert (TOKEN in json.dumps(made)) == CLIENTS[client].reads_variables


def test_the_token_is_taken_from_the_variable_in_each_clients_own_way() -> None:
    assert entry("claude-code", CALLED)["headers"] == {"Authorization": "Bearer ${TRANSCRIPT_FILEBOX_TOKEN}"}
    assert entry("cursor", CALLED)["headers"] == {"Authorization": "Bearer ${env:TRANSCRIPT_FILEBOX_TOKEN}"}
    assert entry("codex", CALLED)["bearer_token_env_var"] == TOKEN


def test_without_a_token_none_is_asked_for() -> None:
    assert "headers" not in entry("claude-code", ServerEndpoint(("filebox",), url="http://127.0.0.1:8765/mcp/filebox"))


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


LIMITS = {
    "claude-code": ("timeout", 1000),
    "codex": ("tool_timeout_sec", 1),
    "nanobot": ("toolTimeout", 1),
    "gemini-cli": ("timeout", 1000),
    "qwen-code": ("timeout", 1000),
    "opencode": ("timeout", 1000),
    "cline": ("timeout", 1),
}
"""How clients are told to wait longer for a call, and how many of their units make a second."""


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("server", ["assistant", "io"])
def test_a_client_is_told_to_wait_as_long_as_people_may_take(client: str, server: str) -> None:
    called = ServerEndpoint((server,), url=f"http://127.0.0.1:8765/mcp/{server}")
    for endpoint in (ServerEndpoint((server,), "/bin/nanobot-transcript", ("mcp", server)), called):
        made = entry(client, endpoint)
        key, unit = LIMITS.get(client, ("", 1))
        longest = 3600 if client == "cline" else AssistantSettings().longest_timeout + 60  # it takes an hour at most
        assert made.get(key, 0) == longest * unit * bool(key)
        assert not {name for name, _ in LIMITS.values()} & (made.keys() - {key})


def test_nanobot_itself_takes_the_longer_wait() -> None:
    schema = pytest.importorskip("nanobot.config.schema")
    servers = {"nt": entry("nanobot", ServerEndpoint(("io",), url="http://127.0.0.1:8765/mcp/io"))}
    config = schema.Config.model_validate({"tools": {"mcpServers": servers}})
    assert config.tools.mcp_servers["nt"].tool_timeout > 86_400


@pytest.mark.parametrize("client", LIMITS)
def test_where_no_call_takes_long_the_clients_own_limit_stays(client: str) -> None:
    assert LIMITS[client][0] not in entry(client, STARTED)
    assert LIMITS[client][0] not in entry(client, CALLED)


@pytest.mark.parametrize("client", LIMITS)
def test_a_limit_that_a_person_has_set_stays(client: str) -> None:
    asking = ServerEndpoint(("assistant",), "/bin/nanobot-transcript", ("mcp", "assistant"))
    before = {**entry(client, asking), LIMITS[client][0]: 5000}
    assert changed(client, before, asking)[LIMITS[client][0]] == 5000


def test_what_else_the_file_holds_stays() -> None:
    known = json.dumps({"theme": "暗", "mcpServers": {"other": {"command": "x"}}}, ensure_ascii=False)
    made = merged("cursor", known, STARTED)
    document = json.loads(made)
    assert document["theme"] == "暗"
    assert "暗" in made
    assert list(document["mcpServers"]) == ["other", "nt"]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_second_time_changes_nothing(client: str) -> None:
    once = merged(client, "", STARTED)
    assert merged(client, once, STARTED) == once


def test_an_older_entry_of_ours_is_replaced() -> None:
    once = merged("vscode", "", STARTED)
    assert json.loads(merged("vscode", once, CALLED))["servers"]["nt"]["type"] == "http"


def test_a_toml_file_keeps_its_comments() -> None:
    known = '# mine\nmodel = "o"\n'
    made = merged("codex", known, STARTED)
    assert made.startswith(known)
    assert tomllib.loads(made)["mcp_servers"]["nt"]["command"] == "/bin/nanobot-transcript"


def changed(client: str, before: dict, endpoint: ServerEndpoint) -> dict:
    """An entry of the client, as it stands after the command has met ``before`` in its file."""
    place = CLIENTS[client].place
    document: dict = {"nt": before}
    for key in reversed(place):
        document = {key: document}
    known = tomlkit.dumps(document) if client == "codex" else json.dumps(document)
    made = merged(client, known, endpoint)
    document = tomllib.loads(made) if client == "codex" else json.loads(made)
    for key in (*place, "nt"):
        document = document[key]
    return document


@pytest.mark.parametrize("client", CLIENTS)
def test_what_a_person_put_into_our_entry_stays(client: str) -> None:
    older = entry(client, ServerEndpoint(("filebox",), "/old/nanobot-transcript", ("mcp", "filebox")))
    before = {**entry(client, STARTED), **older, "env": {"A": "b"}, "disabled": True}
    before.update({"autoApprove": entry(client, STARTED)["autoApprove"]} if "autoApprove" in before else {})
    assert changed(client, before, STARTED) == {**entry(client, STARTED), "env": {"A": "b"}, "disabled": True}


@pytest.mark.parametrize("client", CALLING)
def test_from_a_process_to_an_address_and_back_only_fitting_keys_stay(client: str) -> None:
    before = {**entry(client, STARTED), "env": {"A": "b"}, "startup_timeout_sec": 5}
    there = changed(client, before, CALLED)
    assert there == {**entry(client, CALLED), "startup_timeout_sec": 5} | (
        {"autoApprove": entry(client, STARTED)["autoApprove"]} if client in ("cursor", "cline") else {}
    )
    back = changed(client, there, STARTED)
    assert back == {**entry(client, STARTED), "startup_timeout_sec": 5}


def test_what_was_taken_out_is_told() -> None:
    known = json.dumps({"mcpServers": {"nt": {"command": "/old/nanobot-transcript", "env": {"A": "b"}}}})
    assert merged_text(CLIENTS["claude-code"], FILE, known, "nt", CALLED)[1] == ["env"]


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    "before",
    [
        {"command": "npx", "args": ["other"]},
        {"command": ["npx", "other"]},
        {"url": "https://example.org/api"},
        {"httpUrl": "https://example.org/api"},
        {"serverUrl": 1},
        {"command": 1},
        {"command": []},
        {},
    ],
)
def test_an_entry_that_is_not_ours_is_left_alone(client: str, before: dict) -> None:
    with pytest.raises(ConfigError, match="already has a different server"):
        changed(client, before, STARTED)


def test_a_persons_own_headers_stay_also_a_token_of_theirs() -> None:
    url = "http://127.0.0.1:8765/mcp/filebox"
    before = {"type": "http", "url": url, "headers": {"X-Team": "a", "Authorization": "Bearer ${MINE}"}}
    assert changed("claude-code", before, CALLED)["headers"] == before["headers"]
    ours = {"X-Team": "a", "Authorization": "Bearer ${TRANSCRIPT_HUB_TOKEN}"}
    before["headers"] = ours
    assert changed("claude-code", before, CALLED)["headers"]["Authorization"] == f"Bearer ${{{TOKEN}}}"
    before["headers"] = ours
    assert changed("claude-code", before, ServerEndpoint(("filebox",), url=url))["headers"] == {"X-Team": "a"}


def test_a_token_of_ours_in_another_place_gives_way_to_the_one_that_the_client_reads() -> None:
    headers = {"X-Team": "a", "Authorization": "Bearer ${TRANSCRIPT_HUB_TOKEN}"}
    made = changed("codex", {"url": "http://127.0.0.1:8765/mcp/filebox", "headers": headers}, CALLED)
    assert (made["headers"], made["bearer_token_env_var"]) == ({"X-Team": "a"}, TOKEN)


def test_tools_that_a_person_wants_to_be_asked_for_are_not_approved_again() -> None:
    before = {**entry("cursor", STARTED), "autoApprove": ["transcript_recent"]}
    assert changed("cursor", before, STARTED)["autoApprove"] == ["transcript_recent"]


def test_a_table_of_ours_in_toml_keeps_its_comments_and_what_lies_below_it() -> None:
    known = """# top
[mcp_servers.nt] # ours
command = "/bin/nanobot-transcript"
args = [
  "mcp", # all
  "filebox",
]
cwd = "/work"

[mcp_servers.nt.env]
A = "b"

[mcp_servers.other]
command = "x" # theirs
"""
    made = merged("codex", known, STARTED)
    for kept in ("# top", "# ours", 'cwd = "/work"', '[mcp_servers.nt.env]\nA = "b"', 'command = "x" # theirs'):
        assert kept in made
    assert tomllib.loads(made)["mcp_servers"]["nt"]["args"] == ["mcp", "transcript,filebox"]
    called = tomllib.loads(merged("codex", known, CALLED))["mcp_servers"]
    assert called["nt"] == {"url": CALLED.url, "bearer_token_env_var": TOKEN}
    assert called["other"] == {"command": "x"}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_mark_at_the_beginning_of_the_file_does_not_hurt(client: str) -> None:
    once = merged(client, "", STARTED)
    assert merged(client, "\ufeff" + once, CALLED) == merged(client, once, CALLED)


@pytest.mark.parametrize(
    "known", ["{ // comment\n}", "[]", '{"mcpServers": []}', '"x"', "{", "[" * 100_000, "{'a': 1}"]
)
@pytest.mark.parametrize("client", ["claude-code", "claude-desktop", "cursor", "cline", "windsurf", "trae", "nanobot"])
def test_a_file_that_is_not_understood_is_left_alone(client: str, known: str) -> None:
    if client == "nanobot" and known == '{"mcpServers": []}':
        known = '{"tools": []}'
    with pytest.raises(ConfigError) as problem:
        merged(client, known, STARTED)
    assert problem.value.hint


@pytest.mark.parametrize("client", ["vscode", "opencode", "gemini-cli", "qwen-code"])
def test_where_the_client_reads_comments_they_stay(client: str) -> None:
    known = '{\n  // mine\n  "theme": "dark" /* for the night */\n}\n'
    made = merged(client, known, STARTED)
    assert made.startswith('{\n  // mine\n  "theme": "dark", /* for the night */\n')
    assert merged(client, made, STARTED) == made


@pytest.mark.parametrize(("client", "hint"), [("cursor", "Comments are not JSON"), ("gemini-cli", "comma after")])
def test_what_a_client_does_not_read_is_told(client: str, hint: str) -> None:
    with pytest.raises(ConfigError) as problem:
        merged(client, '{"a": 1, // b\n}', STARTED)
    assert hint in (problem.value.hint or "")


def test_a_comment_that_would_be_lost_is_no_reason_to_lose_it() -> None:
    known = json.dumps({"servers": {"nt": entry("vscode", STARTED)}}, indent=2)
    commented = known.replace('"args": [', '"args": [ // which ones')
    assert merged("vscode", commented, STARTED) == commented
    with pytest.raises(ConfigError, match="without losing a comment"):
        merged("vscode", commented, CALLED)


@pytest.mark.parametrize("client", ["cursor", "codex"])
def test_line_ends_of_windows_stay(client: str) -> None:
    once = merged(client, "", STARTED).replace("nt", "other").replace("\n", "\r\n")
    made = merged(client, once, STARTED)
    assert made.count("\n") == made.count("\r\n") > once.count("\r\n")


@pytest.mark.parametrize("headers", ["mine", ["a"], 1])
def test_headers_that_are_none_are_left_to_the_person(headers: object) -> None:
    before = {"type": "http", "url": "http://127.0.0.1:8765/mcp/filebox", "headers": headers}
    assert changed("claude-code", before, CALLED)["headers"] == headers


def test_broken_toml_is_left_alone() -> None:
    with pytest.raises(ConfigError):
        merged("codex", "[", STARTED)
