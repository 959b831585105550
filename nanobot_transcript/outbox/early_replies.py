"""Answers that come before anybody has noted where their post stands, as statements in a transaction.

A post stands in its chat from the moment the platform has it; where, is noted a moment later, or, when the sender was
killed in between, by the next one, which is told the same message. What comes meanwhile waits here.
"""

import logging
from typing import Final

from nanobot_transcript.outbox.offers import Offer
from nanobot_transcript.sql.contract import Sql

__all__ = ["adopt", "clear", "forget", "is_under_way", "keep"]

_MOST: Final = 200
"""Of one chat. Who floods a chat keeps nobody from being heard in another one."""

# The words of the index jobs_under_way, so that the look costs the same however many posts are queued.
_UNDER_WAY: Final = "state='queued' AND uncertain_since IS NOT NULL AND wants_answers"
_COLUMNS: Final = "mark, kind, message_id, sender, sender_name, ts, body"
_PLACES: Final = "(SELECT place FROM places WHERE job_id=:job)"
_CHAT: Final = "(SELECT session_key FROM jobs WHERE id=:job)"
_SAME_CHAT: Final = f"(session_key IS NULL OR session_key={_CHAT})"
_STANDS_THERE: Final = f"({_SAME_CHAT} AND (reply_to IN {_PLACES} OR root_id IN {_PLACES} OR thread_id IN {_PLACES}))"

logger = logging.getLogger(__name__)


def is_under_way(db: Sql, session_key: str | None) -> bool:
    """Whether a post that wants answers may stand in this chat (None: in any) and nobody has noted where."""
    sql = f"SELECT 1 FROM jobs WHERE {_UNDER_WAY} AND (:key IS NULL OR session_key=:key) LIMIT 1"
    return db.execute(sql, {"key": session_key}).fetchone() is not None


def keep(db: Sql, offer: Offer) -> None:
    """Keep it once, until it is known what it answers."""
    waiting = db.execute("SELECT count(*) FROM early WHERE session_key IS ?", (offer.session_key,)).fetchone()[0]
    if waiting >= _MOST:
        logger.warning("Too many answers are waiting for a post to be sent; %s is skipped", offer.answer["message_id"])
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
    """Give a post that wants answers those that stand in its places, in the order in which they came."""
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
    """Drop what can be the answer to nothing any more."""
    mine = "(early.session_key IS NULL OR early.session_key=jobs.session_key)"
    db.execute(f"DELETE FROM early WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE {_UNDER_WAY} AND {mine})")


def forget(db: Sql, session_key: str | None, sender: str | None) -> int:
    """Drop what was said in a chat or by a person, or by this person there; how much. Of what nobody knows the chat,
    it may be this one.
    """
    return db.execute(
        "DELETE FROM early WHERE (:sender IS NULL OR sender=:sender)"
        " AND (:key IS NULL OR session_key IS NULL OR session_key=:key)",
        {"key": session_key, "sender": sender},
    ).rowcount
