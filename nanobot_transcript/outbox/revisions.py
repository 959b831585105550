"""Cards that replace a post's card, as statements in a transaction. The newest one counts."""

import json
from typing import Any, Final

from nanobot_transcript.errors import InvalidPostError, UnknownPostError
from nanobot_transcript.outbox.values import OutboxLimits, Revision
from nanobot_transcript.sql.contract import Sql

__all__ = ["is_waiting", "mark_failed", "mark_shown", "put", "take"]

_WAITING: Final = (
    "FROM revisions AS r JOIN jobs AS j ON j.id=r.job_id"
    " WHERE j.state='sent' AND j.sent_by=? AND r.lease_until<=? AND r.due<=?"
)


def put(db: Sql, post_id: str, card: str) -> None:
    """Save the card for the bot that sent the post. Raises UnknownPostError; InvalidPostError for a post that is a
    text.
    """
    post = db.execute("SELECT card FROM jobs WHERE id=?", (post_id,)).fetchone()
    if post is None:
        raise UnknownPostError(
            f"There is no post {post_id}.", hint="Posts are removed some days after they are finished."
        )
    if post["card"] is None:
        raise InvalidPostError("Only a card can be replaced by another card.", hint="Post a card in the first place.")
    db.execute(
        "INSERT INTO revisions (job_id, card) VALUES (?, ?) ON CONFLICT (job_id) DO UPDATE SET"
        " card=excluded.card, number=revisions.number+1, attempts=0, due=0",
        (post_id, card),
    )


def is_waiting(db: Sql, agent: str, now: float) -> bool:
    """True when this agent has a card to show now. A plain read, which blocks no writer."""
    return db.execute(f"SELECT 1 {_WAITING} LIMIT 1", (agent, now, now)).fetchone() is not None


def take(db: Sql, agent: str, holder: str, now: float, limits: OutboxLimits) -> Revision | None:
    """The next card that this agent has to show, for ``limits.lease`` seconds."""
    columns = "r.*, j.session_key, j.message_id"
    row = db.execute(f"SELECT {columns} {_WAITING} ORDER BY r.due, r.job_id LIMIT 1", (agent, now, now)).fetchone()
    if row is None:
        return None
    db.execute(
        "UPDATE revisions SET attempts=attempts+1, holder=?, lease_until=? WHERE job_id=?",
        (holder, now + limits.lease, row["job_id"]),
    )
    place = row["session_key"], row["message_id"]
    return Revision(row["job_id"], *place, json.loads(row["card"]), row["number"], row["attempts"] + 1, holder)


def mark_shown(db: Sql, revision: Revision) -> None:
    """It is shown. A newer card that came meanwhile stays queued."""
    bound = {"id": revision.post_id, "number": revision.number, "holder": revision.holder}
    db.execute("DELETE FROM revisions WHERE job_id=:id AND number=:number", bound)
    db.execute("UPDATE revisions SET holder=NULL, lease_until=0 WHERE job_id=:id AND holder=:holder", bound)


def mark_failed(db: Sql, revision: Revision, due: float | None) -> None:
    """Try again at ``due``, or drop it; unless another process or a newer card has taken its place."""
    bound: dict[str, Any] = {"id": revision.post_id, "number": revision.number, "holder": revision.holder, "due": due}
    if due is None:
        db.execute("DELETE FROM revisions WHERE job_id=:id AND number=:number AND holder=:holder", bound)
    else:
        db.execute("UPDATE revisions SET due=:due WHERE job_id=:id AND number=:number AND holder=:holder", bound)
    db.execute("UPDATE revisions SET holder=NULL, lease_until=0 WHERE job_id=:id AND holder=:holder", bound)
