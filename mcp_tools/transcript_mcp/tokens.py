"""The tokens that the settings name."""

from collections.abc import Mapping
from typing import Final

from pydantic import SecretStr

from nanobot_transcript.settings import Settings
from transcript_mcp.door.address import is_loopback
from transcript_mcp.door.identity import LOCAL, Tokens, check_page_token

__all__ = ["own_token", "tokens_of"]

_OWN: Final = ("mcp", LOCAL)
"""The names of tokens that are meant for programs on this machine."""


def tokens_of(settings: Settings) -> Tokens:
    """The tokens of the hub. Raises ConfigError when the page's token is one of the others, too."""
    settings.require("hub.page_token")  # if its ${VAR} is unset, the pages would be open to everybody
    hub = settings.hub
    tokens, agents, askers = (
        {name: token.get_secret_value() for name, token in each.tokens.items()}
        for each in (hub, settings.filebox, settings.assistant)
    )
    page_token = hub.page_token.get_secret_value() if hub.page_token is not None else None
    check_page_token(page_token, {"hub.tokens": tokens, "filebox.tokens": agents, "assistant.tokens": askers})
    return Tokens(tokens, agents, askers, page_token, local=is_loopback(hub.host))


def own_token(tokens: Mapping[str, SecretStr]) -> str | None:
    """The token with which a program on this machine calls the hub: the one called ``mcp``, else ``local``, else the
    first; None where there is none.
    """
    named = next((name for name in (*_OWN, *tokens) if name in tokens), None)
    return None if named is None else tokens[named].get_secret_value()
