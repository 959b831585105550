"""Answers that come before the place of their post is known, as statements in a transaction.

A post is in its chat from the moment the platform has it. Its message id is saved a moment later, or, when the sender
was killed in between, by the next sender, to whom the platform returns the same message. Answers that come meanwhile
wait here.
"""

import logging
from typing import Final

from nanobot_transcript.outbox.offers import Offer
from nanobot_transcript.sql.contract import Sql

__all__ = ["adopt", "clear", "forget", "is_under_way", "keep"]

_MOST: Final = 200
"""Per chat, so that flooding one chat loses no answers in another one."""

# Exactly the condition of the index jobs_under_way, so that the query uses it however many posts are queued.
_UNDER_WAY: Final = "state='queued' AND uncertain_since IS NOT NULL AND wants_answers"
_COLUMNS: Final = "mark, kind, message_id, sender, sender_name, ts, body"
_PLACES: Final = "(SELECT place FROM places WHERE job_id=:job)"
_CHAT: Final = "(SELECT session_key FROM jobs WHERE id=:job)"
_SAME_CHAT: Final = f"(session_key IS NULL OR session_key={_CHAT})"
_STANDS_THERE: Final = f"({_SAME_CHAT} AND (reply_to IN {_PLACES} OR root_id IN {_PLACES} OR thread_id IN {_PLACES}))"

logger = logging.getLogger(__name__)


def is_under_way(db: Sql, session_key: str | None) -> bool:
    """True when a post that wants answers may be in this chat (None: in any) without its place being known."""
    sql = f"SELECT 1 FROM jobs WHERE {_UNDER_WAY} AND (:key IS NULL OR session_key=:key) LIMIT 1"
    return db.execute(sql, {"key": session_key}).fetchone() is not None


def keep(db: Sql, offer: Offer) -> None:
    """Keep an offer once, until it is known what it answers."""
    waiting = db.execute("SELECT count(*) FROM early WHERE session_key IS ?", (offer.session_key,)).fetchone()[0]
    if waiting >= _MOST:
        logger.warning(
            "Too many answers wait for a post whose sending is not confirmed; skipped %s", offer.answer["message_id"]
        )
        return
    db.execute(
        f"INSERT OR IGNORE INTO early (session_key, reply_to, root_id, thread_id, {_COLUMNS}) VALUES (:session_key,"
        " :reply_to, :root_id, :thread_id, :mark, :kind, :message_id, :sender, :sender_name, :ts, :body)",
        {
            "session_key": offer.session_key,
            "reply_to": offer.reply_to,
            "root_id": offer.root_id,
            "thread_id": offer.thread_id,
            **offer.answer,
        },
    )


def adopt(db: Sql, job_id: str) -> None:
    """Give a post that wants answers those at its places, in the order in which they came."""
    job = {"job": job_id}
    db.execute(
        f"INSERT OR IGNORE INTO places (place, session_key, job_id) SELECT thread_id, {_CHAT}, :job FROM early"
        f" WHERE thread_id IS NOT NULL AND {_SAME_CHAT} AND root_id IN {_PLACES}",
        job,
    )
    db.execute(
        f"INSERT OR IGNORE INTO answers (job_id, {_COLUMNS}) SELECT :job, {_COLUMNS} FROM early"
        f" WHERE {_STANDS_THERE} AND EXISTS (SELECT 1 FROM jobs WHERE id=:job AND wants_answers) ORDER BY seq",
        job,
    )
    db.execute(f"DELETE FROM early WHERE {_STANDS_THERE}", job)


def clear(db: Sql) -> None:
    """Remove what can no longer be the answer to anything."""
    mine = "(early.session_key IS NULL OR early.session_key=jobs.session_key)"
    db.execute(f"DELETE FROM early WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE {_UNDER_WAY} AND {mine})")


def forget(db: Sql, session_key: str | None, sender: str | None) -> int:
    """Remove what was said in a chat, or by a person, or by this person in this chat; returns how much. An answer of an
    unknown chat counts as said in this one.
    """
    return db.execute(
        "DELETE FROM early WHERE (:sender IS NULL OR sender=:sender)"
        " AND (:key IS NULL OR session_key IS NULL OR session_key=:key)",
        {"key": session_key, "sender": sender},
    ).rowcount
