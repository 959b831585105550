"""Reads inboxes, outboxes, messages and threads. No query walks through more rows than one answer may hold."""

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from heapq import merge
from itertools import islice
from typing import Final

from nanobot_transcript.entry import well_formed
from nanobot_transcript.errors import LetterNotFoundError
from nanobot_transcript.sql.contract import Row, Sql
from transcript_mcp.mail.messages.boxes import LAST, Bounds, LetterBox, bounded, number_of
from transcript_mcp.mail.messages.letters import HEADERS, WHOLE, letter
from transcript_mcp.mail.values import Agent, Delivery, InboxQuery, Letter, LetterPage, LetterThread, Project

__all__ = ["MOST_TEXT", "inbox", "inbox_box", "message", "outbox", "thread"]

MOST_TEXT: Final = 4 << 20
"""Most characters of bodies in one answer: a reader that wants more must ask for fewer messages at a time."""

_JOINED: Final = "JOIN projects ON projects.id = messages.project_id"
_RECEIVED: Final = "recipient.kind, recipient.read_ts, recipient.ack_ts"
_OUTBOX: Final = LetterBox("messages INDEXED BY messages_by_sender", f"CROSS {_JOINED}", "sender_id = :owner", "seq")
_ANSWERS: Final = (
    f"messages INDEXED BY messages_by_thread CROSS {_JOINED}"
    " WHERE thread_id = :thread AND project_id = :project AND seq < :below"
)
_FIRST: Final = (
    f"messages {_JOINED} WHERE messages.id = :thread AND project_id = :project AND thread_id IS NOT :thread"
    " AND seq < :below"
)
# INDEXED BY names the index, because SQLite's planner cannot know how few of an inbox's messages are unread or urgent.
_INDEXES: Final = {
    (False, False): "recipients_inbox",
    (False, True): "recipients_unread",
    (True, False): "recipients_urgent",
    (True, True): "recipients_urgent_unread",
}


def inbox_box(query: InboxQuery) -> LetterBox:
    """The part of an inbox that a query asks for."""
    index = _INDEXES[(query.urgent_only, query.unread_only)]
    wanted = "recipient.agent_id = :owner"
    wanted += " AND recipient.urgent = 1" if query.urgent_only else ""
    wanted += " AND recipient.read_ts IS NULL" if query.unread_only else ""
    return LetterBox(
        f"message_recipients AS recipient INDEXED BY {index}",
        f"CROSS JOIN messages ON messages.seq = recipient.seq CROSS {_JOINED}",
        wanted,
        "recipient.seq",
    )


def inbox(db: Sql, agent: Agent, query: InboxQuery) -> LetterPage[Delivery]:
    """Messages that an agent received, in all projects, the newest first."""
    most = bounded(query.limit)
    stretch = inbox_box(query).stretch(db, agent.id, query.since_ts, query.before)
    found, more = _page(db, stretch, f"{WHOLE if query.include_bodies else HEADERS}, {_RECEIVED}", most)
    before = found[-1][1].id if found else None
    return LetterPage((Delivery(read, row["kind"], row["read_ts"], row["ack_ts"]) for row, read in found), more, before)


def outbox(
    db: Sql,
    agent: Agent,
    *,
    since_ts: float | None,
    include_bodies: bool,
    limit: int,
    before: str | None = None,
) -> LetterPage[Letter]:
    """Messages that an agent sent, in all projects, the newest first."""
    most = bounded(limit)
    stretch = _OUTBOX.stretch(db, agent.id, since_ts, before)
    found, more = _page(db, stretch, WHOLE if include_bodies else HEADERS, most)
    return LetterPage((read for _, read in found), more, found[-1][1].id if found else None)


def _page(db: Sql, stretch: Bounds, columns: str, most: int) -> tuple[list[tuple[Row, Letter]], int]:
    """The newest messages within the bounds, and how many come after them."""
    with closing(stretch.rows(db, columns, most)) as rows:
        found = list(_letters(rows))
    return found, stretch.count(db, found[-1][0]["seq"]) if len(found) == most else 0


def message(db: Sql, message_id: str, project: Project | None) -> Letter:
    """The message with this id. Raises LetterNotFoundError, also when it is not in ``project``."""
    clean = well_formed(message_id)
    row = db.execute(f"SELECT {WHOLE} FROM messages {_JOINED} WHERE messages.id = ?", (clean,)).fetchone()
    if row is None or (project is not None and row["human_key"] != project.key):
        where = "" if project is None else f" in {project.key}"
        hint = "The inbox shows each message's id." if row is None else f"It is in {row['human_key']}."
        raise LetterNotFoundError(f"There is no message {clean[:80]}{where}.", hint=hint)
    return letter(row)


def thread(
    db: Sql,
    thread_id: str,
    project: Project | None,
    *,
    include_bodies: bool,
    limit: int,
    before: str | None = None,
) -> LetterThread:
    """The newest messages of a conversation, oldest first; without ``project``, in the project with the newest one.
    A conversation is all messages with its id as ``thread_id``, and the message whose own id that is. ``before`` is a
    message's id: only messages accepted before it. Raises LetterNotFoundError.
    """
    clean, most = well_formed(thread_id), bounded(limit)
    project_id = _latest_project(db, clean) if project is None else project.id
    below = number_of(db, before) if before else LAST
    bounds = {"thread": clean, "project": project_id, "below": below, "most": most}
    columns = WHOLE if include_bodies else HEADERS
    with (
        closing(db.execute(f"SELECT {columns} FROM {_ANSWERS} ORDER BY seq DESC LIMIT :most", bounds)) as answers,
        closing(db.execute(f"SELECT {columns} FROM {_FIRST}", bounds)) as first,
    ):
        rows = merge(answers, first, key=lambda row: -row["seq"])
        found = [(row["seq"], read) for row, read in islice(_letters(rows), most)]
    if not found:
        raise _no_thread(clean, project, before)
    more = _count(db, bounds | {"below": found[-1][0]}) if len(found) == most else 0
    return LetterThread(clean, found[0][1].project, tuple(read for _, read in reversed(found)), more)


def _count(db: Sql, bounds: dict[str, object]) -> int:
    return sum(db.execute(f"SELECT count(*) FROM {part}", bounds).fetchone()[0] for part in (_ANSWERS, _FIRST))


def _no_thread(thread_id: str, project: Project | None, before: str | None) -> LetterNotFoundError:
    where = "" if project is None else f" in {project.key}"
    if before:
        return LetterNotFoundError(
            f"Nothing of the thread {thread_id[:80]}{where} comes before {before[:80]}.",
            hint="Read it without `before`.",
        )
    return LetterNotFoundError(
        f"There is no thread {thread_id[:80]}{where}.",
        hint="A thread's id is a message's thread_id or, without one, the id of its first message.",
    )


# Jumps from project to project through the index, however many messages a thread has in each.
_LATEST: Final = """
WITH RECURSIVE found (id) AS (
    SELECT min(project_id) FROM messages WHERE thread_id = :thread
    UNION ALL
    SELECT (SELECT min(project_id) FROM messages WHERE thread_id = :thread AND project_id > found.id)
    FROM found WHERE found.id IS NOT NULL
)
SELECT id AS project_id, (SELECT max(seq) FROM messages WHERE thread_id = :thread AND project_id = found.id) AS latest
FROM found WHERE id IS NOT NULL
UNION ALL SELECT project_id, seq FROM messages WHERE id = :thread
ORDER BY latest DESC LIMIT 1
"""


def _latest_project(db: Sql, thread_id: str) -> int | None:
    row = db.execute(_LATEST, {"thread": thread_id}).fetchone()
    return None if row is None else row["project_id"]


def _letters(rows: Iterable[Row]) -> Iterator[tuple[Row, Letter]]:
    """Each row with its message: the first always with its body, others while they fit into ``MOST_TEXT``."""
    size = 0
    for row in rows:
        read = letter(row)
        length = len(read.body or "")
        if size and size + length > MOST_TEXT:
            yield row, replace(read, body=None, left_out=True)
        else:
            size += length
            yield row, read
