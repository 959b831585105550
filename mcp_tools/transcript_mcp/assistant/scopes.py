"""Whose questions somebody may see: a token stands for a scope, and nothing passes from one to another."""

import hmac
from collections.abc import Mapping
from hashlib import sha256
from typing import Final

from nanobot_transcript.errors import TokenRefusedError

__all__ = ["LOCAL", "Scopes"]

LOCAL: Final = "local"
"""The token of who needs none, and the name of the token that stands for it where there are tokens."""

_LONGEST: Final = 1000
_ANY: Final = f"Use any token of up to {_LONGEST} characters; who uses the same one sees the same questions."


class Scopes:
    """Scopes by token.

    ``tokens`` and ``hub_tokens`` by the name of their owner; the same token in both is the hub's. With ``open_to_all``
    every token is let in, each with a scope of its own. A scope is named after the owner, so that a new token keeps the
    history; where there is no owner, after the token's digest, so that no token is ever kept.
    """

    def __init__(self, tokens: Mapping[str, str], hub_tokens: Mapping[str, str], *, open_to_all: bool) -> None:
        known = [(f"assistant/{name}", token) for name, token in tokens.items()]
        known += [(f"hub/{name}", token) for name, token in hub_tokens.items()]
        self._known: list[tuple[bytes, str]] = [(_digest(token), scope) for scope, token in known]
        self._by_name: dict[str, str] = dict(known)
        self._open = open_to_all and not known
        self._unnamed = LOCAL if LOCAL in tokens else next(iter(tokens), None)

    def of_token(self, token: str) -> str:
        """Raises TokenRefusedError."""
        token = token.strip()
        given, found = _digest(token), ""
        for digest, scope in self._known:  # all of them, so that the time tells nothing
            if hmac.compare_digest(digest, given):
                found = scope
        if found:
            return found
        if self._open and 0 < len(token) <= _LONGEST:
            return f"open/{given.hex()[:32]}"
        raise TokenRefusedError(
            "This token is not known here." if token else "A token is needed.",
            hint=_ANY if self._open else "Use a token of assistant.tokens or hub.tokens.",
        )

    def of_caller(self, identity: str | None) -> str:
        """The scope of who calls an MCP tool of the hub, by the identity that the hub has made sure of."""
        kind, _, name = (identity or "").partition("/")
        if kind == "token":
            return self.of_token(self._by_name.get(f"hub/{name}", ""))
        if self._unnamed is not None:
            return f"assistant/{self._unnamed}"
        return self.of_token(LOCAL)


def _digest(token: str) -> bytes:
    return sha256(token.encode(errors="replace")).digest()
