"""The System page: health, versions, who is connected, how much is stored, and recent problems with advice."""

import platform
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from aiohttp import web

from nanobot_transcript import __version__
from nanobot_transcript.conversation.decision import PRIVATE
from nanobot_transcript.files.usage import folder_size
from nanobot_transcript.record import Record
from nanobot_transcript.relevance.tally import DAY_MS, Tally, tallies_since
from nanobot_transcript.settings import Settings
from transcript_mcp.hub.web.events import Events
from transcript_mcp.hub.web.problems import Recent
from transcript_mcp.page import PageCall, PageWatch, WebPage, get_handler, polling
from transcript_mcp.room import OpenRoom, Stored

__all__ = ["SystemPage"]

_PACKAGES: Final = ("mcp", "aiohttp", "nanobot-ai", "lark-oapi")


@dataclass(eq=False)
class SystemPage(WebPage):
    """The hub's own page."""

    settings: Settings
    rooms: Mapping[str, OpenRoom]
    events: Events
    recent: Recent
    offered: list[str]
    _began: float = field(default_factory=time.time, init=False)

    def routes(self) -> list[web.RouteDef]:
        """``/api/system``."""
        return [web.get("/api/system", get_handler(self.system))]

    def system(self, _asked: PageCall) -> dict[str, Any]:
        """All of it. Times are seconds since 1970, sizes bytes."""
        return {
            "status": "ok",
            "version": __version__,
            "versions": {"python": platform.python_version(), **_versions()},
            "began": self._began,
            "now": time.time(),
            "token": self.settings.hub_wants_tokens,
            "servers": [
                {"name": name, "tools": len(room.server.tools), "offered": name in self.offered}
                for name, room in self.rooms.items()
            ],
            "viewers": [
                {"name": each.name, "since": each.since, "program": each.agent}
                for each in sorted(self.events.viewers, key=lambda each: each.since)
            ],
            "clients": self.recent.clients(),
            "stores": list(self._stores()),
            "answers": self._answers(),
            "answers_known": self.settings.gate.log and any(self._records()),
            "problems": self.recent.problems(),
        }

    @property
    def watch(self) -> PageWatch:
        """See ``WebPage.watch``."""
        return polling(self.look)

    def look(self) -> Mapping[tuple[tuple[str, str], ...], Any]:
        """Numbers of problems and clients, and decisions in private chats; the groups' page watches those of groups."""
        noted = [record.decisions.editions([PRIVATE]) for record in self._records()]
        return {
            (("what", "problems"),): self.recent.count,
            (("what", "clients"),): self.recent.newcomers,
            (("what", "answers"),): noted,
        }

    def _records(self) -> Iterator[Record]:
        return (room.record for room in self.rooms.values() if room.record is not None)

    def _answers(self) -> list[dict[str, Any]]:
        """By bot, of the last 24 hours: answers, failed answers with the newest, and what people corrected."""
        since = time.time() * 1000 - DAY_MS
        found = (tallies_since(record.decisions, since) for record in self._records())
        return [asdict(each) | _rates(each) for answers in found for each in answers if each.judged]

    def _stores(self) -> Iterator[dict[str, Any]]:
        """What each room keeps; then the stores in the hub's own folder, and last the rest of that folder."""
        kept = [each for room in self.rooms.values() if room.stored is not None for each in room.stored()]
        folder = self.settings.hub.data_dir
        own = sorted((each for each in kept if Path(each.where).parent == folder), key=lambda each: each.name)
        size, count = folder_size(folder)
        size, count = size - sum(each.bytes for each in own), count - sum(each.files for each in own)
        rest = Stored("hub", folder, max(0, size), max(0, count))
        for each in (*(each for each in kept if each not in own), *own, rest):
            yield {"name": each.name, "path": str(each.where), "bytes": each.bytes, "count": each.count}


def _rates(each: Tally) -> dict[str, float]:
    return {"intruded_per_100": round(each.intruded_per_100, 1), "missed_per_100": round(each.missed_per_100, 1)}


def _versions() -> dict[str, str]:
    found: dict[str, str] = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
