"""An entry of ours in the file of an MCP client, beside whatever else a person keeps there."""

import copy
import json
from collections.abc import Iterator, Mapping, MutableMapping
from pathlib import Path
from typing import Any

import tomlkit

from nanobot_transcript.cli.mcp_clients import Client, Endpoint
from nanobot_transcript.cli.mcp_entry import is_ours, update
from nanobot_transcript.cli.mcp_jsonc import CommentInTheWayError, bare, rewritten
from nanobot_transcript.errors import ConfigError

__all__ = ["entries", "merged_text", "snippet"]

_MARK = "\ufeff"
"""Some editors begin a file with it; not every client reads it."""


def snippet(client: Client, name: str, endpoint: Endpoint) -> str:
    """The entry as it stands alone in the client's file."""
    document: Any = client.entry(endpoint)
    for key in reversed((*client.place, name)):
        document = {key: document}
    if client.form == "toml":
        return tomlkit.dumps(document)
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def merged_text(client: Client, path: Path, known: str, name: str, endpoint: Endpoint) -> tuple[str, list[str]]:
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
