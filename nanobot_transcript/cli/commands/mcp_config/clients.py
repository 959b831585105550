"""Where and how each MCP client wants its servers configured: the file, the place in it, and the form of an entry."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from nanobot_transcript.cli.commands.mcp_config.jsonc import Form
from nanobot_transcript.cli.terminal.exit_codes import UsageError
from nanobot_transcript.cli.terminal.language import said

__all__ = ["CLIENTS", "Client", "Scope", "ServerEndpoint"]

Scope: TypeAlias = Literal["project", "user"]
"""For which projects a file counts: this one, or all of this person."""

_PATIENCE: Final = 86_460
"""Seconds that a client has to wait for a person's answer: the day that people have, and a minute more."""


@dataclass(frozen=True, slots=True)
class ServerEndpoint:
    """Where the servers are: started as ``command`` with ``args``, or at ``url``.

    ``token`` is the name of the environment variable that holds the bearer token, None when there is none.
    """

    servers: tuple[str, ...]
    command: str = ""
    args: tuple[str, ...] = ()
    url: str | None = None
    token: str | None = None

    @property
    def safe_tools(self) -> list[str]:
        """What a client may call without asking."""
        from transcript_mcp.rooms import ROOMS

        return [tool for server in self.servers for tool in ROOMS[server].safe]

    def patience(self, key: str, unit: int = 1, longest: int = _PATIENCE) -> dict[str, Any]:
        """How long the client is to wait for a call, under its ``key`` and in units of 1/``unit`` seconds.

        ``longest`` is how many seconds the client takes. Empty where no call takes long: the client then goes by a
        limit of its own.
        """
        from transcript_mcp.rooms import ROOMS

        waits = any(ROOMS[server].waits for server in self.servers)
        return {key: min(_PATIENCE, longest) * unit} if waits else {}


@dataclass(frozen=True, slots=True)
class Client:
    """One client.

    ``files`` are those that it reads for servers, by scope, the usual scope first: relative to the project or to the
    home folder, of several the one that exists. ``place`` are the keys above an entry. ``rules`` are the files of
    instructions that its agent reads, in the same way; ``preface`` is what one that we create begins with.
    """

    title: str
    files: Mapping[Scope, tuple[str, ...]]
    place: tuple[str, ...]
    entry: Callable[[ServerEndpoint], dict[str, Any]]
    form: Form = "json"
    calls: bool = True
    """Whether its file can name a server by address; one that cannot starts programs only."""

    reads_variables: bool = True
    """Whether an entry can name the environment variable that holds a token."""

    macos_only: bool = False
    """Whether its file has a place that its documents tell on macOS alone."""

    rules: Mapping[Scope, str] = field(default_factory=dict)
    preface: str = ""

    def lives_here(self, system: str = sys.platform) -> bool:
        """Whether its file has its place on this system."""
        return not self.macos_only or system == "darwin"

    def path(self, scope: Scope | None, home: Path, project: Path) -> Path:
        """The file that the client reads; without a scope the usual one. Raises UsageError where there is none."""
        scope = scope or next(iter(self.files))
        if scope not in self.files:
            known = next(iter(self.files))
            hint = said("Use --scope {scope}, or name a file with --file.", scope=known)
            sentence = said("For {client} there is no file with the scope {scope}.", client=self.title, scope=scope)
            raise UsageError(sentence, hint=hint)
        paths = [_base(scope, home, project) / name for name in self.files[scope]]
        return next((path for path in paths if path.exists()), paths[0])

    def rules_path(self, scope: Scope | None, home: Path, project: Path) -> Path:
        """The file of instructions, as ``path``. Raises UsageError where there is none."""
        if not self.rules:
            hint = said("Put such rules into its settings by hand.")
            raise UsageError(said("{client} reads no file of instructions.", client=self.title), hint=hint)
        scope = scope or next(iter(self.rules))
        if scope not in self.rules:
            hint = said("Use --scope {scope}.", scope=next(iter(self.rules)))
            sentence = "{client} reads no file of instructions for the scope {scope}."
            raise UsageError(said(sentence, client=self.title, scope=scope), hint=hint)
        return _base(scope, home, project) / self.rules[scope]


def _base(scope: Scope, home: Path, project: Path) -> Path:
    return home if scope == "user" else project


def _started(endpoint: ServerEndpoint) -> dict[str, Any]:
    return {"command": endpoint.command, "args": list(endpoint.args)}


def _headers(endpoint: ServerEndpoint, variable: str) -> dict[str, Any]:
    if endpoint.token is None:
        return {}
    return {"headers": {"Authorization": f"Bearer {variable.format(endpoint.token)}"}}


def _approved(endpoint: ServerEndpoint) -> dict[str, Any]:
    return {"autoApprove": endpoint.safe_tools} if endpoint.safe_tools else {}


def _claude_code(endpoint: ServerEndpoint) -> dict[str, Any]:
    patience = endpoint.patience("timeout", 1000)
    if endpoint.url is None:
        return {"type": "stdio", **_started(endpoint), **patience}
    return {"type": "http", "url": endpoint.url, **_headers(endpoint, "${{{}}}"), **patience}


def _cursor(endpoint: ServerEndpoint) -> dict[str, Any]:
    approved = _approved(endpoint)
    if endpoint.url is None:
        return {"command": endpoint.command, "type": "stdio", "args": list(endpoint.args), **approved}
    return {"url": endpoint.url, **_headers(endpoint, "${{env:{}}}"), **approved}


def _vscode(endpoint: ServerEndpoint) -> dict[str, Any]:
    if endpoint.url is None:
        return {"type": "stdio", **_started(endpoint), "cwd": "${workspaceFolder}"}
    return {"type": "http", "url": endpoint.url, **_headers(endpoint, "${{env:{}}}")}


def _codex(endpoint: ServerEndpoint) -> dict[str, Any]:
    patience = endpoint.patience("tool_timeout_sec")
    if endpoint.url is None:
        return _started(endpoint) | patience
    return {"url": endpoint.url} | ({"bearer_token_env_var": endpoint.token} if endpoint.token else {}) | patience


def _nanobot(endpoint: ServerEndpoint) -> dict[str, Any]:
    patience = endpoint.patience("toolTimeout")
    if endpoint.url is None:
        return {"type": "stdio", **_started(endpoint), **patience}
    return {"type": "streamableHttp", "url": endpoint.url, **_headers(endpoint, "${{{}}}"), **patience}


def _gemini(endpoint: ServerEndpoint) -> dict[str, Any]:
    patience = endpoint.patience("timeout", 1000)
    if endpoint.url is None:
        return _started(endpoint) | patience
    return {"httpUrl": endpoint.url, **_headers(endpoint, "${{{}}}"), **patience}  # "url" would be SSE


def _cline(endpoint: ServerEndpoint) -> dict[str, Any]:
    more = endpoint.patience("timeout", longest=3600) | _approved(endpoint)
    if endpoint.url is None:
        return {"type": "stdio", **_started(endpoint), **more}
    return {"type": "streamableHttp", "url": endpoint.url, **more}  # without a type it would be SSE


def _windsurf(endpoint: ServerEndpoint) -> dict[str, Any]:
    if endpoint.url is None:
        return _started(endpoint)
    return {"serverUrl": endpoint.url, **_headers(endpoint, "${{env:{}}}")}


def _opencode(endpoint: ServerEndpoint) -> dict[str, Any]:
    patience = endpoint.patience("timeout", 1000)
    if endpoint.url is None:
        return {"type": "local", "command": [endpoint.command, *endpoint.args], **patience}
    headers = _headers(endpoint, "{{env:{}}}")
    no_login = {"oauth": False} if headers else {}  # otherwise the client opens a browser when a token is refused
    return {"type": "remote", "url": endpoint.url, **headers, **no_login, **patience}


def _trae(endpoint: ServerEndpoint) -> dict[str, Any]:
    return _started(endpoint) if endpoint.url is None else {"url": endpoint.url}


_ALWAYS: Final = "---\ndescription: When to ask people, to report to them and to read mail\nalwaysApply: true\n---\n\n"

CLIENTS: Final[Mapping[str, Client]] = {
    "claude-code": Client(
        "Claude Code", {"project": (".mcp.json",)}, ("mcpServers",), _claude_code, rules={"project": "CLAUDE.md"}
    ),
    "claude-desktop": Client(
        "Claude Desktop",
        {"user": ("Library/Application Support/Claude/claude_desktop_config.json",)},
        ("mcpServers",),
        _started,
        calls=False,
        macos_only=True,
    ),
    "cursor": Client(
        "Cursor",
        {"project": (".cursor/mcp.json",), "user": (".cursor/mcp.json",)},
        ("mcpServers",),
        _cursor,
        rules={"project": ".cursor/rules/nanobot-transcript.mdc"},
        preface=_ALWAYS,
    ),
    "vscode": Client(
        "VS Code",
        {"project": (".vscode/mcp.json",)},
        ("servers",),
        _vscode,
        form="jsonc",
        rules={"project": "AGENTS.md"},
    ),
    "codex": Client(
        "Codex",
        {"user": (".codex/config.toml",), "project": (".codex/config.toml",)},
        ("mcp_servers",),
        _codex,
        form="toml",
        rules={"project": "AGENTS.md", "user": ".codex/AGENTS.md"},
    ),
    "gemini-cli": Client(
        "Gemini CLI",
        {"project": (".gemini/settings.json",), "user": (".gemini/settings.json",)},
        ("mcpServers",),
        _gemini,
        form="commented",
        rules={"project": "GEMINI.md", "user": ".gemini/GEMINI.md"},
    ),
    "qwen-code": Client(
        "Qwen Code",
        {"project": (".qwen/settings.json",), "user": (".qwen/settings.json",)},
        ("mcpServers",),
        _gemini,
        form="commented",
        rules={"project": "AGENTS.md", "user": ".qwen/AGENTS.md"},
    ),
    "opencode": Client(
        "OpenCode",
        {
            "project": ("opencode.json", "opencode.jsonc"),
            "user": (".config/opencode/opencode.json", ".config/opencode/opencode.jsonc"),
        },
        ("mcp",),
        _opencode,
        form="jsonc",
        rules={"project": "AGENTS.md", "user": ".config/opencode/AGENTS.md"},
    ),
    "cline": Client(
        "Cline",
        {"user": (".cline/data/settings/cline_mcp_settings.json",)},
        ("mcpServers",),
        _cline,
        reads_variables=False,
        rules={"project": "AGENTS.md"},
    ),
    "windsurf": Client(
        "Windsurf",
        {"user": (".codeium/windsurf/mcp_config.json",)},
        ("mcpServers",),
        _windsurf,
        rules={"project": "AGENTS.md"},
    ),
    "trae": Client(
        "Trae",
        {"project": (".trae/mcp.json",)},
        ("mcpServers",),
        _trae,
        reads_variables=False,
        rules={"project": ".trae/rules/nanobot-transcript.md"},
        preface=_ALWAYS,
    ),
    "nanobot": Client(
        "nanobot",
        {"user": (".nanobot/config.json",)},
        ("tools", "mcpServers"),
        _nanobot,
        rules={"user": ".nanobot/workspace/AGENTS.md"},
    ),
}
