"""What goes on in a project: its threads, the one written to last first, and how much mail its agents have not read."""

from dataclasses import dataclass
from typing import Final

from nanobot_transcript.sql.contract import Sql
from transcript_mcp.mail.messages.boxes import COUNTED, LAST, number_of
from transcript_mcp.mail.messages.rows import HEADERS, letter
from transcript_mcp.mail.values import Letter, Page

__all__ = ["RecentThread", "conversations", "subject_of", "unread", "written_to_last"]


@dataclass(frozen=True, slots=True)
class RecentThread:
    """A thread, or a message that nobody answered: its id, its newest message, and who wrote how often."""

    id: str
    newest: Letter
    subject: str
    messages: int
    senders: tuple[str, ...]


# A message stands for its thread when nothing came later in it. The first message of a thread may carry no thread's
# name: then its own id is the name that the answers carry.
_NEWEST: Final = (
    "messages AS newest WHERE newest.project_id = :project AND newest.seq < :below AND NOT EXISTS ("
    "SELECT 1 FROM messages AS later WHERE later.thread_id = coalesce(newest.thread_id, newest.id)"
    " AND later.project_id = :project AND later.seq > newest.seq)"
)
_OF_THREAD: Final = "FROM messages WHERE project_id = :project AND (thread_id = :thread OR id = :thread)"
_SENDERS: Final = (
    f"SELECT from_agent, count(*) AS messages, max(seq) AS last {_OF_THREAD} GROUP BY from_agent ORDER BY last DESC"
)


def conversations(db: Sql, project_id: int, limit: int, before: str | None = None) -> Page[RecentThread]:
    """The threads of a project, the one written to last first.

    ``before`` is the id of a message: only threads whose newest message was accepted before it. Raises
    LetterNotFoundError.
    """
    bounds = {"project": project_id, "below": number_of(db, before) if before else LAST}
    rows = db.execute(
        f"SELECT {HEADERS} FROM messages JOIN projects ON projects.id = messages.project_id"
        f" WHERE seq IN (SELECT newest.seq FROM {_NEWEST} ORDER BY newest.seq DESC LIMIT :limit) ORDER BY seq DESC",
        bounds | {"limit": limit},
    )
    found = [_conversation(db, project_id, letter(row)) for row in rows]
    if len(found) < limit:
        return Page(found)
    end = found[-1].newest.id
    counted = f"SELECT count(*) FROM (SELECT 1 FROM {_NEWEST} ORDER BY newest.seq DESC LIMIT {COUNTED}) AS found"
    more = db.execute(counted, bounds | {"below": number_of(db, end)}).fetchone()[0]
    return Page(found, more, end)


def _conversation(db: Sql, project_id: int, newest: Letter) -> RecentThread:
    name = newest.thread_id or newest.id
    senders = db.execute(_SENDERS, {"project": project_id, "thread": name}).fetchall()
    messages = sum(row["messages"] for row in senders)
    subject = subject_of(db, project_id, name)
    return RecentThread(name, newest, subject, messages, tuple(row["from_agent"] for row in senders))


def subject_of(db: Sql, project_id: int, thread_id: str) -> str:
    """What a thread is about: the subject of its first message. Empty where there is no such thread."""
    sql = f"SELECT subject {_OF_THREAD} ORDER BY seq LIMIT 1"
    row = db.execute(sql, {"project": project_id, "thread": thread_id}).fetchone()
    return "" if row is None else str(row["subject"])


def unread(db: Sql, project_id: int) -> dict[str, int]:
    """How many messages of a project each agent has not read, by name."""
    rows = db.execute(
        "SELECT agent_name, count(*) AS count FROM message_recipients"
        " JOIN messages ON messages.seq = message_recipients.seq"
        " WHERE message_recipients.read_ts IS NULL AND messages.project_id = ? GROUP BY agent_name",
        (project_id,),
    )
    return {row["agent_name"]: row["count"] for row in rows}


def written_to_last(db: Sql) -> str | None:
    """The key of the project with the newest message."""
    row = db.execute(
        "SELECT human_key FROM projects WHERE id = (SELECT project_id FROM messages ORDER BY seq DESC LIMIT 1)"
    ).fetchone()
    return None if row is None else str(row["human_key"])
