"""What an answer that refuses a request, or fails it, tells the System page.

Never a token, nor an id or text of a question. What strangers send is no part of it either: they could fill the page
with it, and what matters would leave it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from transcript_mcp.assistant.schema import SERVICES
from transcript_mcp.door.guard import CALLER
from transcript_mcp.hub.metrics import METHODS, pattern_of

__all__ = ["Told", "refusal_of", "way_of", "where_of"]

_CALLS: Final = frozenset(call.name for calls in SERVICES.values() for call in calls)
_UNTOLD: Final = frozenset({401})
"""A page without a token asks for one; who tries wrong ones is told of as such."""
_ORDINARY: Final = frozenset({"no_output", "queue_full"})
"""What programs at the IO bridge hear again and again while all is well."""

_CONNECT: Final[Mapping[str, tuple[str, str]]] = {
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
"""Connect's codes; its own sentences may quote what was sent. That a program has waited for as long as it would, or has
left, is ordinary."""


@dataclass(frozen=True, slots=True)
class Told:
    """A code, a sentence, and what to do."""

    code: str
    message: str
    hint: str


def way_of(request: web.Request) -> str:
    """``connect`` or ``ws`` for those of the questions, which look at tokens themselves; empty for all others."""
    if "service" in request.match_info:
        return "connect"
    return "ws" if pattern_of(request).endswith("/ws") else ""


def where_of(request: web.Request) -> str:
    """What was asked for, by a name of which there are few unless a known caller made it up."""
    if way_of(request) == "connect":
        call = request.match_info["method"]
        return f"Connect {call}" if call in _CALLS else "Connect"
    if request.get(CALLER) is not None:
        return f"{request.method} {request.path[:100]}"
    method = request.method if request.method in METHODS else "other"
    return f"{method} {pattern_of(request) or '(no such address)'}"


def refusal_of(request: web.Request, response: web.StreamResponse) -> Told | None:
    """What an answer says is wrong; None where nothing is, or nothing that has to be told."""
    if response.status < 400 or response.status in _UNTOLD or not isinstance(response, web.Response):
        return None
    found = _read(response, connect=way_of(request) == "connect")
    return None if found is None or found.code in _ORDINARY else found


def _read(response: web.Response, *, connect: bool) -> Told | None:
    try:
        document = json.loads(response.body if isinstance(response.body, bytes) else b"")
        if connect and "error" not in document:
            return Told(document["code"], *_CONNECT[document["code"]])
        error = document["error"]
        return Told(str(error["code"]), str(error["message"]), str(error["hint"]))
    except (ValueError, TypeError, KeyError):
        return None
