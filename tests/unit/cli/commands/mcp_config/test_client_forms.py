"""What the clients' own documents say of their files, client by client. ``source`` is where that was read."""

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from nanobot_transcript.cli.commands.mcp_config.clients import CLIENTS, ServerEndpoint
from nanobot_transcript.cli.terminal.exit_codes import UsageError

PROGRAM = "/opt/bin/nanobot-transcript"
STARTED = ServerEndpoint(("assistant",), PROGRAM, ("mcp", "assistant"))
CALLED = ServerEndpoint(("mail",), url="https://hub.example/mcp/mail", token="TRANSCRIPT_MAIL_TOKEN")
OPEN = ServerEndpoint(("mail",), url="http://127.0.0.1:8765/mcp/mail")
DAY = 86_460
HOME, PROJECT = Path("/home/ada"), Path("/srv/shop")


class Form(NamedTuple):
    """``called`` is None where the file cannot name an address; without a token where it cannot name a variable."""

    source: str
    started: dict[str, Any]
    called: dict[str, Any] | None
    project: str | None = None
    user: str | None = None
    rules_source: str = ""
    rules: str | None = None


FORMS = {
    "claude-desktop": Form(
        source="https://modelcontextprotocol.io/docs/develop/connect-local-servers",
        started={"command": PROGRAM, "args": ["mcp", "assistant"]},
        called=None,
        user="Library/Application Support/Claude/claude_desktop_config.json",
    ),
    "gemini-cli": Form(
        source="https://github.com/google-gemini/gemini-cli/blob/main/docs/tools/mcp-server.md",
        started={"command": PROGRAM, "args": ["mcp", "assistant"], "timeout": DAY * 1000},
        called={"httpUrl": CALLED.url, "headers": {"Authorization": "Bearer ${TRANSCRIPT_MAIL_TOKEN}"}},
        project=".gemini/settings.json",
        user=".gemini/settings.json",
        rules_source="https://geminicli.com/docs/cli/gemini-md",
        rules="GEMINI.md",
    ),
    "qwen-code": Form(
        source="https://github.com/QwenLM/qwen-code/blob/main/docs/users/features/mcp.md",
        started={"command": PROGRAM, "args": ["mcp", "assistant"], "timeout": DAY * 1000},
        called={"httpUrl": CALLED.url, "headers": {"Authorization": "Bearer ${TRANSCRIPT_MAIL_TOKEN}"}},
        project=".qwen/settings.json",
        user=".qwen/settings.json",
        rules_source="https://qwenlm.github.io/qwen-code-docs/1.x/en/users/context-memory/",
        rules="AGENTS.md",
    ),
    "opencode": Form(
        source="https://opencode.ai/v1/docs/mcp-servers/",
        started={"type": "local", "command": [PROGRAM, "mcp", "assistant"], "timeout": DAY * 1000},
        called={
            "type": "remote",
            "url": CALLED.url,
            "headers": {"Authorization": "Bearer {env:TRANSCRIPT_MAIL_TOKEN}"},
            "oauth": False,
        },
        project="opencode.json",
        user=".config/opencode/opencode.json",
        rules_source="https://github.com/anomalyco/opencode/blob/dev/packages/docs/migrate-v1.mdx",
        rules="AGENTS.md",
    ),
    "cline": Form(
        # The types, and the hour that a call may take at most, are those of its program, `@cline/core` 0.0.86.
        source="https://docs.cline.bot/mcp/mcp-overview",
        started={
            "type": "stdio",
            "command": PROGRAM,
            "args": ["mcp", "assistant"],
            "timeout": 3600,
            "autoApprove": ["ask_question", "task_finish", "work_report", "get_answer", "withdraw_question"],
        },
        called={
            "type": "streamableHttp",
            "url": OPEN.url,
            "autoApprove": [
                "whois",
                "list_agents",
                "check_my_messages",
                "overdue_acknowledgements",
                "search_messages",
                "summarize_thread",
                "list_claims",
            ],
        },
        user=".cline/data/settings/cline_mcp_settings.json",
        rules_source="https://docs.cline.bot/customization/cline-rules",
        rules="AGENTS.md",
    ),
    "windsurf": Form(
        source="https://docs.windsurf.com/windsurf/cascade/mcp",
        started={"command": PROGRAM, "args": ["mcp", "assistant"]},
        called={"serverUrl": CALLED.url, "headers": {"Authorization": "Bearer ${env:TRANSCRIPT_MAIL_TOKEN}"}},
        user=".codeium/windsurf/mcp_config.json",
        rules_source="https://docs.windsurf.com/windsurf/cascade/agents-md",
        rules="AGENTS.md",
    ),
    "trae": Form(
        source="https://www.volcengine.com/docs/86677/2137601",
        started={"command": PROGRAM, "args": ["mcp", "assistant"]},
        called={"url": OPEN.url},
        project=".trae/mcp.json",
        rules_source="https://www.w3cschool.cn/traedocs/rules-for-ai.html",  # a copy of docs.trae.cn/ide_rules
        rules=".trae/rules/nanobot-transcript.md",
    ),
}
"""The clients whose documents were read for this; the five older ones stand in test_mcp_clients.py."""

documented = pytest.mark.parametrize(("client", "form"), FORMS.items(), ids=FORMS)


def test_each_client_says_where_its_form_was_read() -> None:
    older = {"claude-code", "cursor", "vscode", "codex", "nanobot"}
    assert CLIENTS.keys() == FORMS.keys() | older
    for form in FORMS.values():
        assert form.source.startswith("https://")
        assert form.rules_source.startswith("https://") == (form.rules is not None)


@documented
def test_a_client_starts_a_server_as_its_documents_say(client: str, form: Form) -> None:
    assert CLIENTS[client].entry(STARTED) == form.started


@documented
def test_a_client_calls_a_server_as_its_documents_say(client: str, form: Form) -> None:
    known = CLIENTS[client]
    assert known.calls == (form.called is not None)
    if known.calls:
        assert known.entry(CALLED if known.reads_variables else OPEN) == form.called
        assert "headers" not in known.entry(OPEN)


@documented
def test_a_client_has_its_file_where_its_documents_say(client: str, form: Form) -> None:
    known = CLIENTS[client]
    for scope, name, base in (("project", form.project, PROJECT), ("user", form.user, HOME)):
        if name is None:
            with pytest.raises(UsageError) as refused:
                known.path(scope, HOME, PROJECT)
            assert "--scope" in (refused.value.hint or "")
        else:
            assert known.path(scope, HOME, PROJECT) == base / name
    assert known.path(None, HOME, PROJECT) == (PROJECT / form.project if form.project else HOME / str(form.user))


@documented
def test_the_rules_go_into_the_file_of_which_the_documents_say_that_its_agent_reads_it(client: str, form: Form) -> None:
    known = CLIENTS[client]
    if form.rules is None:
        with pytest.raises(UsageError, match="reads no file of instructions"):
            known.rules_path(None, HOME, PROJECT)
    else:
        assert known.rules_path(None, HOME, PROJECT) == PROJECT / form.rules


@pytest.mark.parametrize(
    ("client", "file"),
    [
        ("claude-code", PROJECT / "CLAUDE.md"),  # https://code.claude.com/docs/en/memory
        ("cursor", PROJECT / ".cursor/rules/nanobot-transcript.mdc"),  # https://cursor.com/docs/rules
        (
            "vscode",
            PROJECT / "AGENTS.md",
        ),  # https://code.visualstudio.com/docs/copilot/customization/custom-instructions
        ("codex", PROJECT / "AGENTS.md"),  # https://developers.openai.com/codex/guides/agents-md
        ("nanobot", HOME / ".nanobot/workspace/AGENTS.md"),  # BOOTSTRAP_FILES of nanobot.agent.context
    ],
)
def test_the_older_clients_have_their_file_of_instructions_too(client: str, file: Path) -> None:
    assert CLIENTS[client].rules_path(None, HOME, PROJECT) == file


def test_nanobot_itself_reads_the_file_of_instructions() -> None:
    context = pytest.importorskip("nanobot.agent.context")
    schema = pytest.importorskip("nanobot.config.schema")
    file = CLIENTS["nanobot"].rules_path(None, Path.home(), PROJECT)
    assert file.name in context.ContextBuilder.BOOTSTRAP_FILES
    assert file.parent == schema.Config().workspace_path


def test_a_file_with_the_other_ending_is_taken_where_it_is_there(tmp_path: Path) -> None:
    known = CLIENTS["opencode"]
    (tmp_path / "opencode.jsonc").write_text("{}")
    assert known.path("project", HOME, tmp_path).name == "opencode.jsonc"
    (tmp_path / "opencode.json").write_text("{}")
    assert known.path("project", HOME, tmp_path).name == "opencode.json"


def test_claude_desktop_has_a_known_place_on_macos_alone() -> None:
    assert [name for name, client in CLIENTS.items() if not client.lives_here("linux")] == ["claude-desktop"]
    assert all(client.lives_here("darwin") for client in CLIENTS.values())
