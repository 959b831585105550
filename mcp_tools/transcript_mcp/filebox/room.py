"""Describes this room to the hub and the commands: mailboxes."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

from transcript_mcp.room import OpenRoom, Room, Stored

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from nanobot_transcript.settings import Settings
    from nanobot_transcript.settings.lazy_record import Opening
    from transcript_mcp.filebox.filebox import FileBox
    from transcript_mcp.page import WebPage
    from transcript_mcp.room import News

__all__ = ["ROOM"]

_RULES: Final = """\
- Look into your mailbox with `filebox_list_messages` when you begin and before you finish. Answer with
  `filebox_send_message`; end what is done with `filebox_resolve_message`.
"""


def _opened(settings: "Settings", opening: "Opening", cwd: Path | None) -> OpenRoom:
    from transcript_mcp.filebox.server import filebox_from, server_over

    filebox = filebox_from(settings, cwd)
    server = server_over(filebox, settings, opening)
    server.on_close(opening.close)

    def pages(_news: "News") -> "Mapping[str, WebPage]":
        from transcript_mcp.filebox.page import BoxesPage

        return {"boxes": BoxesPage(filebox, settings.filebox.agent or "")}

    return OpenRoom(server, pages=pages, stored=lambda: _stored(filebox))


def _stored(filebox: "FileBox") -> "Iterator[Stored]":
    from nanobot_transcript.errors import TranscriptError
    from nanobot_transcript.files.usage import folder_size

    try:
        roster = filebox.roster()
    except TranscriptError:
        return  # no agents are configured, or the configuration is broken
    sizes = [
        folder_size(mailbox) for mailbox in {place.mailbox for place in roster.agents.values() if not place.problem}
    ]
    yield Stored("mailboxes", roster.file, sum(size for size, _ in sizes), sum(count for _, count in sizes))


ROOM: Final = Room(
    "filebox",
    _opened,
    safe=(
        "filebox_send_message",
        "filebox_list_messages",
        "filebox_read_message",
        "filebox_resolve_message",
        "filebox_reject_message",
    ),
    rules=_RULES,
    advice="Check the agents' folders in .filebox; `nanobot-transcript doctor` checks each of them.",
    has_letters=True,
)
