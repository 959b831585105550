"""Whose questions somebody may see: a token stands for a scope, and nothing passes from one to another.

Only people with the token of the pages see several: those of all programs.
"""

import hmac
from collections.abc import Mapping
from hashlib import sha256
from typing import Final

from msgspec.structs import replace

from nanobot_transcript.errors import TokenRefusedError
from transcript_mcp.assistant.values import Inquiry

__all__ = ["LOCAL", "Scopes"]

LOCAL: Final = "local"
"""The token of who needs none, and the name of the token that stands for it where there are tokens."""

_LONGEST: Final = 1000
_ANY: Final = f"Use any token of up to {_LONGEST} characters. Everybody with the same token sees the same questions."


class Scopes:
    """Scopes by token.

    ``tokens`` and ``hub_tokens`` by the name of their owner; the same token in both is the hub's. With ``open_to_all``
    every token is let in, each with a scope of its own. A scope is named after the owner, so that a new token keeps the
    history; where there is no owner, after the token's digest, so that no token is ever kept.

    With a ``page_token``, people who have it see what was asked with any of ``hub_tokens``, and those are for programs:
    they ask, and answer nothing.
    """

    def __init__(
        self,
        tokens: Mapping[str, str],
        hub_tokens: Mapping[str, str],
        *,
        open_to_all: bool,
        page_token: str | None = None,
    ) -> None:
        known = [(f"assistant/{name}", token) for name, token in tokens.items()]
        known += [(f"hub/{name}", token) for name, token in hub_tokens.items()]
        self._known: list[tuple[bytes, str]] = [(_digest(token), scope) for scope, token in known]
        self._by_name: dict[str, str] = dict(known)
        self._of_programs: tuple[str, ...] = tuple(f"hub/{name}" for name in hub_tokens)
        self._page: bytes | None = None if page_token is None else _digest(page_token.strip())
        self._open = open_to_all and not known and page_token is None
        self._unnamed = LOCAL if LOCAL in tokens else next(iter(tokens), None)

    def of_token(self, token: str) -> str:
        """The scope of a program that asks. Raises TokenRefusedError."""
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
            hint=_ANY if self._open else "Use a token from assistant.tokens or hub.tokens.",
        )

    def of_person(self, token: str) -> tuple[str, ...]:
        """The scopes in which a person with this token sees and answers questions. Raises TokenRefusedError."""
        if self._page is not None and hmac.compare_digest(self._page, _digest(token.strip())):
            return self._of_programs
        scope = self.of_token(token)
        if self._mark(scope):
            raise TokenRefusedError(
                "This token is for programs: they ask, and do not answer.", hint="People use hub.page_token."
            )
        return (scope,)

    def shown(self, record: Inquiry) -> Inquiry:
        """The record with the id that people know it by: those who see several scopes need to tell their ids apart.

        Messages keep theirs, as people made it.
        """
        question = record.question
        mark = "" if question.kind == "message" else self._mark(question.scope)
        return replace(record, question=replace(question, id=mark + question.id)) if mark else record

    def key_of(self, scopes: tuple[str, ...], shown: str) -> tuple[str, str] | None:
        """Scope and id of what these scopes show by an id; None where a program's own id was meant."""
        for scope in scopes:
            mark = self._mark(scope)
            if shown.startswith(mark):
                return scope, shown.removeprefix(mark)
        return None

    def _mark(self, scope: str) -> str:
        """What the ids of a program's scope begin with for people; empty where nobody sees it beside others."""
        return "" if self._page is None or scope not in self._of_programs else f"{_digest(scope).hex()[:16]}."

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
