"""Who a caller is, by token, and what the token opens. Knows neither HTTP nor MCP."""

import hmac
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Literal, TypeAlias

from nanobot_transcript.errors import ConfigError, TokenRefusedError
from transcript_mcp.door.errors import RequestError

__all__ = [
    "LOCAL",
    "SET_PAGE_TOKEN",
    "Caller",
    "Entrance",
    "Kind",
    "Tokens",
    "bearer",
    "check_page_token",
    "digest",
    "fits",
    "require",
]

SET_PAGE_TOKEN: Final = "NANOBOT_TRANSCRIPT_HUB__PAGE_TOKEN=$(openssl rand -hex 16)"
"""A shell line that sets the page token."""

LOCAL: Final = "local"
"""The token of callers that need none, and the name under which the settings may give them one."""

_PERSON: Final = "page"
"""The name of people in the log."""
_LONGEST: Final = 1000
_ANY: Final = f"Use any token of up to {_LONGEST} characters. Everybody with the same token sees the same questions."
_KNOWN: Final = "Use a token from assistant.tokens or hub.tokens."

Kind: TypeAlias = Literal["machine", "program", "agent", "asker", "person"]
"""``machine``: somebody on this machine, where the hub asks for no token; ``program``: a token of ``hub.tokens``;
``agent``: of ``filebox.tokens``; ``asker``: of ``assistant.tokens``, or any token where there are none; ``person``:
``hub.page_token``.
"""

Entrance: TypeAlias = Literal["mcp", "programs", "pages", "about"]
"""What is behind a route: MCP servers, what else programs use, the pages' API, and the pages' first request
(``about``). The API of the pages shows everybody's mail and writes as a person.
"""

_OPENS: Final[Mapping[Kind, frozenset[Entrance]]] = {
    "machine": frozenset({"mcp", "programs", "pages", "about"}),
    "program": frozenset({"mcp", "programs"}),
    "agent": frozenset({"mcp"}),
    "asker": frozenset({"about"}),
    "person": frozenset({"pages", "about"}),
}
_AGENTS_OPEN: Final = frozenset({"filebox"})
"""The MCP servers that an agent's token opens."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The owner of a token. ``name`` is empty for ``machine``. ``scopes``: groups of questions that the caller sees; a
    program has exactly one, in which it asks.
    """

    kind: Kind = "machine"
    name: str = ""
    scopes: tuple[str, ...] = ()

    @property
    def text(self) -> str | None:
        """``agent/NAME`` or ``token/NAME``; None for callers that use no MCP server with a token."""
        words: Mapping[Kind, str] = {"agent": "agent", "program": "token"}
        return f"{words[self.kind]}/{self.name}" if self.kind in words else None

    @classmethod
    def of_text(cls, text: str) -> "Caller":
        """The caller with this ``text``; text without a known prefix is the name of a program."""
        word, _, name = text.partition("/")
        if word == "agent":
            return cls("agent", name)
        name = name if word == "token" else text
        return cls("program", name, (_of_program(name),))


class Tokens:
    """The tokens of one hub: of ``programs``, ``agents`` and ``askers`` by the name of their owner, and the ``page``
    token, for people.

    Tokens of ``askers`` open the page of questions; they do not decide whether the hub requires tokens. A token given
    in several places belongs to the agent, else to the program. With ``local`` and no token at all, any token may ask
    and answer, each in a scope of its own.

    A scope is named after the owner, so that a new token keeps the history; where there is no owner, after the token's
    digest, so that no token is ever stored. With a page token, people see the questions of all programs, and tokens of
    programs may only ask, not answer.
    """

    def __init__(
        self,
        programs: Mapping[str, str] | None = None,
        agents: Mapping[str, str] | None = None,
        askers: Mapping[str, str] | None = None,
        page: str | None = None,
        *,
        local: bool = False,
    ) -> None:
        programs, agents, askers = programs or {}, agents or {}, askers or {}
        of_programs = tuple(_of_program(name) for name in programs)
        self._programs = [
            (digest(token), Caller("program", name, (_of_program(name),))) for name, token in programs.items()
        ]
        self._agents = [(digest(token), Caller("agent", name)) for name, token in agents.items()]
        self._askers = [(digest(token), Caller("asker", name, (_of_asker(name),))) for name, token in askers.items()]
        self._people = [] if page is None else [(digest(page.strip()), Caller("person", _PERSON, of_programs))]
        self.needs_token: bool = bool(programs or agents or self._people)
        """True when every request needs a token."""
        self.shared: frozenset[str] = frozenset(of_programs if self._people else ())
        """The scopes that people see together on one page."""
        self._is_open: bool = local and not self.needs_token and not askers
        self._of_machine: str | None = _of_asker(LOCAL if LOCAL in askers else next(iter(askers))) if askers else None

    def authenticate(self, authorization: str | None, entrance: Entrance | None = None) -> Caller:
        """The caller of a request, from its ``Authorization`` header. Raises RequestError."""
        token = bearer(authorization)
        if not self.needs_token:
            return Caller(scopes=self._seen_with(token or LOCAL) if entrance == "pages" else ())
        askers = self._askers if entrance == "about" else []
        if (known := _owner(token, (*askers, *self._programs, *self._agents, *self._people))) is not None:
            return known
        raise RequestError(
            401,
            "wrong_token" if token else "no_token",
            "This token is not known here." if token else "The hub requires a token.",
            "Send 'Authorization: Bearer TOKEN' with a token from hub.tokens; for the pages, with hub.page_token.",
        )

    def asking(self, token: str) -> Caller:
        """The caller who asks a question, by a token inside the call itself. Raises TokenRefusedError."""
        token = token.strip()
        if (known := _owner(token, (*self._askers, *self._programs))) is not None:
            return known
        if self._is_open and 0 < len(token) <= _LONGEST:
            return Caller("asker", "", (f"open/{digest(token)[:32]}",))
        raise TokenRefusedError(
            "This token is not known here." if token else "A token is needed.",
            hint=_ANY if self._is_open else _KNOWN,
        )

    def answering(self, token: str) -> Caller:
        """The caller who sees and answers questions with a token. Raises TokenRefusedError."""
        if (person := _owner(token.strip(), self._people)) is not None:
            return person
        known = self.asking(token)
        if not self.shared.isdisjoint(known.scopes):
            raise TokenRefusedError(
                "This token is for programs: they ask, and do not answer.", hint="People use hub.page_token."
            )
        return known

    def asks_in(self, caller: Caller | None) -> str:
        """The scope in which the caller of an MCP tool asks; ``None`` is a caller on this machine. Raises
        TokenRefusedError.
        """
        if caller is not None and caller.kind == "program":
            return caller.scopes[0]
        return self._of_machine or self.asking(LOCAL).scopes[0]

    def _seen_with(self, token: str) -> tuple[str, ...]:
        try:
            return self.answering(token).scopes
        except TokenRefusedError:
            return ()


def require(caller: Caller, entrance: Entrance, servers: Collection[str] = (), *, path: str = "") -> None:
    """Raise RequestError unless the caller may use the entrance; ``servers`` are those behind ``mcp``."""
    if entrance in _OPENS[caller.kind] and (caller.kind != "agent" or frozenset(servers) == _AGENTS_OPEN):
        return
    if caller.kind == "agent":
        message, hint = "This token is for a mailbox agent.", f"It opens /mcp/filebox only, not {path}."
    elif caller.kind == "person":
        message, hint = "This token opens only the pages.", "Programs use a token from hub.tokens."
    else:
        message = "This token is for programs. It does not open the pages or their API."
        hint = "People use hub.page_token. If there is none, set it and restart the hub."
    raise RequestError(403, "not_for_this_token", message, hint)


def check_page_token(page_token: str | None, others: Mapping[str, Mapping[str, str]]) -> None:
    """Raise ConfigError when one of the ``others`` (by setting, then by name) equals the page token: its owner could
    read all mail and write as a person.
    """
    for setting, tokens in others.items():
        for name, token in tokens.items():
            if page_token is not None and token.strip() == page_token.strip():
                raise ConfigError(
                    f"hub.page_token is the same as {setting}.{name}, so that token would open all pages.",
                    hint=f"Set a separate token for people: {SET_PAGE_TOKEN}",
                )


def bearer(authorization: str | None) -> str:
    """The token of an ``Authorization`` header; empty where there is none."""
    scheme, _, token = (authorization or "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def digest(token: str) -> str:
    """SHA-256 of a token: tokens are compared and stored by it, never themselves."""
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def fits(token: str | None, kept: str) -> bool:
    """True when a token has this digest. Compared in constant time."""
    return hmac.compare_digest(digest(token or ""), kept)


def _owner(token: str, tokens: Iterable[tuple[str, Caller]]) -> Caller | None:
    """The owner of a token; the last match counts. All are compared, so that timing reveals nothing."""
    given, found = digest(token), None
    for kept, caller in tokens:
        if hmac.compare_digest(given, kept):
            found = caller
    return found if token else None


def _of_program(name: str) -> str:
    return f"hub/{name}"


def _of_asker(name: str) -> str:
    return f"assistant/{name}"
