"""Updates our entry in the file of an MCP client, and keeps what a person put into it."""

import copy
import json
import re
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from pathlib import Path, PurePath
from typing import Any, Final

import tomlkit

from nanobot_transcript.cli.commands.mcp_config.clients import Client, ServerEndpoint
from nanobot_transcript.cli.commands.mcp_config.jsonc import CommentInTheWayError, bare, rewritten
from nanobot_transcript.errors import ConfigError

__all__ = ["entries", "is_ours", "merged_text", "served", "snippet", "update"]

_PROGRAM: Final = "nanobot-transcript"
_ADDRESS: Final = re.compile(r"https?://\S+/mcp(?:/([a-z_]+))?/?")
_ADDRESSES: Final = ("url", "httpUrl", "serverUrl")
_STARTED: Final = frozenset({"command", "args", "env", "environment", "env_vars", "envFile", "cwd"})
_CALLED: Final = frozenset(
    {*_ADDRESSES, "headers", "http_headers", "env_http_headers", "bearer_token_env_var", "auth", "oauth", "scopes"}
)
_SPOKEN_OF: Final = frozenset({"command", "args", "type", *_ADDRESSES})
"""Keys that are removed silently when an entry changes from a process to an address, or back."""

_TOKEN: Final = frozenset({"headers", "bearer_token_env_var"})
_VARIABLE: Final = re.compile(r"TRANSCRIPT_[A-Z_]+_TOKEN")
_SUGGESTED: Final = frozenset({"cwd", "autoApprove", "timeout", "tool_timeout_sec", "toolTimeout"})
"""Keys that are set once, and left to the person from then on."""


def is_ours(entry: Any) -> bool:
    """True for an entry that starts this program, or calls an address such as a hub has."""
    if not isinstance(entry, Mapping):
        return False
    words = _words(entry)
    if words:
        return any(PurePath(word.replace("\\", "/")).stem.replace("_", "-") == _PROGRAM for word in words)
    return _address(entry) is not None


def served(entry: Any) -> frozenset[str] | None:
    """The servers behind an entry of ours: none where it is switched off, None for all that a hub offers."""
    if not is_ours(entry) or entry.get("disabled") is True or entry.get("enabled") is False:
        return frozenset()
    words = _words(entry)
    if words:
        behind = words[words.index("mcp") + 1 :] if "mcp" in words else []
        return frozenset(behind[0].split(",") if behind else ())
    address = _address(entry)
    return frozenset({address[1]}) if address and address[1] else None


def _words(entry: Mapping[str, Any]) -> list[str]:
    """The command line of an entry, empty for one that is called; some clients keep it in one list."""
    command, args = entry.get("command"), entry.get("args")
    words = [command] if isinstance(command, str) else command if isinstance(command, list) else []
    return [word for word in [*words, *(args if isinstance(args, list) else [])] if isinstance(word, str)]


def _address(entry: Mapping[str, Any]) -> re.Match[str] | None:
    urls = [entry[key] for key in _ADDRESSES if isinstance(entry.get(key), str)]
    return _ADDRESS.fullmatch(urls[0]) if urls and "command" not in entry else None


def update(there: MutableMapping[str, Any], entry: Mapping[str, Any]) -> list[str]:
    """Bring an entry up to date; the keys that were taken out because they do not fit it any more.

    A process has no address and an address no process; some clients refuse the whole file where one has both.
    """
    fits = _STARTED if "command" in entry else _CALLED
    gone = [key for key in there if key in (_STARTED | _CALLED) - fits or (key in _ADDRESSES and key not in entry)]
    if isinstance(entry.get("command"), list) and "args" in there:
        gone.append("args")
    if "type" in there and "type" not in entry:
        gone.append("type")
    _without(there, gone)
    _update_token(there, entry)
    for key, value in entry.items():
        if key not in _TOKEN and there.get(key) != value and not (key in there and key in _SUGGESTED):
            there[key] = value
    return [key for key in gone if key not in _SPOKEN_OF]


def _update_token(there: MutableMapping[str, Any], entry: Mapping[str, Any]) -> None:
    """Where the token comes from, unless a person has written something else there."""
    _replace(there, "bearer_token_env_var", entry.get("bearer_token_env_var"))
    known = there.get("headers") or {}
    if not isinstance(known, Mapping):
        return  # a form that we do not know stays as it is
    headers = dict(known)
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


_MARK = "\ufeff"
"""Some editors begin a file with it; not every client reads it."""


def snippet(client: Client, name: str, endpoint: ServerEndpoint) -> str:
    """The entry as it stands alone in the client's file."""
    document: Any = client.entry(endpoint)
    for key in reversed((*client.place, name)):
        document = {key: document}
    if client.form == "toml":
        return tomlkit.dumps(document)
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def merged_text(client: Client, path: Path, known: str, name: str, endpoint: ServerEndpoint) -> tuple[str, list[str]]:
    """The client's file with the entry in it, and the keys that were taken out of an older entry of ours.

    Everything else stays as it is written, also what a person put into that entry. Raises ConfigError when the file
    cannot be understood, when a comment would be lost, or when an entry of this name starts or calls something that is
    not ours.
    """
    entry = client.entry(endpoint)
    before = _parsed(client, path, known)
    document = copy.deepcopy(before)
    place = document
    for key in client.place:
        if key not in place:
            place[key] = tomlkit.table(is_super_table=True) if client.form == "toml" else {}
        place = place[key]
        if not isinstance(place, MutableMapping):
            raise ConfigError(f"{path}: {key} is not an object.", hint="Correct it by hand, then try again.")
    gone: list[str] = []
    if name not in place:
        place[name] = entry
    elif is_ours(place[name]):
        gone = update(place[name], entry)
    else:
        hint = "Choose another --name, or remove it by hand."
        raise ConfigError(f"{path} already has a different server called {name}.", hint=hint)
    return (known if document == before else _written(client, path, known, document)), gone


def entries(client: Client, path: Path, known: str) -> Iterator[Any]:
    """All entries of the client's file, whoever they belong to. Raises ConfigError when it cannot be understood."""
    place: Any = _parsed(client, path, known)
    for key in client.place:
        place = place.get(key) if isinstance(place, Mapping) else None
    if isinstance(place, Mapping):
        yield from place.values()


def _parsed(client: Client, path: Path, known: str) -> MutableMapping[str, Any]:
    """The file's content; a TOML document remembers its comments and its form."""
    known = known.removeprefix(_MARK)
    try:
        if client.form == "toml":
            return tomlkit.parse(known)
        document = json.loads(bare(known, client.form)) if known.strip() else {}
    except (ValueError, RecursionError) as error:
        form = "TOML" if client.form == "toml" else "JSON"
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        hint = f"{_allowed(client)}Correct the file, or add by hand what the command prints without --write."
        raise ConfigError(f"{path} is not {form}: {why}.", hint=hint) from error
    if not isinstance(document, MutableMapping):
        raise ConfigError(f"{path} does not contain a JSON object.", hint="Correct it by hand, then try again.")
    return document


def _allowed(client: Client) -> str:
    if client.form == "json":
        return "Comments are not JSON. "
    return "A comma after the last item is not JSON. " if client.form == "commented" else ""


def _written(client: Client, path: Path, known: str, document: MutableMapping[str, Any]) -> str:
    known = known.removeprefix(_MARK)
    if client.form == "toml":
        text = tomlkit.dumps(document)
        return text.replace("\r\n", "\n").replace("\n", "\r\n") if "\r\n" in known else text
    try:
        text = rewritten(known, client.form, document)
    except CommentInTheWayError as error:
        hint = "Move the comment out of our entry, or change it by hand as the command prints it without --write."
        raise ConfigError(f"{path} cannot be changed without losing a comment.", hint=hint) from error
    return text
