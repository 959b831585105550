"""How each MCP client wants to be told of a server: the file, the place in it, and the form of the entry."""

import json
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import tomlkit

from nanobot_transcript.cli.mcp_entry import is_ours, update
from nanobot_transcript.errors import ConfigError

__all__ = ["CLIENTS", "SAFE_TOOLS", "Client", "Endpoint", "merged_text", "snippet"]

SAFE_TOOLS: Final[Mapping[str, tuple[str, ...]]] = {
    "assistant": ("ask_question", "task_finish", "work_report", "get_answer", "withdraw_question"),
    "filebox": (
        "filebox_send_message",
        "filebox_list_messages",
        "filebox_read_message",
        "filebox_resolve_message",
        "filebox_reject_message",
    ),
    "mail": (
        "whois",
        "list_agents",
        "check_my_messages",
        "overdue_acknowledgements",
        "search_messages",
        "summarize_thread",
        "list_claims",
    ),
    "transcript": (
        "transcript_chats",
        "transcript_recent",
        "transcript_search",
        "transcript_members",
        "transcript_wait",
        "transcript_relevance",
    ),
}
"""Tools that a client may call without asking its person: the mailbox's own five, and whatever only reads."""

_WAITING: Final = frozenset({"assistant", "io"})
"""Servers with calls that wait for somebody, for up to a day."""

_PATIENCE: Final = 86_460
"""Seconds that a client has to wait for these: a day, which is as long as people have, and a minute."""


@dataclass(frozen=True, slots=True)
class Endpoint:
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
        return [tool for server in self.servers for tool in SAFE_TOOLS.get(server, ())]

    def patience(self, key: str, unit: int = 1) -> dict[str, Any]:
        """How long the client is to wait for a call, under its ``key`` and in units of 1/``unit`` seconds.

        Empty where no call takes long: the client then goes by a limit of its own.
        """
        return {key: _PATIENCE * unit} if _WAITING & set(self.servers) else {}


@dataclass(frozen=True, slots=True)
class Client:
    """One client. ``file`` is relative to the project, or begins with ``~``; ``place`` are the keys above the entry."""

    title: str
    file: str
    place: tuple[str, ...]
    entry: Callable[[Endpoint], dict[str, Any]]

    def path(self, home: Path, project: Path) -> Path:
        """The file that the client reads."""
        return home / self.file[2:] if self.file.startswith("~/") else project / self.file

    @property
    def is_toml(self) -> bool:
        """True for TOML, else JSON."""
        return self.file.endswith(".toml")


def _started(endpoint: Endpoint) -> dict[str, Any]:
    return {"command": endpoint.command, "args": list(endpoint.args)}


def _headers(endpoint: Endpoint, variable: str) -> dict[str, Any]:
    if endpoint.token is None:
        return {}
    return {"headers": {"Authorization": f"Bearer {variable.format(endpoint.token)}"}}


def _claude_code(endpoint: Endpoint) -> dict[str, Any]:
    patience = endpoint.patience("timeout", 1000)
    if endpoint.url is None:
        return {"type": "stdio", **_started(endpoint), **patience}
    return {"type": "http", "url": endpoint.url, **_headers(endpoint, "${{{}}}"), **patience}


def _cursor(endpoint: Endpoint) -> dict[str, Any]:
    approved = {"autoApprove": endpoint.safe_tools} if endpoint.safe_tools else {}
    if endpoint.url is None:
        return {"command": endpoint.command, "type": "stdio", "args": list(endpoint.args), **approved}
    return {"url": endpoint.url, **_headers(endpoint, "${{env:{}}}"), **approved}


def _vscode(endpoint: Endpoint) -> dict[str, Any]:
    if endpoint.url is None:
        return {"type": "stdio", **_started(endpoint), "cwd": "${workspaceFolder}"}
    return {"type": "http", "url": endpoint.url, **_headers(endpoint, "${{env:{}}}")}


def _codex(endpoint: Endpoint) -> dict[str, Any]:
    patience = endpoint.patience("tool_timeout_sec")
    if endpoint.url is None:
        return _started(endpoint) | patience
    return {"url": endpoint.url} | ({"bearer_token_env_var": endpoint.token} if endpoint.token else {}) | patience


def _nanobot(endpoint: Endpoint) -> dict[str, Any]:
    patience = endpoint.patience("toolTimeout")
    if endpoint.url is None:
        return {"type": "stdio", **_started(endpoint), **patience}
    return {"type": "streamableHttp", "url": endpoint.url, **_headers(endpoint, "${{{}}}"), **patience}


CLIENTS: Final[Mapping[str, Client]] = {
    "claude-code": Client("Claude Code", ".mcp.json", ("mcpServers",), _claude_code),
    "cursor": Client("Cursor", ".cursor/mcp.json", ("mcpServers",), _cursor),
    "vscode": Client("VS Code", ".vscode/mcp.json", ("servers",), _vscode),
    "codex": Client("Codex", "~/.codex/config.toml", ("mcp_servers",), _codex),
    "nanobot": Client("nanobot", "~/.nanobot/config.json", ("tools", "mcpServers"), _nanobot),
}


def snippet(client: Client, name: str, endpoint: Endpoint) -> str:
    """The entry as it stands alone in the client's file."""
    entry = client.entry(endpoint)
    document = _nested((*client.place, name), entry)
    return tomlkit.dumps(document) if client.is_toml else _json(document)


def merged_text(client: Client, path: Path, known: str, name: str, endpoint: Endpoint) -> tuple[str, list[str]]:
    """The client's file with the entry in it, and the keys that were taken out of an older entry of ours.

    Everything else stays as it is, also what a person put into that entry. Raises ConfigError when the file cannot be
    understood, or when an entry of this name starts or calls something that is not ours.
    """
    entry = client.entry(endpoint)
    document = _parsed(client, path, known)
    place: Any = document
    for key in client.place:
        if key not in place:
            place[key] = _new_table(client)
        place = place[key]
        if not isinstance(place, MutableMapping):
            raise ConfigError(f"{path}: {key} is not an object.", hint="Correct it by hand, then try again.")
    if name not in place:
        place[name] = entry
        gone: list[str] = []
    else:
        if not is_ours(place[name]):
            hint = "Choose another --name, or take it out by hand."
            raise ConfigError(f"{path} holds a server called {name} that is not this one.", hint=hint)
        gone = update(place[name], entry)
    text = tomlkit.dumps(document) if client.is_toml else _json(document)
    return (known if _parsed(client, path, known) == document else text), gone


def _parsed(client: Client, path: Path, known: str) -> MutableMapping[str, Any]:
    """The file's content; a TOML document remembers its comments and its form."""
    known = known.removeprefix("\ufeff")  # some editors begin a file with it; not every client reads it
    form = "TOML" if client.is_toml else "JSON"
    try:
        document = tomlkit.parse(known) if client.is_toml else json.loads(known) if known.strip() else {}
    except ValueError as error:
        what = "" if client.is_toml else "Comments are not JSON. "
        hint = f"{what}Correct the file, or add by hand what the command prints without --write."
        raise ConfigError(f"{path} is not {form}: {error}.", hint=hint) from error
    if not isinstance(document, MutableMapping):
        raise ConfigError(f"{path} does not hold a JSON object.", hint="Correct it by hand, then try again.")
    return document


def _new_table(client: Client) -> MutableMapping[str, Any]:
    return tomlkit.table(is_super_table=True) if client.is_toml else {}


def _nested(keys: tuple[str, ...], value: Any) -> dict[str, Any]:
    for key in reversed(keys):
        value = {key: value}
    return value


def _json(document: Mapping[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"
