"""Describes this room to the hub and the commands: the transcripts of groups."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

from transcript_mcp.room import OpenRoom, Room, Stored

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from nanobot_transcript.settings import Settings
    from nanobot_transcript.settings.lazy_record import Opening
    from transcript_mcp.page import WebPage
    from transcript_mcp.room import News

__all__ = ["ROOM"]


def _opened(settings: "Settings", opening: "Opening", _cwd: Path | None) -> OpenRoom:
    from nanobot_transcript.identity import AgentProfile
    from transcript_mcp.transcript.server import build_server

    agents = [
        AgentProfile(
            agent.name, tuple(agent.aliases), agent.description, frozenset({agent.name, account}), account=account
        )
        for account, agent in settings.agents.items()
    ]
    record = opening.record
    server = build_server(record.store, agents=agents, outbox=lambda: record.outbox, gate=settings.gate.options())
    server.on_close(opening.close)

    def pages(_news: "News") -> "Mapping[str, WebPage]":
        from transcript_mcp.transcript.page import Chats, GroupsPage
        from transcript_mcp.transcript.statistics import StatisticsPage

        chats = Chats(record, agents, settings.turns.idle_reset)
        return {"groups": GroupsPage(chats), "statistics": StatisticsPage(chats, settings)}

    def stored() -> "Iterator[Stored]":
        return (Stored(each.part, each.where, each.bytes, each.count) for each in record.usage())

    return OpenRoom(server, pages=pages, stored=stored, writes_in=(settings.store.dir,), record=record)


ROOM: Final = Room(
    "transcript",
    _opened,
    safe=(
        "transcript_chats",
        "transcript_recent",
        "transcript_search",
        "transcript_members",
        "transcript_wait",
        "transcript_relevance",
    ),
)
