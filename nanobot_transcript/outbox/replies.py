"""Finding the post that a reply or a pressed button answers, and saving the answer."""

import json
from collections.abc import Iterable

from nanobot_transcript.entry import storable
from nanobot_transcript.outbox import early_replies
from nanobot_transcript.outbox.offers import Offer
from nanobot_transcript.outbox.values import Answer
from nanobot_transcript.sql.contract import Row, Sql

__all__ = ["forget", "found", "is_wanted", "keep", "news", "remember_places"]


def remember_places(db: Sql, job_id: str, places: Iterable[str | None]) -> None:
    """Messages at these ids, or in these threads, answer the post; also those that came before this call."""
    rows = [(storable(place), job_id) for place in places if isinstance(place, str) and place]
    sql = "INSERT OR IGNORE INTO places (place, session_key, job_id) SELECT ?, session_key, id FROM jobs WHERE id=?"
    if db.executemany(sql, rows).rowcount > 0:
        early_replies.adopt(db, job_id)


def is_wanted(db: Sql, offer: Offer) -> bool:
    """True when it answers a post, or may answer one that is being sent."""
    # In this order: a post whose place is saved between the two queries is found by the second.
    return early_replies.is_under_way(db, offer.session_key) or _post_at(db, offer) is not None


def keep(db: Sql, offer: Offer) -> bool:
    """Save an answer, once; False when it answers no post so far. A thread that grew out of the post is saved as its
    place.
    """
    job_id = _post_at(db, offer)
    if job_id is not None:
        if offer.thread_id and offer.root_id and _is_place_of(db, job_id, offer.root_id):
            remember_places(db, job_id, [offer.thread_id])
        db.execute(
            "INSERT OR IGNORE INTO answers (job_id, mark, kind, message_id, sender, sender_name, ts, body)"
            " VALUES (:job_id, :mark, :kind, :message_id, :sender, :sender_name, :ts, :body)",
            {"job_id": job_id, **offer.answer},
        )
    # A direct reply may be for the post being sent even when it is in the thread of another one.
    if early_replies.is_under_way(db, offer.session_key) and _post_at(db, offer, offer.places[:1]) is None:
        early_replies.keep(db, offer)
    return job_id is not None


def found(db: Sql, job_id: str, after: int) -> list[Answer]:
    """The answers to a post behind a number, oldest first."""
    sql = "SELECT * FROM answers WHERE job_id=? AND seq>? ORDER BY seq"
    return [_answer(row) for row in db.execute(sql, (job_id, after))]


def news(db: Sql, after: int, limit: int) -> list[tuple[str, Answer]]:
    """The answers to all posts behind a number, each with its post's id, oldest first."""
    rows = db.execute("SELECT * FROM answers WHERE seq>? ORDER BY seq LIMIT ?", (after, limit))
    return [(row["job_id"], _answer(row)) for row in rows]


def forget(db: Sql, session_key: str | None, sender: str) -> int:
    """Remove a person's answers, in this chat or in all; returns how many."""
    within = "(SELECT id FROM jobs WHERE :key IS NULL OR session_key=:key)"
    sql = f"DELETE FROM answers WHERE sender=:sender AND job_id IN {within}"
    return db.execute(sql, {"key": session_key, "sender": sender}).rowcount


def _post_at(db: Sql, offer: Offer, places: Iterable[str] | None = None) -> str | None:
    """The post that wants answers and has one of these places in the chat of the offer; by default all its places."""
    sql = (
        "SELECT id FROM jobs JOIN places ON job_id=id WHERE place=:place AND wants_answers"
        " AND (:key IS NULL OR places.session_key=:key)"
    )
    among = offer.places if places is None else places
    rows = (db.execute(sql, {"place": place, "key": offer.session_key}).fetchone() for place in among)
    return next((row["id"] for row in rows if row is not None), None)


def _is_place_of(db: Sql, job_id: str, place: str) -> bool:
    return db.execute("SELECT 1 FROM places WHERE job_id=? AND place=?", (job_id, place)).fetchone() is not None


def _answer(row: Row) -> Answer:
    body = json.loads(row["body"])
    return Answer(
        seq=row["seq"],
        kind=row["kind"],
        message_id=row["message_id"],
        sender=row["sender"],
        sender_name=row["sender_name"],
        ts=row["ts"],
        text=body.get("text", ""),
        value=body.get("value", {}),
        form=body.get("form", {}),
    )
