"""``mcp assistant``: the tools for clients that start programs, with the questions going to a hub."""

import logging
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from nanobot_transcript.errors import ConfigError
from nanobot_transcript.settings.hub_address import url_of
from transcript_mcp.assistant.remote_desk import RemoteDesk
from transcript_mcp.assistant.server import build_server, options_from
from transcript_mcp.door.identity import LOCAL
from transcript_mcp.tokens import own_token

if TYPE_CHECKING:
    from nanobot_transcript.settings import Settings
    from transcript_mcp.sdk import Server

__all__ = ["FILE", "Target", "adapter_server", "open_page", "target_from"]

logger = logging.getLogger(__name__)

FILE: Final = "agentassistant-mcp.toml"
"""Looked for in the working directory."""

_PREFIX: Final = "agentassistant_server_"
_KINDS: Final[Mapping[str, type]] = {"host": str, "port": int, "token": str}


@dataclass(frozen=True, slots=True)
class Target:
    """Where the hub is, and whose questions these are; ``is_programs`` where people have another token than this."""

    host: str
    port: int
    token: str
    is_programs: bool = False

    @property
    def url(self) -> str:
        """``http://host:port``"""
        return url_of(self.host, self.port)

    @property
    def page(self) -> str:
        """Where a person answers."""
        if self.is_programs:
            return f"{self.url}/#/questions"  # which asks for the token of people
        return f"{self.url}?token={quote(self.token, safe='')}"


def target_from(
    settings: "Settings", cwd: Path, *, host: str | None = None, port: int | None = None, token: str | None = None
) -> Target:
    """The hub to ask: what is given, else the file ``agentassistant-mcp.toml`` in ``cwd``, else the settings.

    A token of the settings goes to the hub of the settings only, never where a file or an argument leads.
    Raises ConfigError.
    """
    said: dict[str, Any] = {
        name: value for name, value in (("host", host), ("port", port), ("token", token)) if value is not None
    }
    found = _file(cwd / FILE) | said
    if "token" not in found and ("host" in found or "port" in found):
        raise ConfigError(
            "The hub's address is set, but not the token for it.",
            hint=f"Add --token, or {_PREFIX}token in {FILE}.",
        )
    hub = settings.hub
    return Target(
        found.get("host", hub.host),
        found.get("port", hub.port),
        found["token"] if "token" in found else _own_token(settings),
        is_programs="token" not in found and bool(hub.tokens),
    )


def _own_token(settings: "Settings") -> str:
    """Whose questions these are where nobody says so."""
    return own_token(settings.hub.tokens or settings.assistant.tokens) or LOCAL


def adapter_server(settings: "Settings", target: Target) -> "Server":
    """The MCP server that asks there."""
    return build_server(RemoteDesk(target.url, target.token), lambda _ctx: "", options_from(settings))


def open_page(target: Target) -> None:
    """Open the page in a browser. A process of its own does that: ours talks MCP over its stdout."""
    nothing = subprocess.DEVNULL
    subprocess.Popen(  # left alone: it ends by itself
        [sys.executable, "-m", "webbrowser", target.page], stdin=nothing, stdout=nothing, stderr=nothing
    )


def _file(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.", hint="Make it a readable text file.") from error
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not TOML: {error}.", hint="Correct that line.") from error
    unknown = sorted(document.keys() - {f"{_PREFIX}{name}" for name in _KINDS})
    if unknown:
        known = ", ".join(f"{_PREFIX}{name}" for name in _KINDS)
        logger.warning("%s: %s is not a known setting and is ignored. Known are %s.", path, ", ".join(unknown), known)
    found: dict[str, Any] = {}
    for name, kind in _KINDS.items():
        value = document.get(f"{_PREFIX}{name}")
        if value is None:
            continue
        if type(value) is not kind or not value:
            wanted = "a number" if kind is int else "a text"
            raise ConfigError(f"{path}: {_PREFIX}{name} must be {wanted}.", hint="Correct it.")
        found[name] = value
    return found
