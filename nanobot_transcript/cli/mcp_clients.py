"""How each MCP client wants to be told of a server: the file, the place in it, and the form of the entry."""

import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from nanobot_transcript.errors import ConfigError

__all__ = ["CLIENTS", "SAFE_TOOLS", "Client", "Endpoint", "merged_text", "snippet"]

SAFE_TOOLS: Final[Mapping[str, tuple[str, ...]]] = {
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


@dataclass(frozen=True, slots=True)
class Client:
    """One client. ``file`` is relative to the project, or begins with ``~``; ``place`` are the keys above the entry."""

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
    if endpoint.url is None:
        return {"type": "stdio", **_started(endpoint)}
    return {"type": "http", "url": endpoint.url, **_headers(endpoint, "${{{}}}")}


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
    if endpoint.url is None:
        return _started(endpoint)
    return {"url": endpoint.url} | ({"bearer_token_env_var": endpoint.token} if endpoint.token else {})


def _nanobot(endpoint: Endpoint) -> dict[str, Any]:
    if endpoint.url is None:
        return {"type": "stdio", **_started(endpoint)}
    return {"type": "streamableHttp", "url": endpoint.url, **_headers(endpoint, "${{{}}}")}


CLIENTS: Final[Mapping[str, Client]] = {
    "claude-code": Client(".mcp.json", ("mcpServers",), _claude_code),
    "cursor": Client("~/.cursor/mcp.json", ("mcpServers",), _cursor),
    "vscode": Client(".vscode/mcp.json", ("servers",), _vscode),
    "codex": Client("~/.codex/config.toml", ("mcp_servers",), _codex),
    "nanobot": Client("~/.nanobot/config.json", ("tools", "mcpServers"), _nanobot),
}


def snippet(client: Client, name: str, endpoint: Endpoint) -> str:
    """The entry as it stands alone in the client's file."""
    entry = client.entry(endpoint)
    return _toml(client, name, entry) if client.is_toml else _json(_nested((*client.place, name), entry))


def merged_text(client: Client, path: Path, known: str, name: str, endpoint: Endpoint) -> str:
    """The client's file with the entry in it; everything else stays as it is.

    Raises ConfigError when the file cannot be understood, or holds another entry of this name that only a person can
    take out (TOML).
    """
    entry = client.entry(endpoint)
    if client.is_toml:
        return _merged_toml(client, path, known, name, entry)
    document = _parsed(path, known)
    place = document
    for key in client.place:
        place = place.setdefault(key, {})
        if not isinstance(place, dict):
            raise ConfigError(f"{path}: {key} is not an object.", hint="Correct it by hand, then try again.")
    if place.get(name) == entry:
        return known
    place[name] = entry
    return _json(document)


def _parsed(path: Path, known: str) -> dict[str, Any]:
    try:
        document = json.loads(known) if known.strip() else {}
    except ValueError as error:
        hint = "Comments are not JSON. Correct the file, or add by hand what the command prints without --write."
        raise ConfigError(f"{path} is not JSON: {error}.", hint=hint) from error
    if not isinstance(document, dict):
        raise ConfigError(f"{path} does not hold a JSON object.", hint="Correct it by hand, then try again.")
    return document


def _merged_toml(client: Client, path: Path, known: str, name: str, entry: dict[str, Any]) -> str:
    try:
        document = tomllib.loads(known)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not TOML: {error}.", hint="Correct it by hand, then try again.") from error
    table = document.get(client.place[0], {})
    there = table.get(name) if isinstance(table, dict) else table
    if there is None:
        return f"{known.rstrip()}\n\n{_toml(client, name, entry)}".lstrip()
    if there == entry:
        return known
    hint = f"Take the table [{client.place[0]}.{name}] out of it, or choose another --name."
    raise ConfigError(f"{path} holds another server called {name}.", hint=hint)


def _toml(client: Client, name: str, entry: dict[str, Any]) -> str:
    # A JSON string or list of strings is one of TOML, too, as long as nothing beyond the BMP is escaped.
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items()]
    return "\n".join([f"[{'.'.join(client.place)}.{name}]", *lines, ""])


def _nested(keys: tuple[str, ...], value: Any) -> dict[str, Any]:
    for key in reversed(keys):
        value = {key: value}
    return value


def _json(document: dict[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"
