"""How many sessions MCP clients may have open at a time: each costs memory, and many clients never end theirs."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from transcript_mcp.hub.guarding import error_response
from transcript_mcp.hub.plain import SESSION
from transcript_mcp.sdk.backend import HttpOptions

__all__ = ["Sessions"]

_MOST: Final = 1000
"""Some 60 MB."""

_HINT: Final = "End sessions with DELETE, or call again later: those of which nothing is heard end after {:g} minutes."


@dataclass(slots=True)
class _Session:
    heard: float
    under_way: int = 0


class Sessions:
    """The sessions of one hub, at all its addresses. For one event loop.

    ``idle`` are the seconds after which a session ends of which nothing is heard.
    """

    def __init__(
        self,
        most: int = _MOST,
        idle: float = HttpOptions.idle_timeout,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = most
        self._idle = idle
        self._clock = clock
        self._open: dict[str, _Session] = {}
        self._beginning = 0

    async def begin(self, answering: Callable[[], Awaitable[web.StreamResponse]]) -> web.StreamResponse:
        """The answer to a request that begins a session, or that there are too many."""
        if self._is_full():
            sentence = f"{self._most} sessions are open, which is all there may be."
            return error_response(503, "too_many_sessions", sentence, _HINT.format(self._idle / 60))
        self._beginning += 1
        try:
            response = await answering()
        finally:
            self._beginning -= 1
        if response.status < 400 and (name := response.headers.get(SESSION)):
            self._open[name] = _Session(self._clock())
        return response

    async def go_on(
        self, request: web.Request, answering: Callable[[], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """The answer to any other request."""
        name = request.headers.get(SESSION, "")
        session = self._open.get(name, _Session(0))
        session.under_way += 1
        try:
            response = await answering()
        finally:
            session.under_way -= 1
            session.heard = self._clock()
        if response.status == 404 or (request.method == "DELETE" and response.status < 400):
            self._open.pop(name, None)
        return response

    def _is_full(self) -> bool:
        if len(self._open) + self._beginning >= self._most:
            heard_since = self._clock() - self._idle
            self._open = {name: each for name, each in self._open.items() if each.under_way or each.heard > heard_since}
        return len(self._open) + self._beginning >= self._most
