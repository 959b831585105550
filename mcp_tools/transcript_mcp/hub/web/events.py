"""A stream of news for each open page: which room has changed. The page then asks what is new.

Server-sent events: ``id: BOOT-NUMBER``, ``event: news`` and ``data: {"room": ..., ...}``. A page that reconnects sends
the last id it saw (``Last-Event-ID``) and gets what it missed, or ``event: reload`` when that is no longer known.
"""

import asyncio
import contextlib
import logging
import re
import secrets
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from aiohttp import web

from nanobot_transcript.errors import TranscriptError
from transcript_mcp.door.guard import CALLER
from transcript_mcp.page import PageWatch, event_json

__all__ = ["Events", "Viewer", "Watches"]

logger = logging.getLogger(__name__)

_KEPT: Final = 500
_WAITING: Final = 200
"""News that may wait for one page; a page that falls further behind is told to reload."""
_AFTER_TROUBLE: Final = 1.0
_BEAT: Final = 15.0
"""Seconds after which an idle stream sends a comment, so that proxies keep the connection and dead ones show."""
_NUMBER: Final = re.compile(r"[0-9]{1,18}")
_RELOAD: Final = "event: reload\ndata: {}\n\n"


@dataclass(eq=False)
class Viewer:
    """An open page: the owner of its token, since when (seconds since 1970), and the news that wait to be sent."""

    name: str
    since: float
    agent: str = ""
    waiting: deque[str] = field(default_factory=deque)
    called: asyncio.Event = field(default_factory=asyncio.Event)
    behind: bool = False


class Events:
    """The news of one hub. For one event loop."""

    def __init__(self) -> None:
        self._boot = secrets.token_hex(4)
        self._number = 0
        self._past: deque[tuple[int, str]] = deque(maxlen=_KEPT)
        self.viewers: set[Viewer] = set()
        self.came: asyncio.Event = asyncio.Event()
        """Set while at least one page is open."""
        self.gone: asyncio.Event = asyncio.Event()
        """Set while no page is open."""
        self._closed = False

    def tell(self, room: str, **more: Any) -> None:
        """Tell all open pages that something changed in a room."""
        self._number += 1
        text = self._text(self._number, {"room": room, **more})
        self._past.append((self._number, text))
        for viewer in self.viewers:
            if len(viewer.waiting) >= _WAITING:
                viewer.waiting.clear()
                viewer.behind = True
            viewer.waiting.append(text)
            viewer.called.set()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """The stream, until the page or the hub ends."""
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        answer = web.StreamResponse(headers=headers)
        answer.content_type = "text/event-stream"
        answer.charset = "utf-8"
        await answer.prepare(request)
        viewer = Viewer(request[CALLER].name, time.time(), request.headers.get("User-Agent", "")[:200])
        with contextlib.suppress(ConnectionError):
            await answer.write(self._welcome(request.headers.get("Last-Event-ID", "")).encode())
            self._join(viewer)
            try:
                await self._serve(viewer, answer)
            finally:
                self._leave(viewer)
        return answer

    def close(self) -> None:
        """End all streams."""
        self._closed = True
        for viewer in self.viewers:
            viewer.called.set()

    async def _serve(self, viewer: Viewer, answer: web.StreamResponse) -> None:
        while not self._closed:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_BEAT):
                    await viewer.called.wait()
            viewer.called.clear()
            told = _RELOAD if viewer.behind else ""
            told += "".join(viewer.waiting)
            viewer.waiting.clear()
            viewer.behind = False
            await answer.write((told or ": alive\n\n").encode())

    def _welcome(self, last: str) -> str:
        """The first events of a stream: what a returning page missed, or ``reload``, and the current id."""
        here = f"id: {self._boot}-{self._number}\nevent: hello\ndata: {{}}\n\n"
        if not last:
            return here
        boot, _, digits = last.partition("-")
        number = int(digits) if _NUMBER.fullmatch(digits) else -1
        first = self._past[0][0] if self._past else self._number + 1
        if boot != self._boot or not first - 1 <= number <= self._number:
            return here + _RELOAD
        return "".join(text for at, text in self._past if at > number) + here

    def _text(self, number: int, value: dict[str, Any]) -> str:
        return f"id: {self._boot}-{number}\nevent: news\ndata: {event_json(value)}\n\n"

    def _join(self, viewer: Viewer) -> None:
        self.viewers.add(viewer)
        self.gone.clear()
        self.came.set()
        self.tell("system", what="clients")

    def _leave(self, viewer: Viewer) -> None:
        self.viewers.discard(viewer)
        if not self.viewers:
            self.came.clear()
            self.gone.set()
        self.tell("system", what="clients")


@dataclass(eq=False)
class Watches:
    """Runs the ``watches`` (by page) while a page is open, to notice what any process changes."""

    events: Events
    watches: Mapping[str, PageWatch]

    async def run(self) -> None:
        """Run until cancelled. Nothing is watched while no page is open."""
        while True:
            await self.events.came.wait()
            tasks = [asyncio.create_task(self._watch(room, watch)) for room, watch in self.watches.items()]
            try:
                await self.events.gone.wait()
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _watch(self, room: str, watch: PageWatch) -> None:
        tell, missed = partial(self.events.tell, room), False

        def looked() -> None:
            if missed:
                tell()  # something may have changed while the watch was down

        while True:
            try:
                await watch(tell, looked)
            except (TranscriptError, OSError) as error:
                logger.debug("Watching %s failed, trying again: %s", room, error)
            except Exception:
                logger.exception("Watching %s failed, trying again", room)
            missed = True
            await asyncio.sleep(_AFTER_TROUBLE)
