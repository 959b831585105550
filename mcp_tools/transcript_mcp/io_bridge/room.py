"""Describes this room to the hub and the commands: the IO bridge."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

from transcript_mcp.room import OpenRoom, Room, Stored

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from aiohttp.web import AbstractRouteDef

    from nanobot_transcript.record.transfer.kept_tables import KeptTables
    from nanobot_transcript.settings import Settings
    from nanobot_transcript.settings.lazy_record import Opening
    from transcript_mcp.page import WebPage
    from transcript_mcp.room import News

__all__ = ["ROOM"]


def _opened(settings: "Settings", opening: "Opening", _cwd: Path | None) -> OpenRoom:
    from transcript_mcp.io_bridge.server import bridge_from, build_server
    from transcript_mcp.io_bridge.tools import QueueTools

    bridge = bridge_from(settings, opening)
    tools = QueueTools(bridge)
    server = build_server(bridge, tools)
    server.on_close(opening.close)

    def routes() -> "Iterable[AbstractRouteDef]":
        from transcript_mcp.io_bridge.routes import QueueRoutes

        return QueueRoutes(bridge)()

    def pages(news: "News") -> "Mapping[str, WebPage]":
        from transcript_mcp.io_bridge.page import IoPage

        return {"io": IoPage(bridge, news)}

    def stored() -> "Iterator[Stored]":
        from nanobot_transcript.files.usage import database_size

        file = settings.hub.data_dir / "io.sqlite3"
        size, files = database_size(file)
        yield Stored("queues", file, size, files=files)

    return OpenRoom(server, routes, pages=pages, stored=stored, hear=tools.hear)


def _tables(settings: "Settings") -> "Iterator[KeptTables]":
    from nanobot_transcript.record.transfer.kept_tables import KeptTables
    from transcript_mcp.io_bridge.schema import SCHEMA, opened

    yield KeptTables("queues", SCHEMA, lambda place: opened(place.record.shelf(settings.hub.data_dir)))


ROOM: Final = Room("io", _opened, stdio="relayed", entry="io-bridge", waits=True, tables=_tables)
