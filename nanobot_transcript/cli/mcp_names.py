"""The names of the MCP servers as commands take them."""

from collections.abc import Mapping
from typing import Final, get_args

from nanobot_transcript.cli.language import said
from nanobot_transcript.cli.problems import UsageError

__all__ = ["HUB_ONLY", "OWN_ENTRY", "server_names"]

HUB_ONLY: Final[Mapping[str, str]] = {"mail": "agent-mail", "io": "io-bridge"}
"""Servers that only the hub serves, as one process has to know all clients; and what a client calls each of them."""

OWN_ENTRY: Final[Mapping[str, str]] = {**HUB_ONLY, "assistant": "agent-assistant"}
"""Servers that stand alone where a client starts them, and what it calls each of them."""


def server_names(text: str) -> tuple[str, ...]:
    """``"transcript,filebox"`` as names, each once. Raises UsageError for one that there is not."""
    from nanobot_transcript.settings.serving import ServerName

    known = get_args(ServerName)
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        wrong = said("There is no server {name}.", name=repr(unknown[0])) if unknown else said("No server is named.")
        hint = said("The servers: {names}. Separate several with commas.", names=", ".join(known))
        raise UsageError(wrong, hint=hint)
    return names
