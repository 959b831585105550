"""Recent problems with advice, and recent clients: kept in memory for the System page."""

import json
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any, Final

from aiohttp import web

from nanobot_transcript.errors import TranscriptError
from transcript_mcp.door.guard import CALLER
from transcript_mcp.hub.metrics import METHODS, pattern_of
from transcript_mcp.room import Fault, OwnAccess

__all__ = ["Recent"]

_KEPT: Final = 100
_CLIENTS: Final = 100
_LONGEST: Final = 600
_PACKAGES: Final = ("nanobot_transcript", "transcript_mcp")
_ADVICE: Final = {
    "nanobot_transcript": "Run `nanobot-transcript doctor`: it checks the record, its disk and its locks.",
    "transcript_mcp": "Find the same time in the hub's log; `nanobot-transcript doctor` checks the rest.",
}
"""By the beginning of a logger's name; the advice of a room takes precedence."""

_UNTOLD: Final = frozenset({401})
"""Every page starts without a token, gets this and asks its person for one."""
_ORDINARY: Final = frozenset({"no_output", "queue_full"})
"""Codes that programs at the IO bridge get in normal operation, again and again."""


class Recent(logging.Handler):
    """Warnings and errors of our packages, refused and failed requests, and clients. Thread-safe.

    ``own``: the rooms that check the tokens of their routes themselves. ``advice``: what to do about a problem, by the
    beginning of the logger's name.
    """

    def __init__(self, own: Iterable[OwnAccess] = (), advice: Mapping[str, str] | None = None) -> None:
        super().__init__(logging.WARNING)
        self._own = tuple(own)
        self._advice = {**(advice or {}), **_ADVICE}
        self._problems: OrderedDict[tuple[str, str], dict[str, Any]] = OrderedDict()
        self._clients: OrderedDict[tuple[str, str, str], dict[str, Any]] = OrderedDict()
        self._mutex = threading.Lock()
        self.count = 0
        """Problems so far."""
        self.newcomers = 0
        """Different clients so far."""

    def install(self) -> None:
        """Start recording what our packages log."""
        for package in _PACKAGES:
            logging.getLogger(package).addHandler(self)

    def remove(self) -> None:
        """Stop recording."""
        for package in _PACKAGES:
            logging.getLogger(package).removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """A line of the log."""
        error = record.exc_info[1] if record.exc_info else None
        said = [each for each in (error, *_arguments(record)) if isinstance(each, TranscriptError)]
        hint = next((each.hint for each in said if each.hint), "") or self._advised(record.name)
        text = record.getMessage() + (f": {error}" if error is not None else "")
        self._note(record.created, record.levelname.lower(), said[0].code if said else "", record.name, text, hint)

    async def answered(self, request: web.Request, response: web.StreamResponse) -> None:
        """Handler of aiohttp's ``on_response_prepare``: an answer is about to be sent."""
        self._see(request, response)
        told = self._refusal(request, response)
        if told is not None:
            level = "error" if response.status >= 500 else "warning"
            self._note(time.time(), level, told.code, self._where(request), told.message, told.hint)

    def problems(self) -> list[dict[str, Any]]:
        """The newest first. Repeated problems are listed once, with their number."""
        with self._mutex:
            return [dict(each) for each in reversed(self._problems.values())]

    def clients(self) -> list[dict[str, Any]]:
        """The latest caller first: name of the token, program, time of the last call (seconds), number of calls.

        ``way`` names the entrance for routes with ``own_access``, whose tokens have no name here; else it is empty.
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
        caller = request.get(CALLER)
        program = request.headers.get("User-Agent", "").partition(" ")[0][:80]
        if caller is not None and caller.kind != "asker":  # who has questions open is nobody else's business
            self._saw(caller.name, "", program)
        elif caller is None and response.status < 400:
            for client in (each.client(request, program) for each in self._own):
                if client is not None:
                    self._saw("", *client)

    def _refusal(self, request: web.Request, response: web.StreamResponse) -> Fault | None:
        """The error in an answer; None where there is none, or none worth showing."""
        if response.status < 400 or response.status in _UNTOLD or not isinstance(response, web.Response):
            return None
        answer = _read(response)
        faults = (each.fault(request, answer) for each in self._own)
        found = next((each for each in faults if each is not None), None) or _fault(answer)
        return None if found is None or found.code in _ORDINARY else found

    def _where(self, request: web.Request) -> str:
        """The route's name. Free text, such as a path, appears only for callers that we know."""
        for called in (each.called(request) for each in self._own):
            if called is not None:
                return called
        if request.get(CALLER) is not None:
            return f"{request.method} {request.path[:100]}"
        method = request.method if request.method in METHODS else "other"
        return f"{method} {pattern_of(request) or '(no such address)'}"

    def _advised(self, name: str) -> str:
        return next((advice for prefix, advice in self._advice.items() if name.startswith(prefix)), "")

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


def _read(response: web.Response) -> Mapping[str, Any]:
    try:
        document = json.loads(response.body if isinstance(response.body, bytes) else b"")
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _fault(answer: Mapping[str, Any]) -> Fault | None:
    try:
        error = answer["error"]
        return Fault(str(error["code"]), str(error["message"]), str(error["hint"]))
    except (TypeError, KeyError):
        return None
