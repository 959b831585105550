"""``mcp assistant``: the tools over stdio; questions are sent to a hub."""

import logging
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
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
    """The hub to ask, and the token to ask with. ``is_programs``: it is a program's token, with which people cannot
    answer.
    """

    host: str
    port: int
    token: str = field(repr=False)
    is_programs: bool = False

    @property
    def url(self) -> str:
        """``http://host:port``"""
        return url_of(self.host, self.port)

    @property
    def page(self) -> str:
        """The URL of the page on which a person answers."""
        if self.is_programs:
            return f"{self.url}/#/questions"  # the page asks for the page token
        return f"{self.url}?token={quote(self.token, safe='')}"


def target_from(
    settings: "Settings", cwd: Path, *, host: str | None = None, port: int | None = None, token: str | None = None
) -> Target:
    """The hub to ask: from the arguments, else the file ``agentassistant-mcp.toml`` in ``cwd``, else the settings.

    A token from the settings is only sent to the hub of the settings, never to an address from a file or an argument.
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
    """The token to use where none is given."""
    return own_token(settings.hub.tokens or settings.assistant.tokens) or LOCAL


def adapter_server(settings: "Settings", target: Target) -> "Server":
    """The MCP server whose questions go to that hub."""
    return build_server(RemoteDesk(target.url, target.token), lambda _ctx: "", options_from(settings))


def open_page(target: Target) -> None:
    """Open the page in a browser, from another process: a browser may print, and our stdout carries MCP."""
    nothing = subprocess.DEVNULL
    subprocess.Popen(  # not waited for: it ends by itself
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
