"""What went wrong lately, with what to do about it, and who has called: kept in memory for the System page."""

import json
import logging
import threading
import time
from collections import OrderedDict
from typing import Any, Final

from aiohttp import web

from nanobot_transcript.errors import TranscriptError
from transcript_mcp.hub.observing import CALLER

__all__ = ["Recent"]

_KEPT: Final = 100
_CLIENTS: Final = 100
_LONGEST: Final = 600
_PACKAGES: Final = ("nanobot_transcript", "transcript_mcp")
_UNTOLD: Final = frozenset({401})
"""A page without a token asks for one; who tries wrong ones is told of as such."""
_ORDINARY: Final = frozenset({"no_output", "queue_full"})
"""What programs at the IO bridge hear again and again while all is well."""
_ADVICE: Final = (
    ("transcript_mcp.filebox", "Look at the agents' folders in .filebox; `nanobot-transcript doctor` checks each."),
    ("transcript_mcp.mail", "Run `nanobot-transcript mail doctor`: it says what to mend and mends it."),
    ("nanobot_transcript", "Run `nanobot-transcript doctor`: it checks the record, its disk and its locks."),
    ("transcript_mcp", "Look for the same time in the hub's log; `nanobot-transcript doctor` checks the rest."),
)


class Recent(logging.Handler):
    """Warnings and errors of our packages, refused and failed requests, and clients. For any thread."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._problems: OrderedDict[tuple[str, str], dict[str, Any]] = OrderedDict()
        self._clients: OrderedDict[tuple[str, str], dict[str, Any]] = OrderedDict()
        self._mutex = threading.Lock()
        self.count = 0

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
        caller = request.get(CALLER)
        if caller is not None and not caller.questions_only:  # who is there with those stays with them
            self._saw(caller.name, request.headers.get("User-Agent", "").partition(" ")[0][:80])
        if response.status < 400 or response.status in _UNTOLD or not isinstance(response, web.Response):
            return
        found = _error(response)
        if found is None:
            return
        code, message, hint = found
        if code in _ORDINARY:
            return
        level = "error" if response.status >= 500 else "warning"
        where = f"{request.method} {request.path[:100]}"
        self._note(time.time(), level, code, where, message, hint)

    def problems(self) -> list[dict[str, Any]]:
        """The newest first; what happened again and again stands once, with how often."""
        with self._mutex:
            return [dict(each) for each in reversed(self._problems.values())]

    def clients(self) -> list[dict[str, Any]]:
        """Who has called, the latest first: name of the token, program, when last (seconds), and how often."""
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

    def _saw(self, name: str, program: str) -> None:
        key = name, program
        with self._mutex:
            known = self._clients.pop(key, {"name": name, "program": program, "requests": 0})
            known["requests"] += 1
            known["last"] = time.time()
            self._clients[key] = known
            if len(self._clients) > _CLIENTS:
                self._clients.popitem(last=False)


def _arguments(record: logging.LogRecord) -> tuple[object, ...]:
    return record.args if isinstance(record.args, tuple) else ()


def _advice(name: str) -> str:
    return next((advice for prefix, advice in _ADVICE if name.startswith(prefix)), "")


def _error(response: web.Response) -> tuple[str, str, str] | None:
    try:
        error = json.loads(response.body if isinstance(response.body, bytes) else b"")["error"]
        return str(error["code"]), str(error["message"]), str(error["hint"])
    except (ValueError, TypeError, KeyError):
        return None
