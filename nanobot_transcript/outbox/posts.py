"""The life of a post in the queue, as statements in a transaction."""

import json
import logging
from collections.abc import Collection
from typing import Any, Final, cast

from nanobot_transcript.entry import storable
from nanobot_transcript.errors import PostConflictError
from nanobot_transcript.outbox import early_replies, replies
from nanobot_transcript.outbox.values import Job, OutboxLimits, PostState, PostStatus, Receipt
from nanobot_transcript.sql.contract import Row, Sql

__all__ = [
    "close_answers",
    "forget",
    "give_up",
    "insert",
    "mark_failed",
    "mark_sent",
    "remove_ended",
    "status",
    "take",
    "waiting",
]

_UNCERTAIN: Final = 50 * 60.0
_GIVEN_UP: Final = "No bot could send it within the allowed number of attempts."
_NOT_KNOWN: Final = "The bot that sent it stopped before it could say whether the message arrived."

logger = logging.getLogger(__name__)


def insert(db: Sql, job: dict[str, Any]) -> None:
    """Queue a post that is not there yet. Raises PostConflictError when another one has its id."""
    known = db.execute("SELECT digest FROM jobs WHERE id=?", (job["id"],)).fetchone()
    if known is not None and known["digest"] != job["digest"]:
        raise PostConflictError(
            "This idempotency key belongs to another post.", hint="Use a new key for new content, or the same content."
        )
    if known is None:
        columns = ", ".join(job)
        db.execute(f"INSERT INTO jobs ({columns}) VALUES ({', '.join(f':{name}' for name in job)})", job)


_NEXT: Final = (
    "FROM jobs AS j WHERE state='queued' AND lease_until<=:now AND due<=:now"
    " AND (agent IS NULL OR agent=:agent)"
    " AND NOT EXISTS (SELECT 1 FROM jobs AS earlier WHERE earlier.session_key=j.session_key"
    " AND earlier.state='queued' AND earlier.agent IS j.agent AND earlier.seq<j.seq)"
)
"""For each chat the oldest post that any bot may send, and the oldest for this agent."""


def waiting(db: Sql, agent: str | None, now: float) -> list[str]:
    """The chats that have something for this agent, even if only a post that has to be dropped."""
    sql = f"SELECT DISTINCT session_key {_NEXT} ORDER BY session_key"
    return [row["session_key"] for row in db.execute(sql, {"now": now, "agent": agent})]


def take(db: Sql, chats: Collection[str], bound: dict[str, Any], limits: OutboxLimits) -> Job | None:
    """The next post for one of these chats that ``holder`` may have; within a chat always the oldest."""
    give_up(db, bound["now"], limits.max_attempts)
    rows = db.execute(f"SELECT * {_NEXT} ORDER BY seq", bound)
    row = next((row for row in rows if row["session_key"] in chats), None)
    if row is None:
        return None
    taken = {"seq": row["seq"], "until": bound["now"] + limits.lease, **bound}
    db.execute(
        "UPDATE jobs SET attempts=attempts+1, holder=:holder, lease_until=:until,"
        " uncertain_since=coalesce(uncertain_since, :now) WHERE seq=:seq",
        taken,
    )
    return _job(row, bound["holder"])


def mark_sent(db: Sql, job: Job, receipt: Receipt, agent: str | None, now: float) -> None:
    """The post is in the chat; answers to it are recognised by its place."""
    known = db.execute("SELECT state, message_id FROM jobs WHERE id=?", (job.id,)).fetchone()
    if known is None:
        return
    if known["state"] == "sent" and known["message_id"] != receipt.message_id:
        logger.warning("Post %s was sent twice: as %s and %s", job.id, known["message_id"], receipt.message_id)
    db.execute(
        "UPDATE jobs SET state='sent', message_id=?, sent_by=?, error=NULL, finished=?, lease_until=0, holder=NULL"
        " WHERE id=? AND state<>'sent'",
        (storable(receipt.message_id), agent, now, job.id),
    )
    # A thread that existed before does not belong to the post: messages in it are no answers.
    thread = receipt.thread_id if job.reply_to is None else None
    replies.remember_places(db, job.id, [receipt.message_id, *receipt.message_ids, thread])
    early_replies.clear(db)


def mark_failed(db: Sql, bound: dict[str, Any]) -> None:
    """Queue it again or drop it, unless another process holds it by now."""
    sql = (
        "UPDATE jobs SET state=:state, error=:error, due=:due, lease_until=0, holder=NULL,"
        " finished=CASE :state WHEN 'failed' THEN :now END,"
        " uncertain_since=CASE WHEN :doubtful THEN uncertain_since END"
        " WHERE id=:id AND state='queued' AND holder=:holder AND attempts=:attempt"
    )
    db.execute(sql, bound)
    early_replies.clear(db)


def give_up(db: Sql, now: float, max_attempts: int) -> None:
    """Drop what is overdue. A post that a killed sender may have sent is not sent again once the platform no longer
    recognises its uuid.
    """
    ended = "UPDATE jobs SET state=?, error=coalesce(?, error), finished=? WHERE state='queued' AND lease_until<=? AND "
    db.execute(ended + "uncertain_since<?", ("failed", _NOT_KNOWN, now, now, now - _UNCERTAIN))
    db.execute(ended + "attempts>=?", ("failed", _GIVEN_UP, now, now, max_attempts))
    db.execute(ended + "expires<=?", ("expired", None, now, now, now))
    early_replies.clear(db)


def remove_ended(db: Sql, now: float, keep: float) -> int:
    """Remove what ended more than ``keep`` seconds ago, unless people may still answer it; returns how many."""
    answerable = "state='sent' AND wants_answers AND expires>?"
    sql = f"DELETE FROM jobs WHERE state<>'queued' AND finished<? AND NOT ({answerable})"
    return db.execute(sql, (now - keep, now)).rowcount


def close_answers(db: Sql, job_id: str) -> None:
    """The post wants no more answers."""
    db.execute("UPDATE jobs SET wants_answers=0 WHERE id=?", (job_id,))
    early_replies.clear(db)


def forget(db: Sql, session_key: str | None) -> int:
    """Remove the posts of a chat with their answers; returns how many."""
    return db.execute("DELETE FROM jobs WHERE session_key=?", (session_key,)).rowcount


def status(row: Row, now: float) -> PostStatus:
    """The status of the post in this row."""
    overdue = row["state"] == "queued" and row["expires"] <= now and row["lease_until"] <= now
    return PostStatus(
        id=row["id"],
        session_key=row["session_key"],
        state="expired" if overdue else cast("PostState", row["state"]),
        message_id=row["message_id"],
        error=row["error"],
        attempts=row["attempts"],
        created_ms=int(row["created"] * 1000),
        expires_ms=int(row["expires"] * 1000),
    )


def _job(row: Row, holder: str) -> Job:
    card = json.loads(row["card"]) if row["card"] is not None else None
    return Job(
        id=row["id"],
        session_key=row["session_key"],
        content=row["content"],
        card=card,
        agent=row["agent"],
        reply_to=row["reply_to"],
        uuid=row["id"],
        attempt=row["attempts"] + 1,
        holder=holder,
        in_doubt=row["uncertain_since"] is not None,
    )
