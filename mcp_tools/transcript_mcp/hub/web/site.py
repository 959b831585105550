"""Puts the web UI together: the pages of the rooms, their routes, and the watches that notice changes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

from aiohttp import web

from nanobot_transcript import __version__
from nanobot_transcript.settings import Settings
from nanobot_transcript.threads import in_thread
from transcript_mcp.door.guard import CALLER
from transcript_mcp.door.identity import Caller
from transcript_mcp.hub.web.bundle import Bundle
from transcript_mcp.hub.web.events import Events, Watches
from transcript_mcp.hub.web.problems import Recent
from transcript_mcp.hub.web.system import SystemPage
from transcript_mcp.page import WebPage, as_json
from transcript_mcp.room import Notes, OpenRoom
from transcript_mcp.rooms import ROOMS

__all__ = ["Site"]


class Site:
    """One hub's web UI: the pages of the rooms in ``hub.servers``, and the System page. The pages' ``News``."""

    def __init__(self, settings: Settings, rooms: Mapping[str, OpenRoom], bundle: Bundle | None = None) -> None:
        self._bundle = bundle or Bundle()
        self.events: Events = Events()
        own = [room.own_access() for room in rooms.values() if room.own_access is not None]
        self.recent: Recent = Recent(own, {room.package: room.advice for room in ROOMS.values() if room.advice})
        chosen = settings.hub.servers
        offered = [name for name in rooms if chosen is None or name in chosen]
        shown = [rooms[name] for name in offered]
        self.notes: Notes | None = next((room.notes for room in shown if room.notes is not None), None)
        self._pages: dict[str, WebPage] = {}
        for room in shown:
            self._pages |= room.pages(self) if room.pages is not None else {}
        self._pages["system"] = SystemPage(settings, rooms, self.events, self.recent, offered)
        self.is_for_askers: bool = any(page.is_for_askers for page in self._pages.values())

    def tell(self, page: str, **more: Any) -> None:
        """See ``News.tell``."""
        self.events.tell(page, **more)

    def open_routes(self) -> list[web.RouteDef]:
        """Routes that need no token: the page itself, which asks for one."""
        return self._bundle.routes()

    def about_route(self) -> web.RouteDef:
        """The page's first request."""
        return web.get("/api/about", self._about)

    def routes(self) -> Iterable[web.RouteDef]:
        """The page's API."""
        yield web.get("/api/events", self.events.handle, allow_head=False)
        for page in self._pages.values():
            yield from page.routes()

    async def _about(self, request: web.Request) -> web.StreamResponse:
        return as_json(await in_thread(self.about, request[CALLER]))

    def about(self, caller: Caller) -> dict[str, Any]:
        """The pages that a caller may see, the caller's name, and what each page needs to know first."""
        is_asker = caller.kind == "asker"
        pages = [name for name, page in self._pages.items() if (page.is_for_askers if is_asker else page.is_there)]
        more = {name: value for page in self._pages.values() for name, value in page.about.items()}
        return {"version": __version__, "pages": pages, "caller": caller.name, **more}

    async def run(self, _app: web.Application) -> AsyncIterator[None]:
        """From the application's start to its end: record problems, and watch for changes."""
        watches = {name: watch for name, page in self._pages.items() if (watch := page.watch) is not None}
        self.recent.install()
        looking = asyncio.create_task(Watches(self.events, watches).run())
        try:
            yield
        finally:
            self.recent.remove()
            for page in self._pages.values():
                page.close()
            looking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await looking

    async def stop(self, _app: web.Application) -> None:
        """End the event streams."""
        self.events.close()
