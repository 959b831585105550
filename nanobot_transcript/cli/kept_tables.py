"""What the servers of the hub keep in tables, for who moves a record."""

from pathlib import Path
from typing import Final

from nanobot_transcript.record.moving.kept_tables import KeptTables
from transcript_mcp.assistant.questions import tables as questions
from transcript_mcp.io_bridge import schema as queues
from transcript_mcp.mail import store as mail
from transcript_mcp.mail.store import MailStore

__all__ = ["kept_tables_at"]

_BUSY: Final = 10.0


def kept_tables_at(hub: Path, letters: Path) -> list[KeptTables]:
    """Queues and questions, which lie in the folder of the hub where there is no database, and mail in its own."""
    return [
        KeptTables("queues", queues.SCHEMA, lambda place: queues.opened(place.record.shelf(hub))),
        KeptTables("questions", questions.SCHEMA, lambda place: questions.opened(place.record.shelf(hub))),
        KeptTables("mail", mail.SCHEMA, lambda place: MailStore.on(place.record.shelf(letters)).opened(_BUSY)),
    ]
