"""Who may come in: asked before anything else of a request is looked at.

A page in somebody's browser can make it send requests to this machine (DNS rebinding), so the name by which the hub was
addressed and the page that asks are checked first, then the bearer token.
"""

import hmac
import ipaddress
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from nanobot_transcript.errors import ConfigError

__all__ = ["SET_PAGE_TOKEN", "Access", "Caller", "Refusal", "bearer", "check_page_token", "is_loopback"]

SET_PAGE_TOKEN: Final = "NANOBOT_TRANSCRIPT_HUB__PAGE_TOKEN=$(openssl rand -hex 16)"
"""The line that sets a token for people."""

_PERSON: Final = "page"
"""What people are called in the log."""

_THIS_MACHINE: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_HOST: Final = re.compile(r"(\[(?P<number>[0-9a-f:.]+)\]|(?P<name>[^\s\[\]@:/?#\\]+))(:[0-9]{1,5})?")


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose token it was. Without a name: somebody on this machine, where the hub asks for no token; they may do all.

    ``agent`` is the mailbox agent that a token stands for; it opens nothing but ``filebox``. A token for
    ``questions_only`` opens the Questions page, whose own room decides what it may see there. The token of a ``person``
    opens all pages, and no other token does: a page shows everybody's mail and writes as a person.
    """

    name: str = ""
    agent: str | None = None
    questions_only: bool = False
    person: bool = False

    @property
    def identity(self) -> str | None:
        """``agent/NAME`` or ``token/NAME``, as servers are told; None for an unnamed caller of this machine."""
        if self.agent is not None:
            return f"agent/{self.agent}"
        return f"token/{self.name}" if self.name else None

    def may_use(self, servers: Iterable[str]) -> bool:
        """True when the token opens all of these servers."""
        return self.is_program and (self.agent is None or set(servers) == {"filebox"})

    @property
    def is_program(self) -> bool:
        """True when the token opens what programs use."""
        return not self.questions_only and not self.person

    @property
    def opens_pages(self) -> bool:
        """True when the token opens what all pages ask for."""
        return self.person or not self.name


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not let in: an HTTP status, a code, a sentence, and what to do."""

    status: int
    code: str
    message: str
    hint: str


class Access:
    """The rules of one hub.

    ``tokens`` by the name of their owner, ``agent_tokens`` by mailbox agent, ``page_token`` for people.
    ``question_tokens``, by the name of their owner, open the page of questions where those others are wanted; by
    themselves they neither close a hub nor open it. ``host`` is where the hub listens; ``hosts`` (``name`` or
    ``name:port``) and ``origins`` are let in besides its own.
    Raises ConfigError for an address that other machines can reach when there is no token.
    """

    def __init__(
        self,
        host: str,
        tokens: Mapping[str, str] | None = None,
        agent_tokens: Mapping[str, str] | None = None,
        hosts: Iterable[str] = (),
        origins: Iterable[str] = (),
        question_tokens: Mapping[str, str] | None = None,
        page_token: str | None = None,
    ) -> None:
        agents, askers = agent_tokens or {}, question_tokens or {}
        self._callers = [(_digest(token), Caller(name)) for name, token in (tokens or {}).items()]
        self._callers += [(_digest(token), Caller(agent, agent)) for agent, token in agents.items()]
        if page_token is not None:
            self._callers.append((_digest(page_token), Caller(_PERSON, person=True)))
        self._asking = [(_digest(token), Caller(name, questions_only=True)) for name, token in askers.items()]
        self._local_only: bool = is_loopback(host)
        self._hosts: frozenset[str] = frozenset(name.lower() for name in (host.strip("[]"), *hosts))
        self._origins: frozenset[str] = frozenset(origin.lower().rstrip("/") for origin in origins)
        if not self._local_only and not self._callers:
            raise ConfigError(
                f"The hub would be open to every machine that reaches {host}, without a token.",
                hint="Set a token, for example NANOBOT_TRANSCRIPT_HUB__TOKENS__ME=$(openssl rand -hex 16), "
                "or listen on 127.0.0.1.",
            )

    @property
    def needs_token(self) -> bool:
        """True when nobody comes in without a token."""
        return bool(self._callers)

    def refuse_address(self, host: str | None, origin: str | None) -> Refusal | None:
        """The answer to a request that was sent to a wrong name or by a foreign page; None lets it pass."""
        if not self._knows_host(host):
            return Refusal(
                421,
                "wrong_host",
                "The hub does not accept the host name that this request was sent to.",
                "Use 127.0.0.1 or localhost, or add the name to hub.allowed_hosts.",
            )
        if origin is not None and not self._knows_origin(origin, host or ""):
            return Refusal(
                403,
                "wrong_origin",
                "Web pages from other sites may not call the hub.",
                "If the page is yours, add its origin to hub.allowed_origins.",
            )
        return None

    def caller(self, authorization: str | None, *, questions: bool = False) -> Caller | Refusal:
        """Who sends a request, from its ``Authorization`` header; with ``questions`` also who may have them only."""
        if not self._callers:
            return Caller()
        token = bearer(authorization)
        given = _digest(token) if token else b""
        known = Caller()
        # The last one counts. All of them are compared, so that the time tells nothing.
        for digest, caller in (*(self._asking if questions else ()), *self._callers):
            if hmac.compare_digest(digest, given):
                known = caller
        if known.name:
            return known
        return Refusal(
            401,
            "wrong_token" if given else "no_token",
            "This token is not known here." if given else "The hub requires a token.",
            "Send 'Authorization: Bearer TOKEN' with a token from hub.tokens; for the pages, with hub.page_token.",
        )

    def _knows_host(self, host: str | None) -> bool:
        if not host:
            return False
        host = host.lower()
        name = _name_of(host)
        if not name:
            return False
        if name in _THIS_MACHINE or host in self._hosts or name in self._hosts:
            return True
        # A rebound name is a name: what is addressed by number was meant.
        return not self._local_only and _is_number(name)

    def _knows_origin(self, origin: str, host: str) -> bool:
        origin = origin.lower().rstrip("/")
        scheme, _, address = origin.partition("://")
        return origin in self._origins or (scheme in ("http", "https") and address == host.lower())


def check_page_token(page_token: str | None, others: Mapping[str, Mapping[str, str]]) -> None:
    """Raises ConfigError when one of the ``others``, by the setting they stand in and by name, is people's token, too:
    whoever has it could read all mail and write as a person.
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


def is_loopback(host: str) -> bool:
    """True for addresses that only this machine reaches."""
    name = host.strip("[]").lower()
    return name == "localhost" or (_is_number(name) and ipaddress.ip_address(name).is_loopback)


def _name_of(host: str) -> str:
    """The name in ``name:port``, ``[::1]:port`` or either without a port; empty when it is none of these."""
    if _is_number(host):
        return host
    written = _HOST.fullmatch(host)
    return (written["number"] or written["name"]) if written else ""


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _digest(token: str) -> bytes:
    return sha256(token.encode(errors="replace")).digest()
