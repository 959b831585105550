"""Which rooms there are, what each offers, and how it is made from the settings."""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from nanobot_transcript.errors import StoreBusyError, UnsafePathError
from nanobot_transcript.settings import Settings
from nanobot_transcript.settings.opening import Opening
from transcript_mcp.door.address import is_loopback
from transcript_mcp.door.identity import Tokens, check_page_token
from transcript_mcp.sdk import Server

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from aiohttp.web import AbstractRouteDef

    from transcript_mcp.io_bridge.unasked import Unasked

__all__ = ["Room", "build_rooms", "tokens_of"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Room:
    """What a room offers: an MCP server, and in the hub ``routes`` beside it.

    ``routes`` is called by the hub alone, so that a process that talks MCP over its stdin needs no HTTP server. With
    ``own_access`` the room looks at the tokens of its routes itself, and at how large a body is; the hub checks where a
    request comes from.
    ``core`` is what the room works on, for the pages that show it. ``running`` is what goes on as long as the hub does.
    ``unasked`` is what people write to agents in this room, ``hear`` tells a room of it that gives it to agents.
    """

    server: Server
    routes: "Callable[[], Iterable[AbstractRouteDef]] | None" = None
    own_access: bool = False
    core: object = None
    running: "Callable[[], AbstractAsyncContextManager[None]] | None" = None
    unasked: "Unasked | None" = None
    hear: "Callable[[Unasked], None] | None" = None


def build_rooms(settings: Settings, names: Iterable[str] | None = None, *, cwd: Path | None = None) -> dict[str, Room]:
    """The rooms by name: those named, or all there are. What they open is closed with their servers.

    A room that another process has to itself, or whose files are links, is left out with a warning. ``cwd`` is the
    folder in which a client started this process, which tells who it is; None in the hub.
    """
    opening = Opening(settings)  # one for all: each record has connections of its own
    rooms: dict[str, Room] = {}
    for name in _BUILDERS if names is None else names:
        try:
            rooms[name] = _BUILDERS[name](settings, opening, cwd)
        except (StoreBusyError, UnsafePathError) as error:
            logger.warning("%s It is skipped here. %s", error, error.hint)
    for unasked in [room.unasked for room in rooms.values() if room.unasked is not None]:
        for room in rooms.values():
            if room.hear is not None:
                room.hear(unasked)
    return rooms


def tokens_of(settings: Settings) -> Tokens:
    """The tokens that open the hub of these settings. Raises ConfigError when one would open too much."""
    settings.require("hub.page_token")  # without its variable everybody would be let in
    hub = settings.hub
    tokens, agents, askers = (
        {name: token.get_secret_value() for name, token in each.tokens.items()}
        for each in (hub, settings.filebox, settings.assistant)
    )
    page_token = hub.page_token.get_secret_value() if hub.page_token is not None else None
    check_page_token(page_token, {"hub.tokens": tokens, "filebox.tokens": agents, "assistant.tokens": askers})
    return Tokens(tokens, agents, askers, page_token, local=is_loopback(hub.host))


def _transcript(settings: Settings, opening: Opening, _cwd: Path | None) -> Room:
    from nanobot_transcript.identity import AgentProfile
    from transcript_mcp.transcript import build_server
    from transcript_mcp.transcript.page import Chats

    agents = [
        AgentProfile(
            agent.name, tuple(agent.aliases), agent.description, frozenset({agent.name, account}), account=account
        )
        for account, agent in settings.agents.items()
    ]
    record = opening.record
    server = build_server(record.store, agents=agents, outbox=lambda: record.outbox, gate=settings.gate.options())
    server.on_close(opening.close)
    return Room(server, core=Chats(record, agents, settings.turns.idle_reset))


def _filebox(settings: Settings, opening: Opening, cwd: Path | None) -> Room:
    from transcript_mcp.filebox.server import filebox_from, server_over

    filebox = filebox_from(settings, cwd)
    server = server_over(filebox, settings, opening)
    server.on_close(opening.close)
    return Room(server, core=filebox)


def _mail(settings: Settings, opening: Opening, _cwd: Path | None) -> Room:
    from transcript_mcp.mail.server import build_server, service_from

    service = service_from(settings, opening)
    server = build_server(service, store=lambda: opening.record.store)
    server.on_close(opening.close)

    def routes() -> "Iterable[AbstractRouteDef]":
        from transcript_mcp.mail.routes import Routes

        return Routes(service)()

    return Room(server, routes, core=service)


def _io(settings: Settings, opening: Opening, _cwd: Path | None) -> Room:
    from transcript_mcp.io_bridge.server import bridge_from, build_server
    from transcript_mcp.io_bridge.tools import Tools

    bridge = bridge_from(settings, opening)
    tools = Tools(bridge)
    server = build_server(bridge, tools)
    server.on_close(opening.close)

    def routes() -> "Iterable[AbstractRouteDef]":
        from transcript_mcp.io_bridge.routes import Routes

        return Routes(bridge)()

    return Room(server, routes, core=bridge, hear=tools.hear)


def _assistant(settings: Settings, opening: Opening, _cwd: Path | None) -> Room:
    from transcript_mcp.assistant.server import (
        assistant_from,
        build_server,
        groups_from,
        options_from,
        questions_of,
    )
    from transcript_mcp.hub.unasked import UnaskedMessages

    tokens, options = tokens_of(settings), options_from(settings)
    held = questions_of(settings.hub.data_dir)
    assistant = assistant_from(settings, opening)
    server = build_server(assistant, lambda ctx: tokens.asks_in(ctx.who), options)
    server.on_close(assistant.close)
    server.on_close(held.close)
    server.on_close(opening.close)

    def routes() -> "Iterable[AbstractRouteDef]":
        from transcript_mcp.assistant.routes import routes

        return routes(assistant, tokens)

    def running() -> "AbstractAsyncContextManager[None]":
        return groups_from(assistant, opening.record).running()

    return Room(
        server,
        routes,
        own_access=True,
        core=assistant,
        running=running,
        unasked=UnaskedMessages(assistant, tokens, options.max_attachment),
    )


_BUILDERS: Final[Mapping[str, Callable[[Settings, Opening, Path | None], Room]]] = {
    "transcript": _transcript,
    "filebox": _filebox,
    "mail": _mail,
    "io": _io,
    "assistant": _assistant,
}
