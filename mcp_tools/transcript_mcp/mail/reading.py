"""Reading: inboxes, outboxes, messages, threads. Nothing here walks through more than one answer may hold."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import chain, islice
from operator import attrgetter
from typing import Any, Final, TypeVar

from nanobot_transcript.entry import well_formed
from nanobot_transcript.errors import InvalidLetterError, LetterNotFoundError
from transcript_mcp.mail.rows import HEADERS, WHOLE, letter
from transcript_mcp.mail.values import Agent, Delivery, InboxQuery, Letter, Project, Thread

__all__ = ["MOST", "MOST_TEXT", "inbox", "inbox_sql", "message", "outbox", "thread"]

MOST: Final = 1000
"""Messages of one answer."""

MOST_TEXT: Final = 4 << 20
"""Characters of the bodies in one answer: a reader that wants more of them asks for fewer messages at a time."""

_T = TypeVar("_T")

_JOINED: Final = "JOIN projects ON projects.id = messages.project_id"
# By name, because SQLite cannot know how few of somebody's messages are unread or urgent.
_INDEXES: Final = {
    (False, False): "recipients_inbox",
    (False, True): "recipients_unread",
    (True, False): "recipients_urgent",
    (True, True): "recipients_urgent_unread",
}


def inbox_sql(query: InboxQuery) -> str:
    """The statement that reads an inbox, the newest message first; its parameter is the agent's row."""
    index = _INDEXES[(query.urgent_only, query.unread_only)]
    wanted = " AND recipient.urgent = 1" if query.urgent_only else ""
    wanted += " AND recipient.read_ts IS NULL" if query.unread_only else ""
    columns = WHOLE if query.include_bodies else HEADERS
    return (
        f"SELECT {columns}, recipient.kind, recipient.read_ts, recipient.ack_ts"
        f" FROM message_recipients AS recipient INDEXED BY {index}"
        f" CROSS JOIN messages ON messages.seq = recipient.seq CROSS {_JOINED}"
        f" WHERE recipient.agent_id = ?{wanted} ORDER BY recipient.seq DESC"
    )


def inbox(db: sqlite3.Connection, agent: Agent, query: InboxQuery) -> list[Delivery]:
    """What came to an agent, in all projects, the newest first."""
    rows = db.execute(inbox_sql(query), (agent.id,))
    with closing(rows):
        found = (Delivery(read, row["kind"], row["read_ts"], row["ack_ts"]) for row, read in _letters(rows))
        return _newest(found, attrgetter("letter.created_ts"), query.since_ts, query.limit)


def outbox(
    db: sqlite3.Connection, agent: Agent, *, since_ts: float | None, include_bodies: bool, limit: int
) -> list[Letter]:
    """What an agent sent, in all projects, the newest first."""
    columns = WHOLE if include_bodies else HEADERS
    rows = db.execute(
        f"SELECT {columns} FROM messages INDEXED BY messages_by_sender CROSS {_JOINED}"
        " WHERE sender_id = ? ORDER BY seq DESC",
        (agent.id,),
    )
    with closing(rows):
        return _newest((read for _, read in _letters(rows)), attrgetter("created_ts"), since_ts, limit)


def message(db: sqlite3.Connection, message_id: str, project: Project | None) -> Letter:
    """The message with this id. Raises LetterNotFoundError, also when it is not in ``project``."""
    clean = well_formed(message_id)
    row = db.execute(f"SELECT {WHOLE} FROM messages {_JOINED} WHERE messages.id = ?", (clean,)).fetchone()
    if row is None or (project is not None and row["human_key"] != project.key):
        where = "" if project is None else f" in {project.key}"
        hint = "The inbox shows each message's id." if row is None else f"It is in {row['human_key']}."
        raise LetterNotFoundError(f"There is no message {clean[:80]}{where}.", hint=hint)
    return letter(row)


def thread(
    db: sqlite3.Connection, thread_id: str, project: Project | None, *, include_bodies: bool, limit: int
) -> Thread:
    """The newest messages of a conversation, the oldest first; of the project that has the newest one of it.

    A conversation is what carries its id as ``thread_id``, and the message whose own id that is. Raises
    LetterNotFoundError.
    """
    clean, most = well_formed(thread_id), bounded(limit)
    project_id = _latest_project(db, clean) if project is None else project.id
    columns = WHOLE if include_bodies else HEADERS
    rows = db.execute(
        f"SELECT {columns} FROM messages INDEXED BY messages_by_thread CROSS {_JOINED}"
        " WHERE thread_id = ? AND project_id = ? ORDER BY seq DESC LIMIT ?",
        (clean, project_id, most),
    )
    first = db.execute(
        f"SELECT {columns} FROM messages {_JOINED} WHERE messages.id = ?1 AND project_id = ?2 AND thread_id IS NOT ?1",
        (clean, project_id),
    )
    with closing(rows), closing(first):
        found = [(row["seq"], read) for row, read in islice(_letters(chain(rows, first)), most)]
    if not found:
        where = "" if project is None else f" in {project.key}"
        raise LetterNotFoundError(
            f"There is no thread {clean[:80]}{where}.",
            hint="A thread's id is a message's thread_id or, without one, the id of its first message.",
        )
    found.sort(key=lambda each: each[0])
    return Thread(clean, found[0][1].project, tuple(read for _, read in found))


# From project to project through the index, however many messages a thread has in each.
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


def _latest_project(db: sqlite3.Connection, thread_id: str) -> int | None:
    row = db.execute(_LATEST, {"thread": thread_id}).fetchone()
    return None if row is None else row["project_id"]


def _letters(rows: Iterable[sqlite3.Row]) -> Iterator[tuple[sqlite3.Row, Letter]]:
    """Each row as a message: the first body in any case, others as long as they fit into the answer."""
    size = 0
    for row in rows:
        read = letter(row)
        length = len(read.body or "")
        if size and size + length > MOST_TEXT:
            yield row, replace(read, body=None, left_out=True)
        else:
            size += length
            yield row, read


def _newest(sent: Iterator[_T], created: Callable[[_T], float], since_ts: Any, limit: Any) -> list[_T]:
    """Of the first messages those that came since.

    Times rise with the messages unless a clock was set back. Then an older one may come first; and what was accepted
    after the very message that somebody has seen last is new, whatever its time.
    """
    since, most = moment(since_ts), bounded(limit)
    found: list[_T] = []
    for each in islice(sent, most):
        if created(each) == since:
            return found
        found.append(each)
    return [each for each in found if created(each) > since]


def bounded(limit: Any) -> int:
    """How many messages one answer may have. Raises InvalidLetterError for what is no number."""
    if not isinstance(limit, int) or isinstance(limit, bool):
        raise InvalidLetterError(f"limit is a whole number, not {str(limit)[:40]!r}.", hint=f"Up to {MOST}.")
    return min(max(1, limit), MOST)


def moment(since: Any) -> float:
    """A time to look back to; the beginning without one. Raises InvalidLetterError."""
    if since is None:
        return 0.0
    if not isinstance(since, int | float) or isinstance(since, bool) or since != since:
        raise InvalidLetterError(
            f"since_ts is a number of seconds since 1970, not {str(since)[:40]!r}.", hint="Such as 1761232934.5."
        )
    return float(since)
