"""The page of the IO bridge: sessions and queues, sending an input, reading outputs."""

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Final

from aiohttp import web

from transcript_mcp.door.delivery import hand_over
from transcript_mcp.door.guard import CALLER
from transcript_mcp.io_bridge import rules
from transcript_mcp.io_bridge.bridge import Bridge
from transcript_mcp.page import PageCall, WebPage, as_json, body_of
from transcript_mcp.room import News

if TYPE_CHECKING:
    from collections.abc import Callable


__all__ = ["IoPage"]

_MOST: Final = 200
_SHOWN: Final = 20_000
"""Characters of a queued item that the page shows; reading it gives all."""


@dataclass(eq=False)
class IoPage(WebPage):
    """The page's handlers run on the event loop, because the bridge does."""

    bridge: Bridge
    news: News
    _stop: "Callable[[], None] | None" = field(default=None, init=False)

    def routes(self) -> list[web.RouteDef]:
        """Below ``/api/io``."""
        return [
            web.get("/api/io", self.sessions),
            web.get("/api/io/queue", self.queue),
            web.post("/api/io/input", self.input),
            web.post("/api/io/output", self.output),
        ]

    async def sessions(self, _request: web.Request) -> web.StreamResponse:
        """The sessions, the most recently active first. The first call starts the news of changes."""
        if self._stop is None:
            self._stop = self.bridge.listen(lambda _session: self.news.tell("io"))
        return as_json({"sessions": [asdict(each) for each in await self.bridge.sessions(_MOST)]})

    async def queue(self, request: web.Request) -> web.StreamResponse:
        """The items of a session, the oldest first, and the agents to whom one can write. Takes nothing."""
        session = rules.checked_session(PageCall(request.query).text("session"))
        found = await self.bridge.queue(session, _MOST, _SHOWN)
        return as_json({"items": [asdict(each) for each in found], "agents": self._agents(request, session)})

    def _agents(self, request: web.Request, session: str) -> list[dict[str, str]]:
        """The agents that wait in a session and receive notes of the caller."""
        notes, caller = self.news.notes, request[CALLER]
        if notes is None:
            return []
        reached = [each for each in self.bridge.listening(session) if notes.reaches(caller, each)]
        known = dict.fromkeys((each.project, each.name) for each in reached)
        return [{"project": project, "agent": name} for project, name in known]

    async def input(self, request: web.Request) -> web.StreamResponse:
        """Queue an input for the session's agent."""
        asked = await body_of(request)
        session = rules.checked_session(asked.text("session"))
        text = rules.checked_text(asked.text("text", longest=None), "text")
        put = await self.bridge.send_input(session, text, rules.checked_key(asked.optional("key")))
        return as_json({"seq": put.seq})

    async def output(self, request: web.Request) -> web.StreamResponse:
        """Take the oldest output; it goes back into the queue if this answer does not arrive."""
        session = rules.checked_session((await body_of(request)).text("session"))
        handed = await self.bridge.read_output(session)
        if handed is None:
            return as_json({"output": None})
        return await hand_over(request, as_json({"output": handed.text, "seq": handed.seq}), handed.arrived)

    def close(self) -> None:
        """Stop the news of changes."""
        if self._stop is not None:
            self._stop()
