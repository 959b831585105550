"""Describes the room of Agent Mail to the hub and the command line."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

from transcript_mcp.room import OpenRoom, Room, Stored

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from aiohttp.web import AbstractRouteDef

    from nanobot_transcript.record.transfer.contract import TransferPlace
    from nanobot_transcript.record.transfer.kept_tables import KeptTables
    from nanobot_transcript.settings import Settings
    from nanobot_transcript.settings.lazy_record import Opening
    from nanobot_transcript.sql.contract import Database
    from transcript_mcp.page import WebPage
    from transcript_mcp.room import News

__all__ = ["ROOM"]

_BUSY: Final = 10.0
"""Seconds for which a move of the tables waits for another writer."""

_RULES: Final = """\
- Begin work with `start_session`. Read your mail with `check_my_messages` then, before each commit and before you
  finish. Answer with `reply_message`; use `acknowledge_message` where a message asks for it.
- Claim files with `claim_paths` before you change them, and let go with `release_claims` when you are done.
"""


def _opened(settings: "Settings", opening: "Opening", _cwd: Path | None) -> OpenRoom:
    from transcript_mcp.mail.server import build_server, service_from

    service = service_from(settings, opening)
    server = build_server(service, store=lambda: opening.record.store)
    server.on_close(opening.close)

    def routes() -> "Iterable[AbstractRouteDef]":
        from transcript_mcp.mail.claims.routes import ClaimRoutes

        return ClaimRoutes(service)()

    def pages(_news: "News") -> "Mapping[str, WebPage]":
        from transcript_mcp.mail.page import MailPage

        return {"mail": MailPage(service, server.updated)}

    def stored() -> "Iterator[Stored]":
        from nanobot_transcript.files.usage import database_size, folder_size

        places = service.mail.places
        yield Stored("mail", places.database, database_size(places.database)[0])
        archive = places.root / "projects"
        yield Stored("archive", archive, *folder_size(archive))

    return OpenRoom(server, routes, pages=pages, stored=stored, writes_in=(settings.mail.store,))


def _tables(settings: "Settings") -> "Iterator[KeptTables]":
    from nanobot_transcript.record.transfer.kept_tables import KeptTables
    from transcript_mcp.mail.store import SCHEMA, MailStore

    def opened(place: "TransferPlace") -> "Database":
        return MailStore.on(place.record.shelf(settings.mail.store)).opened(_BUSY)

    yield KeptTables("mail", SCHEMA, opened)


ROOM: Final = Room(
    "mail",
    _opened,
    stdio="relayed",
    entry="agent-mail",
    safe=(
        "whois",
        "list_agents",
        "check_my_messages",
        "overdue_acknowledgements",
        "search_messages",
        "summarize_thread",
        "list_claims",
    ),
    rules=_RULES,
    advice="Run `nanobot-transcript mail doctor`: it says what is wrong and repairs it.",
    tables=_tables,
    has_letters=True,
)
