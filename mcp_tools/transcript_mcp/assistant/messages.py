"""What people wrote to agents unasked, in SQL: it waits, is lent on its way to its agent, and is picked up.

A message that is lent still waits, and ``taken_by`` names to whom: that keeps everybody else from it.
"""

from collections.abc import Sequence
from typing import Final

from nanobot_transcript.sql.contract import Row, Sql
from transcript_mcp.assistant.values import Question

__all__ = ["anything_at_all", "anything_for", "anything_lent", "free", "lend", "settle"]

_WAITING: Final = "state = 'waiting' AND kind = 'message'"
_FREE: Final = f"scope = ? AND project = ? AND agent = ? AND taken_by = '' AND {_WAITING}"
_LENT: Final = f"taken_by <> '' AND {_WAITING}"
_TAKEN: Final = "SELECT * FROM records WHERE scope = ? AND taken_by = ? AND kind = 'message' ORDER BY seq"


def anything_at_all(connection: Sql) -> bool:
    """Whether a message waits for any agent."""
    return connection.execute(f"SELECT 1 FROM records WHERE {_WAITING} LIMIT 1").fetchone() is not None


def anything_for(connection: Sql, taker: Question) -> bool:
    """Whether a message waits for this question's agent, or was handed to this question before."""
    taken = "SELECT 1 FROM records WHERE scope = ? AND taken_by = ? AND taken_by <> ''"
    return (
        connection.execute(f"SELECT 1 FROM records WHERE {_FREE}", _agent(taker)).fetchone() is not None
        or connection.execute(taken, (taker.scope, taker.id)).fetchone() is not None
    )


def anything_lent(connection: Sql) -> bool:
    """Whether a message is lent to anybody."""
    return connection.execute(f"SELECT 1 FROM records WHERE {_LENT}").fetchone() is not None


def lend(connection: Sql, taker: Question) -> Sequence[Row]:
    """See ``QuestionStore``."""
    connection.execute(f"UPDATE records SET taken_by = ? WHERE {_FREE}", (taker.id, *_agent(taker)))
    return connection.execute(_TAKEN, (taker.scope, taker.id)).fetchall()


def settle(connection: Sql, taker: Question, now: float, *, got: bool) -> Sequence[Row]:
    """See ``QuestionStore``."""
    change, values = ("state = 'picked_up', ended_ts = ?", (now,)) if got else ("taken_by = ''", ())
    settled = connection.execute(
        f"UPDATE records SET {change} WHERE scope = ? AND taken_by = ? AND {_WAITING} RETURNING *",
        (*values, taker.scope, taker.id),
    )
    return sorted(settled, key=lambda row: row["seq"])


def free(connection: Sql) -> int:
    """See ``QuestionStore``."""
    return connection.execute(f"UPDATE records SET taken_by = '' WHERE {_LENT}").rowcount


def _agent(taker: Question) -> tuple[str, str, str]:
    return taker.scope, taker.project, taker.agent
