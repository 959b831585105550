"""What goes on in a project: its threads, the one written to last first, and how much mail its agents have not read."""

import sqlite3
from dataclasses import dataclass
from typing import Final

from transcript_mcp.mail.rows import HEADERS, letter
from transcript_mcp.mail.values import Letter

__all__ = ["Conversation", "conversations", "unread", "written_to_last"]

_LOOKED_AT: Final = 2000
"""Messages of a project that are looked through, the newest."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A thread, or a message that nobody answered: its id, its newest message, and who wrote how often."""

    id: str
    newest: Letter
    subject: str
    messages: int
    senders: tuple[str, ...]


def conversations(db: sqlite3.Connection, project_id: int, limit: int) -> list[Conversation]:
    """The threads of a project among its newest messages, the one written to last first."""
    rows = db.execute(
        f"SELECT {HEADERS} FROM messages CROSS JOIN projects ON projects.id = messages.project_id"
        " WHERE messages.project_id = ? ORDER BY seq DESC LIMIT ?",
        (project_id, _LOOKED_AT),
    )
    found: dict[str, list[Letter]] = {}
    for row in rows:
        each = letter(row)
        found.setdefault(each.thread_id or each.id, []).append(each)
    # The first message of a thread has no thread's name when it became one by its answers.
    for name in [name for name, letters in found.items() if len(letters) == 1 and letters[0].thread_id is None]:
        if any(other[0].reply_to == name for key, other in found.items() if key != name and other[0].thread_id == name):
            found.pop(name)
    kept = list(found.items())[:limit]
    return [
        Conversation(
            name, letters[0], letters[-1].subject, len(letters), tuple(dict.fromkeys(each.sender for each in letters))
        )
        for name, letters in kept
    ]


def unread(db: sqlite3.Connection, project_id: int) -> dict[str, int]:
    """How many messages of a project each agent has not read, by name."""
    rows = db.execute(
        "SELECT agent_name, count(*) AS count FROM message_recipients"
        " JOIN messages ON messages.seq = message_recipients.seq"
        " WHERE message_recipients.read_ts IS NULL AND messages.project_id = ? GROUP BY agent_name",
        (project_id,),
    )
    return {row["agent_name"]: row["count"] for row in rows}


def written_to_last(db: sqlite3.Connection) -> str | None:
    """The key of the project with the newest message."""
    row = db.execute(
        "SELECT human_key FROM projects WHERE id = (SELECT project_id FROM messages ORDER BY seq DESC LIMIT 1)"
    ).fetchone()
    return None if row is None else str(row["human_key"])
