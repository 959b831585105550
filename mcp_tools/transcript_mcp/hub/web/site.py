"""The web UI as the hub serves it: the rooms that there are, what they answer, and what runs beside them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable, Mapping
from functools import partial
from typing import Any

from aiohttp import web

from nanobot_transcript import __version__
from nanobot_transcript.settings import Settings
from transcript_mcp.door.guard import CALLER
from transcript_mcp.door.identity import Caller
from transcript_mcp.filebox.filebox import FileBox
from transcript_mcp.filebox.page import BoxesRoom
from transcript_mcp.hub.rooms import Room
from transcript_mcp.hub.unasked import UnaskedMessages
from transcript_mcp.hub.web.bundle import Bundle
from transcript_mcp.hub.web.changes import Looking
from transcript_mcp.hub.web.events import Events
from transcript_mcp.hub.web.recent import Recent
from transcript_mcp.hub.web.system import SystemRoom
from transcript_mcp.io_bridge.bridge import Bridge
from transcript_mcp.io_bridge.page import BridgeRoom
from transcript_mcp.mail.page import MailRoom
from transcript_mcp.mail.service import MailService
from transcript_mcp.page import Watch, as_json, looked_at
from transcript_mcp.sdk.threads import in_thread
from transcript_mcp.transcript.page import Chats, GroupsRoom
from transcript_mcp.transcript.statistics import StatisticsRoom

__all__ = ["Site"]


class Site:
    """One hub's web UI. A server that ``hub.servers`` leaves out has no page."""

    def __init__(self, settings: Settings, rooms: Mapping[str, Room], bundle: Bundle | None = None) -> None:
        self._bundle = bundle or Bundle()
        self.events: Events = Events()
        self.recent: Recent = Recent(_unnamed(settings))
        chosen = settings.hub.servers
        offered = [name for name in rooms if chosen is None or name in chosen]
        self._pages: dict[str, GroupsRoom | MailRoom | BoxesRoom | SystemRoom] = {}
        self._statistics: StatisticsRoom | None = None
        self._bridge: BridgeRoom | None = None
        self.asks: bool = "assistant" in offered
        written = rooms["assistant"].unasked if self.asks else None
        reaches = written.reaches if isinstance(written, UnaskedMessages) else None
        for name in offered:
            core = rooms[name].core
            if isinstance(core, Chats):
                self._pages["groups"] = GroupsRoom(core)
                self._statistics = StatisticsRoom(core, settings)
            elif isinstance(core, MailService):
                self._pages["mail"] = MailRoom(core, rooms[name].server.updated)
            elif isinstance(core, FileBox):
                self._pages["boxes"] = BoxesRoom(core, settings.filebox.agent or "")
            elif isinstance(core, Bridge):
                self._bridge = BridgeRoom(core, partial(self.events.tell, "io"), reaches)
        self._max_attachment = int(settings.assistant.max_attachment)
        self._pages["system"] = SystemRoom(settings, rooms, self.events, self.recent, offered)

    def open_routes(self) -> list[web.RouteDef]:
        """What needs no token: the page itself, which asks for one."""
        return self._bundle.routes()

    def about_route(self) -> web.RouteDef:
        """What the page asks for first."""
        return web.get("/api/about", self._about)

    def routes(self) -> Iterable[web.RouteDef]:
        """What the page asks for."""
        yield web.get("/api/events", self.events.handle, allow_head=False)
        for page in (*self._pages.values(), self._statistics, self._bridge):
            if page is not None:
                yield from page.routes()

    async def _about(self, request: web.Request) -> web.StreamResponse:
        return as_json(await in_thread(self.about, request[CALLER]))

    def about(self, caller: Caller) -> dict[str, Any]:
        """Which pages there are for a caller, who that is, and how large a file of an answer may be (bytes)."""
        pages = ["questions"] if caller.kind == "asker" else list(self._offered_pages())
        limits = {"max_attachment": self._max_attachment} if self.asks else {}
        return {"version": __version__, "pages": pages, "caller": caller.name, **limits}

    def _offered_pages(self) -> Iterable[str]:
        if self.asks:
            yield "questions"
        if self._bridge is not None:
            yield "io"
        if self._statistics is not None:
            yield "statistics"
        for name, page in self._pages.items():
            if not isinstance(page, BoxesRoom) or page.there:
                yield name

    async def run(self, _app: web.Application) -> AsyncIterator[None]:
        """From the application's start to its end: hear what is logged, and look at what changes."""
        watches: dict[str, Watch] = {
            name: page.watch if isinstance(page, GroupsRoom) else looked_at(page.look)
            for name, page in self._pages.items()
        }
        self.recent.install()
        looking = asyncio.create_task(Looking(self.events, watches).run())
        try:
            yield
        finally:
            self.recent.remove()
            if self._bridge is not None:
                self._bridge.close()
            looking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await looking

    async def stop(self, _app: web.Application) -> None:
        """End the streams of news."""
        self.events.close()


def _unnamed(settings: Settings) -> frozenset[str]:
    """The ways of the questions on which no program is told: people with tokens of their own are not told of to the
    hub's callers, and a socket is opened before its token is looked at."""
    if settings.assistant.tokens:
        return frozenset({"connect", "ws"})
    return frozenset({"ws"}) if settings.hub_wants_tokens else frozenset()
