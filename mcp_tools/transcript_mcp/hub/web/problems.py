"""What went wrong lately, with what to do about it, and who has called: kept in memory for the System page."""

import json
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any, Final

from aiohttp import web

from nanobot_transcript.errors import TranscriptError
from transcript_mcp.assistant.protocol.schema import SERVICES
from transcript_mcp.door.guard import CALLER
from transcript_mcp.hub.metrics import METHODS, pattern_of

__all__ = ["Fault", "Recent", "refusal_of", "way_of", "where_of"]

_KEPT: Final = 100
_CLIENTS: Final = 100
_LONGEST: Final = 600
_BROWSER: Final = "Mozilla"
_PACKAGES: Final = ("nanobot_transcript", "transcript_mcp")
_ADVICE: Final = (
    (
        "transcript_mcp.filebox",
        "Check the agents' folders in .filebox; `nanobot-transcript doctor` checks each of them.",
    ),
    ("transcript_mcp.mail", "Run `nanobot-transcript mail doctor`: it says what is wrong and repairs it."),
    ("nanobot_transcript", "Run `nanobot-transcript doctor`: it checks the record, its disk and its locks."),
    ("transcript_mcp", "Find the same time in the hub's log; `nanobot-transcript doctor` checks the rest."),
)


class Recent(logging.Handler):
    """Warnings and errors of our packages, refused and failed requests, and clients. For any thread.

    ``unnamed`` are the ways (``connect``, ``ws``) on which nobody's program is told.
    """

    def __init__(self, unnamed: Set[str] = frozenset()) -> None:
        super().__init__(logging.WARNING)
        self._unnamed = unnamed
        self._problems: OrderedDict[tuple[str, str], dict[str, Any]] = OrderedDict()
        self._clients: OrderedDict[tuple[str, str, str], dict[str, Any]] = OrderedDict()
        self._mutex = threading.Lock()
        self.count = 0
        """Problems there were."""
        self.newcomers = 0
        """Clients that were seen for the first time."""

    def install(self) -> None:
        """Hear what our packages log."""
        for package in _PACKAGES:
            logging.getLogger(package).addHandler(self)

    def remove(self) -> None:
        """Hear no more."""
        for package in _PACKAGES:
            logging.getLogger(package).removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """A line of the log."""
        error = record.exc_info[1] if record.exc_info else None
        said = [each for each in (error, *_arguments(record)) if isinstance(each, TranscriptError)]
        hint = next((each.hint for each in said if each.hint), "") or _advice(record.name)
        text = record.getMessage() + (f": {error}" if error is not None else "")
        self._note(record.created, record.levelname.lower(), said[0].code if said else "", record.name, text, hint)

    async def answered(self, request: web.Request, response: web.StreamResponse) -> None:
        """A signal of the application: an answer is about to be sent."""
        self._see(request, response)
        told = refusal_of(request, response)
        if told is not None:
            level = "error" if response.status >= 500 else "warning"
            self._note(time.time(), level, told.code, where_of(request), told.message, told.hint)

    def problems(self) -> list[dict[str, Any]]:
        """The newest first; what happened again and again stands once, with how often."""
        with self._mutex:
            return [dict(each) for each in reversed(self._problems.values())]

    def clients(self) -> list[dict[str, Any]]:
        """Who has called, the latest first: name of the token, program, when last (seconds), and how often.

        ``way`` is ``connect`` or ``ws`` for those of the questions, whose tokens have no name here; else empty.
        """
        with self._mutex:
            return [dict(each) for each in reversed(self._clients.values())]

    def _note(self, when: float, level: str, code: str, where: str, text: str, hint: str) -> None:
        problem = {"ts": when, "level": level, "code": code, "where": where, "text": text[:_LONGEST], "hint": hint}
        with self._mutex:
            known = self._problems.pop((where, problem["text"]), {"times": 0})
            self._problems[where, problem["text"]] = {**problem, "times": known["times"] + 1}
            if len(self._problems) > _KEPT:
                self._problems.popitem(last=False)
            self.count += 1

    def _see(self, request: web.Request, response: web.StreamResponse) -> None:
        caller, way = request.get(CALLER), way_of(request)
        program = request.headers.get("User-Agent", "").partition(" ")[0][:80]
        if caller is not None and caller.kind != "asker":  # who is there with those stays with them
            self._saw(caller.name, "", program)
        elif caller is None and way and response.status < 400:
            if way == "ws" and program.startswith(_BROWSER):
                return  # a page, which is told of as one
            self._saw("", way, "" if way in self._unnamed else program)

    def _saw(self, name: str, way: str, program: str) -> None:
        key = name, way, program
        with self._mutex:
            known = self._clients.pop(key, None)
            if known is None:
                known = {"name": name, "way": way, "program": program, "requests": 0}
                self.newcomers += 1
            known["requests"] += 1
            known["last"] = time.time()
            self._clients[key] = known
            if len(self._clients) > _CLIENTS:
                self._clients.popitem(last=False)


def _arguments(record: logging.LogRecord) -> tuple[object, ...]:
    return record.args if isinstance(record.args, tuple) else ()


def _advice(name: str) -> str:
    return next((advice for prefix, advice in _ADVICE if name.startswith(prefix)), "")


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
class Fault:
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


def refusal_of(request: web.Request, response: web.StreamResponse) -> Fault | None:
    """What an answer says is wrong; None where nothing is, or nothing that has to be told."""
    if response.status < 400 or response.status in _UNTOLD or not isinstance(response, web.Response):
        return None
    found = _read(response, connect=way_of(request) == "connect")
    return None if found is None or found.code in _ORDINARY else found


def _read(response: web.Response, *, connect: bool) -> Fault | None:
    try:
        document = json.loads(response.body if isinstance(response.body, bytes) else b"")
        if connect and "error" not in document:
            return Fault(document["code"], *_CONNECT[document["code"]])
        error = document["error"]
        return Fault(str(error["code"]), str(error["message"]), str(error["hint"]))
    except (ValueError, TypeError, KeyError):
        return None
