"""Finding the post that a reply or a pressed button answers, and keeping the answer."""

import hashlib
import json
import sqlite3
from collections.abc import Iterable
from typing import Any, Final

from nanobot_transcript.entry import Entry, well_formed
from nanobot_transcript.outbox.values import Action, Answer
from nanobot_transcript.turns.speakers import is_person

__all__ = ["found", "keep_action", "keep_reply", "news", "post_at", "post_of_reply", "remember_places"]

_LONGEST: Final = 100_000
_NO_TIME: Final = 2.0**53


def remember_places(db: sqlite3.Connection, job_id: str, places: Iterable[str | None]) -> None:
    """What stands at these message ids, or in these threads, answers the post."""
    rows = [(well_formed(place), job_id) for place in places if isinstance(place, str) and place]
    db.executemany("INSERT OR IGNORE INTO places (place, job_id) VALUES (?, ?)", rows)


def post_at(db: sqlite3.Connection, places: Iterable[object]) -> str | None:
    """The post that wants answers and has one of these places."""
    sql = "SELECT id FROM jobs JOIN places ON job_id=id WHERE place=? AND wants_answers"
    for place in places:
        if isinstance(place, str) and place and (row := db.execute(sql, (well_formed(place),)).fetchone()):
            return row["id"]
    return None


def post_of_reply(db: sqlite3.Connection, entry: Entry) -> str | None:
    """The post that a person's message answers; bots answer nothing."""
    if not is_person(entry) or not entry.get("message_id"):
        return None
    return post_at(db, (entry.get("reply_to"), entry.get("root_id"), entry.get("thread_id")))


def keep_reply(db: sqlite3.Connection, job_id: str, entry: Entry) -> bool:
    """Keep a reply once; False when the post is gone. A thread that grew out of the post is remembered as its own."""
    if not _is_there(db, job_id):
        return False
    sql = "SELECT 1 FROM places WHERE job_id=? AND place=?"
    root, thread = entry.get("root_id"), entry.get("thread_id")
    if thread and root and db.execute(sql, (job_id, well_formed(root))).fetchone():
        remember_places(db, job_id, [thread])
    message_id = str(entry["message_id"])
    answer = {
        "job_id": job_id,
        "mark": f"message {message_id}",
        "kind": "reply",
        "message_id": message_id,
        "sender": entry["sender"],
        "sender_name": entry.get("sender_name") or "",
        "ts": _milliseconds(entry["ts"]),
        "body": json.dumps({"text": entry["content"][:_LONGEST]}),
    }
    _keep(db, answer)
    return True


def keep_action(db: sqlite3.Connection, job_id: str, action: Action, now_ms: int) -> bool:
    """Keep a pressed button once; False when the post is gone."""
    if not _is_there(db, job_id):
        return False
    body = _json({"value": dict(action.value), "form": dict(action.form)})
    told = action.action_id or f"{action.operator} {body}"
    digest = hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()
    answer = {
        "job_id": job_id,
        "mark": f"action {action.message_id} {digest}",
        "kind": "action",
        "message_id": action.message_id,
        "sender": action.operator,
        "sender_name": action.operator_name,
        "ts": now_ms,
        "body": body,
    }
    _keep(db, answer)
    return True


def found(db: sqlite3.Connection, job_id: str, after: int) -> list[Answer]:
    """The answers to a post behind a number, oldest first."""
    sql = "SELECT * FROM answers WHERE job_id=? AND seq>? ORDER BY seq"
    return [_answer(row) for row in db.execute(sql, (job_id, after))]


def news(db: sqlite3.Connection, after: int, limit: int) -> list[tuple[str, Answer]]:
    """The answers to all posts behind a number, each with its post's id, oldest first."""
    rows = db.execute("SELECT * FROM answers WHERE seq>? ORDER BY seq LIMIT ?", (after, limit))
    return [(row["job_id"], _answer(row)) for row in rows]


def _is_there(db: sqlite3.Connection, job_id: str) -> bool:
    # Its chat may have been erased since the post was found.
    return db.execute("SELECT 1 FROM jobs WHERE id=?", (job_id,)).fetchone() is not None


def _milliseconds(ts: float) -> int:
    """The time as SQLite holds it; 0 for what is none."""
    return int(ts) if abs(ts) < _NO_TIME else 0


def _keep(db: sqlite3.Connection, answer: dict[str, Any]) -> None:
    clean = {name: well_formed(value) if isinstance(value, str) else value for name, value in answer.items()}
    db.execute(
        "INSERT OR IGNORE INTO answers (job_id, mark, kind, message_id, sender, sender_name, ts, body)"
        " VALUES (:job_id, :mark, :kind, :message_id, :sender, :sender_name, :ts, :body)",
        clean,
    )


def _answer(row: sqlite3.Row) -> Answer:
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


def _json(value: dict[str, Any]) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return text if len(text) <= _LONGEST else json.dumps({"value": {}, "form": {}, "too_long": len(text)})
