"""A limit on open MCP sessions: each costs memory, and many clients never end theirs."""

import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web

from transcript_mcp.door.errors import RequestError
from transcript_mcp.hub.plain_calls import SESSION
from transcript_mcp.sdk.backend import HttpOptions

__all__ = ["McpSessions"]

_MOST: Final = 1000
"""Some 60 MB."""

_HINT: Final = "End sessions with DELETE, or try again later: idle ones end after {:g} minutes."


class McpSessions:
    """The sessions of one hub, at all its addresses. For one event loop.

    ``idle``: seconds without a request after which the SDK ends a session.
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
        self._heard: dict[str, float] = {}
        self._beginning = 0
        # Both may name sessions that are not in _heard yet: a client may send its next request, even DELETE, as soon
        # as it has read the session's id, which is before the first answer has ended.
        self._under_way = Counter[str]()
        self._ended_early = set[str]()

    async def begin(self, answering: Callable[[], Awaitable[web.StreamResponse]]) -> web.StreamResponse:
        """The answer to a request that begins a session. Raises RequestError when there are too many."""
        if self._is_full():
            sentence = f"{self._most} sessions are open, which is the limit."
            raise RequestError(503, "too_many_sessions", sentence, _HINT.format(self._idle / 60))
        self._beginning += 1
        try:
            response = await answering()
            if response.status < 400 and (name := response.headers.get(SESSION)) and name not in self._ended_early:
                self._heard[name] = self._clock()
            return response
        finally:
            self._beginning -= 1
            if not self._beginning:
                self._ended_early.clear()

    async def go_on(
        self, request: web.Request, answering: Callable[[], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """The answer to any other request."""
        name = request.headers.get(SESSION, "")
        self._under_way[name] += 1
        try:
            response = await answering()
        finally:
            self._under_way[name] -= 1
            if not self._under_way[name]:
                del self._under_way[name]
            if name in self._heard:
                self._heard[name] = self._clock()
        if response.status == 404:
            self._heard.pop(name, None)
        elif request.method == "DELETE" and response.status < 400 and self._heard.pop(name, None) is None:
            self._ended_early.add(name)
        return response

    def _is_full(self) -> bool:
        if len(self._heard) + self._beginning >= self._most:
            since = self._clock() - self._idle
            self._heard = {name: at for name, at in self._heard.items() if at > since or name in self._under_way}
        return len(self._heard) + self._beginning >= self._most
