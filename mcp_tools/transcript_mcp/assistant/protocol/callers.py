"""Clients and failed calls of this room, for the hub's System page."""

from collections.abc import Mapping
from typing import Any, Final

from aiohttp import web

from transcript_mcp.assistant.protocol.schema import SERVICES
from transcript_mcp.room import Fault

__all__ = ["FAULTS", "Callers"]

_CALLS: Final = frozenset(call.name for calls in SERVICES.values() for call in calls)
_BROWSER: Final = "Mozilla"
_CONNECT, _SOCKET = "connect", "ws"

FAULTS: Final[Mapping[str, tuple[str, str]]] = {
    "invalid_argument": (
        "A program sent data about a question that cannot be read or used.",
        "The program was told what is wrong: check its output.",
    ),
    "not_found": (
        "A program named a question that does not exist.",
        "The question was asked with another token, or the program has the wrong id.",
    ),
    "resource_exhausted": ("A program sent more data about a question than is allowed.", "Have it send less at once."),
    "unimplemented": (
        "A program called a method for questions that does not exist.",
        "docs/en/assistant.md lists the calls; the program may be for another version.",
    ),
    "unavailable": (
        "A call about a question failed.",
        "Find the same time in the hub's log; `nanobot-transcript doctor` checks the disk.",
    ),
}
"""By Connect's error code. The answers' own messages are not shown: they may quote what was sent. Timeouts and
disconnects are not listed: they are ordinary."""


class Callers:
    """Implements ``OwnAccess`` for Connect's calls and ``/ws``.

    With ``own_tokens`` people have tokens of their own here, and callers of the hub must not learn who they are. With
    ``behind_token`` the hub requires a token; a socket opens before its token is checked, so its program is not shown.
    """

    def __init__(self, *, own_tokens: bool, behind_token: bool) -> None:
        self._unnamed: frozenset[str] = frozenset(
            {_CONNECT, _SOCKET} if own_tokens else {_SOCKET} if behind_token else ()
        )

    def client(self, request: web.Request, program: str) -> tuple[str, str] | None:
        """See ``OwnAccess.client``."""
        way = _way(request)
        if not way or (way == _SOCKET and program.startswith(_BROWSER)):
            return None  # a browser is listed as an open page
        return way, "" if way in self._unnamed else program

    def called(self, request: web.Request) -> str | None:
        """See ``OwnAccess.called``."""
        if _way(request) != _CONNECT:
            return None
        call = request.match_info["method"]
        return f"Connect {call}" if call in _CALLS else "Connect"

    def fault(self, request: web.Request, answer: Mapping[str, Any]) -> Fault | None:
        """See ``OwnAccess.fault``."""
        code = answer.get("code")
        if _way(request) != _CONNECT or "error" in answer or not isinstance(code, str) or code not in FAULTS:
            return None
        return Fault(code, *FAULTS[code])


def _way(request: web.Request) -> str:
    if "service" in request.match_info:
        return _CONNECT
    resource = request.match_info.route.resource
    return _SOCKET if resource is not None and resource.canonical.endswith("/ws") else ""
