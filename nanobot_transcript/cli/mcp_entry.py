"""An entry of ours in the file of an MCP client, brought up to date; what a person put into it stays."""

import re
from collections.abc import Iterable, Mapping, MutableMapping
from pathlib import PurePath
from typing import Any, Final

__all__ = ["is_ours", "update"]

_PROGRAM: Final = "nanobot-transcript"
_ADDRESS: Final = re.compile(r"https?://\S+/mcp(/[a-z_]+)?/?")
_STARTED: Final = frozenset({"command", "args", "env", "env_vars", "envFile", "cwd"})
_CALLED: Final = frozenset(
    {"url", "headers", "http_headers", "env_http_headers", "bearer_token_env_var", "auth", "oauth", "scopes"}
)
_TOKEN: Final = frozenset({"headers", "bearer_token_env_var"})
_VARIABLE: Final = re.compile(r"TRANSCRIPT_[A-Z_]+_TOKEN")
_SUGGESTED: Final = frozenset({"cwd", "autoApprove", "timeout", "tool_timeout_sec", "toolTimeout"})
"""Keys that are set once, and are a person's to change."""


def is_ours(entry: Any) -> bool:
    """True for an entry that starts this program, or calls an address such as a hub has."""
    if not isinstance(entry, Mapping):
        return False
    command, args, url = (entry.get(key) for key in ("command", "args", "url"))
    if isinstance(command, str):
        words = [command, *(arg for arg in args if isinstance(arg, str))] if isinstance(args, list) else [command]
        return any(PurePath(word.replace("\\", "/")).stem.replace("_", "-") == _PROGRAM for word in words)
    return isinstance(url, str) and _ADDRESS.fullmatch(url) is not None


def update(there: MutableMapping[str, Any], entry: Mapping[str, Any]) -> list[str]:
    """Bring an entry up to date; the keys that were taken out because they do not fit it any more.

    A process has no address and an address no process; some clients refuse the whole file where one has both.
    """
    fits = _STARTED if "command" in entry else _CALLED
    gone = [key for key in there if key in (_STARTED | _CALLED) - fits]
    if "type" in there and "type" not in entry:
        gone.append("type")
    _without(there, gone)
    _update_token(there, entry)
    for key, value in entry.items():
        if key not in _TOKEN and there.get(key) != value and not (key in there and key in _SUGGESTED):
            there[key] = value
    return [key for key in gone if key not in ("command", "args", "url", "type")]


def _update_token(there: MutableMapping[str, Any], entry: Mapping[str, Any]) -> None:
    """Where the token comes from, unless a person has written something else there."""
    _replace(there, "bearer_token_env_var", entry.get("bearer_token_env_var"))
    headers = dict(there.get("headers") or {})
    _replace(headers, "Authorization", entry.get("headers", {}).get("Authorization"))
    if not headers:
        there.pop("headers", None)
    elif headers != there.get("headers"):
        there["headers"] = headers


def _replace(there: MutableMapping[str, Any], key: str, value: str | None) -> None:
    if key in there and not _VARIABLE.search(str(there[key])):
        return
    there.pop(key, None)
    if value is not None:
        there[key] = value


def _without(there: MutableMapping[str, Any], keys: Iterable[str]) -> None:
    for key in keys:
        del there[key]
