"""System: whether all is well, versions, who is connected, how much is stored, what went wrong and what to do."""

import platform
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from aiohttp import web

from nanobot_transcript import __version__
from nanobot_transcript.conversation.decision import PRIVATE
from nanobot_transcript.errors import TranscriptError
from nanobot_transcript.files.usage import folder_size
from nanobot_transcript.record import Record
from nanobot_transcript.relevance.tally import DAY_MS, Tally, tallies_since
from nanobot_transcript.settings import Settings
from transcript_mcp.assistant.service import Assistant
from transcript_mcp.filebox.filebox import FileBox
from transcript_mcp.hub.rooms import Room
from transcript_mcp.hub.web.events import Events
from transcript_mcp.hub.web.recent import Recent
from transcript_mcp.io_bridge.bridge import Bridge
from transcript_mcp.mail.service import MailService
from transcript_mcp.page import Asked, answered
from transcript_mcp.transcript.page import Chats

__all__ = ["SystemRoom"]

_PACKAGES: Final = ("mcp", "aiohttp", "nanobot-ai", "lark-oapi")


class SystemRoom:
    """The hub itself as the page shows it."""

    def __init__(
        self, settings: Settings, rooms: Mapping[str, Room], events: Events, recent: Recent, offered: list[str]
    ) -> None:
        self._settings = settings
        self._rooms = rooms
        self._events = events
        self._recent = recent
        self._offered = offered
        self._began = time.time()

    def routes(self) -> list[web.RouteDef]:
        """``/api/system``."""
        return [web.get("/api/system", answered(self.system))]

    def system(self, _asked: Asked) -> dict[str, Any]:
        """All of it. Times are seconds since 1970, sizes bytes."""
        return {
            "status": "ok",
            "version": __version__,
            "versions": {"python": platform.python_version(), **_versions()},
            "began": self._began,
            "now": time.time(),
            "token": self._settings.hub_wants_tokens,
            "servers": [
                {"name": name, "tools": len(room.server.tools), "offered": name in self._offered}
                for name, room in self._rooms.items()
            ],
            "viewers": [
                {"name": each.name, "since": each.since, "program": each.agent}
                for each in sorted(self._events.viewers, key=lambda each: each.since)
            ],
            "clients": self._recent.clients(),
            "stores": list(self._stores()),
            "answers": self._answers(),
            "answers_known": self._settings.gate.log and any(self._records()),
            "problems": self._recent.problems(),
        }

    def look(self) -> Mapping[tuple[tuple[str, str], ...], Any]:
        """How many problems there were, how many clients, and what was noted of answers in private: of groups their
        page tells.
        """
        noted = [record.decisions.editions([PRIVATE]) for record in self._records()]
        return {
            (("what", "problems"),): self._recent.count,
            (("what", "clients"),): self._recent.newcomers,
            (("what", "answers"),): noted,
        }

    def _records(self) -> Iterator[Record]:
        return (room.core.record for room in self._rooms.values() if isinstance(room.core, Chats))

    def _answers(self) -> list[dict[str, Any]]:
        """Of the last 24 hours, by bot: how many answers came to an end, how many failed, the newest of those, and what
        people corrected.
        """
        since = time.time() * 1000 - DAY_MS
        found = (tallies_since(record.decisions, since) for record in self._records())
        return [asdict(each) | _rates(each) for answers in found for each in answers if each.judged]

    def _stores(self) -> Iterator[dict[str, Any]]:
        for room in self._rooms.values():
            if isinstance(room.core, Chats):
                for each in room.core.record.usage():
                    yield _store(each.part, each.where, each.bytes, each.count)
            elif isinstance(room.core, MailService):
                places = room.core.mail.places
                yield _store("mail", places.database, sum(_database(places.database)), None)
                archive = places.root / "projects"
                yield _store("archive", archive, *folder_size(archive))
            elif isinstance(room.core, FileBox):
                yield from _mailboxes(room.core)
        yield from self._own()

    def _own(self) -> Iterator[dict[str, Any]]:
        """What lies in the hub's own folder: the questions, the queues, and the rest."""
        folder = self._settings.hub.data_dir
        size, count = folder_size(folder)
        for name, file, kind in (("questions", "assistant.sqlite3", Assistant), ("queues", "io.sqlite3", Bridge)):
            if any(isinstance(room.core, kind) for room in self._rooms.values()):
                found = _database(folder / file)
                yield _store(name, folder / file, sum(found), None)
                size, count = size - sum(found), count - len(found)
        yield _store("hub", folder, max(0, size), max(0, count))


def _mailboxes(filebox: FileBox) -> Iterator[dict[str, Any]]:
    try:
        roster = filebox.roster()
    except TranscriptError:
        return  # there are none, or nobody can tell which
    sizes = [
        folder_size(mailbox) for mailbox in {place.mailbox for place in roster.agents.values() if not place.problem}
    ]
    yield _store("mailboxes", roster.file, sum(size for size, _ in sizes), sum(count for _, count in sizes))


def _rates(each: Tally) -> dict[str, float]:
    return {"intruded_per_100": round(each.intruded_per_100, 1), "missed_per_100": round(each.missed_per_100, 1)}


def _store(name: str, path: Path | str, size: int, count: int | None) -> dict[str, Any]:
    return {"name": name, "path": str(path), "bytes": size, "count": count}


def _versions() -> dict[str, str]:
    found: dict[str, str] = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _database(path: Path) -> list[int]:
    """The bytes of SQLite's files of a database that are there."""
    sizes: list[int] = []
    for ending in ("", "-wal", "-shm"):
        with suppress(OSError):
            sizes.append(Path(f"{path}{ending}").stat().st_size)
    return sizes
