"""Posts on their way into a group: put down by any process, sent by one that sits in the chat."""

import asyncio
import hashlib
import json
import logging
import secrets
import sqlite3
import time
from collections.abc import Callable, Collection
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, cast

from nanobot_transcript.entry import Entry, well_formed
from nanobot_transcript.errors import InvalidPostError, PostConflictError, UnknownPostError
from nanobot_transcript.outbox import answering
from nanobot_transcript.outbox.checking import checked
from nanobot_transcript.outbox.database import Database
from nanobot_transcript.outbox.schema import MIGRATIONS
from nanobot_transcript.outbox.values import Action, Answer, Job, OutboxLimits, PostState, PostStatus, Receipt

__all__ = ["Outbox"]

_UNCERTAIN: Final = 50 * 60.0
_LOOK_EVERY: Final = 0.2
_GIVEN_UP: Final = "No bot could send it in as many attempts as it had."
_NOT_KNOWN: Final = "The bot that sent it ended before it could say whether the message arrived."

logger = logging.getLogger(__name__)


class Outbox:
    """The outbox of a store, ``.state/outbox/outbox.db``. For any process, any thread, and event loops (milliseconds).

    A post is queued until a runner or a plugin that sits in its chat has taken and sent it. The posts of a chat go out
    in the order in which they came in.
    """

    def __init__(
        self,
        base_dir: str | Path,
        limits: OutboxLimits | None = None,
        *,
        busy: float = 5.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """``busy`` bounds (seconds) the wait for another process's transaction; StoreBusyError after that."""
        self.limits: OutboxLimits = limits or OutboxLimits()
        self._database: Database = Database(base_dir, "outbox", MIGRATIONS, busy=busy)
        self._clock: Callable[[], float] = clock

    # -- whoever wants to say something

    def post(
        self,
        session_key: str,
        content: str | None = None,
        *,
        card: dict[str, Any] | None = None,
        idempotency_key: str | None = None,
        agent: str | None = None,
        reply_to: str | None = None,
        wants_answers: bool = True,
        expires_in: float | None = None,
    ) -> str:
        """Queue a text or a card for a chat and return the post's id; it is on the disk when this returns.

        The same ``idempotency_key`` gives the same id and nothing is posted twice. ``agent`` names the only bot that
        may send it. ``reply_to`` is the message it answers. With ``wants_answers`` what people reply in its thread and
        press on its card comes back as ``answers`` and starts no turn of an agent. ``expires_in`` is in seconds.

        Raises InvalidPostError, PostConflictError (the key belongs to another post) and StoreError kinds.
        """
        fields = checked(session_key, content, card, agent, reply_to, wants_answers)
        key = secrets.token_hex(16) if idempotency_key is None else idempotency_key
        if not isinstance(key, str) or not key:
            raise InvalidPostError("An idempotency key is a text of at least one character.", hint="Leave it out.")
        name = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        now = self._clock()
        job = {
            "id": name,
            "digest": hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest(),
            "created": now,
            "expires": now + (self.limits.expires_in if expires_in is None else expires_in),
            **fields,
        }
        self._database.write(lambda db: _insert(db, job))
        return name

    def status(self, post_id: str) -> PostStatus:
        """How a post is doing. Raises UnknownPostError."""
        row = self._database.read(
            lambda db: db.execute("SELECT * FROM jobs WHERE id=?", (well_formed(post_id),)).fetchone(), None
        )
        if row is None:
            raise UnknownPostError(f"There is no post {post_id}.", hint="Posts are removed some days after their end.")
        return _status(row, self._clock())

    def answers(self, post_id: str, after: int = 0) -> list[Answer]:
        """What came back since the answer with the number ``after``, oldest first."""
        return self._database.read(lambda db: answering.found(db, well_formed(post_id), after), [])

    def close_answers(self, post_id: str) -> None:
        """Enough answers: what is replied from now on is for the agents again."""
        sql = "UPDATE jobs SET wants_answers=0 WHERE id=?"
        self._database.write(lambda db: db.execute(sql, (well_formed(post_id),)))

    async def wait_sent(self, post_id: str, timeout: float) -> PostStatus:  # noqa: ASYNC109
        """The status as soon as the post is not queued any more, at the latest after ``timeout`` seconds."""
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout
        while True:  # another process changes it, and tells nobody
            status = await asyncio.to_thread(self.status, post_id)
            if status.state != "queued" or loop.time() >= end:
                return status
            await asyncio.sleep(_LOOK_EVERY)

    async def wait_answer(self, post_id: str, timeout: float, after: int = 0) -> Answer | None:  # noqa: ASYNC109
        """The next answer, None when there is none within ``timeout`` seconds."""
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout
        while True:
            found = await asyncio.to_thread(self.answers, post_id, after)
            if found or loop.time() >= end:
                return found[0] if found else None
            await asyncio.sleep(_LOOK_EVERY)

    # -- whoever sits in the chat

    def waiting(self, agent: str | None = None) -> list[str]:
        """The chats for which this agent could take a post now."""
        sql = (
            "SELECT DISTINCT session_key FROM jobs WHERE state='queued' AND lease_until<=:now AND due<=:now"
            " AND (agent IS NULL OR agent=:agent) ORDER BY session_key"
        )
        bound = {"now": self._clock(), "agent": agent}
        return self._database.read(lambda db: [row["session_key"] for row in db.execute(sql, bound)], [])

    def take(self, holder: str, session_keys: Collection[str], agent: str | None = None) -> Job | None:
        """The next post for one of these chats, for ``lease`` seconds; None when there is none.

        Whoever takes it ends with ``sent`` or ``failed``; else it is given to the next one when the lease runs out.
        """
        chats = {well_formed(key) for key in session_keys}
        bound = {"now": self._clock(), "agent": agent, "holder": well_formed(holder)}
        return self._database.write(lambda db: self._take(db, chats, bound))

    def sent(self, job: Job, receipt: Receipt | str) -> None:
        """The platform confirmed it. That is a fact, also when the lease has run out meanwhile."""
        arrived = Receipt(receipt) if isinstance(receipt, str) else receipt
        self._database.write(lambda db: self._sent(db, job, arrived))

    def failed(self, job: Job, error: str, retry_after: float | None = None, *, doubtful: bool = False) -> None:
        """It was not sent. It is tried again after ``retry_after`` seconds, and never again when that is None.

        ``doubtful``: it may have arrived. Ignored when another process holds the job by now.
        """
        final = retry_after is None or job.attempt >= self.limits.max_attempts
        now = self._clock()
        bound = {"id": job.id, "holder": job.holder, "attempt": job.attempt, "error": well_formed(error), "now": now}
        bound |= {"state": "failed" if final else "queued", "due": now + (retry_after or 0), "doubtful": doubtful}
        sql = (
            "UPDATE jobs SET state=:state, error=:error, due=:due, lease_until=0, holder=NULL,"
            " finished=CASE :state WHEN 'failed' THEN :now END,"
            " uncertain_since=CASE WHEN :doubtful THEN uncertain_since END"
            " WHERE id=:id AND state='queued' AND holder=:holder AND attempts=:attempt"
        )
        self._database.write(lambda db: db.execute(sql, bound))

    def offer_reply(self, entry: Entry) -> bool:
        """True when a person's message answers a post that wants answers: it is kept, and no agent need be asked.

        It does when it replies to the post or stands in its thread. All bots of a chat may offer it; it counts once.
        """
        job_id = self._database.read(lambda db: answering.post_of_reply(db, entry), None)
        if job_id is None:
            return False
        self._database.write(lambda db: answering.keep_reply(db, job_id, entry))
        return True

    def offer_action(self, action: Action) -> bool:
        """True when a button of a post that wants answers was pressed: it is kept, once."""
        job_id = self._database.read(lambda db: answering.post_at(db, [action.message_id]), None)
        if job_id is None:
            return False
        now = int(self._clock() * 1000)
        self._database.write(lambda db: answering.keep_action(db, job_id, action, now))
        return True

    def clean(self) -> int:
        """Give up what is overdue and remove what ended long ago; returns how many posts were removed."""
        now = self._clock()

        def work(db: sqlite3.Connection) -> int:
            _give_up(db, now, self.limits.max_attempts)
            sql = "DELETE FROM jobs WHERE state<>'queued' AND finished<?"
            return db.execute(sql, (now - self.limits.keep,)).rowcount

        return self._database.write(work) if self._database.path.exists() else 0

    def close(self) -> None:
        """Release the file; it is opened again when it is needed."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

    def _take(self, db: sqlite3.Connection, chats: Collection[str], bound: dict[str, Any]) -> Job | None:
        _give_up(db, bound["now"], self.limits.max_attempts)
        rows = db.execute(
            "SELECT * FROM jobs AS j WHERE state='queued' AND lease_until<=:now AND due<=:now"
            " AND (agent IS NULL OR agent=:agent)"
            " AND NOT EXISTS (SELECT 1 FROM jobs AS earlier WHERE earlier.session_key=j.session_key"
            " AND earlier.state='queued' AND earlier.agent IS j.agent AND earlier.seq<j.seq)"
            " ORDER BY seq",
            bound,
        )
        row = next((row for row in rows if row["session_key"] in chats), None)
        if row is None:
            return None
        taken = {"seq": row["seq"], "until": bound["now"] + self.limits.lease, **bound}
        db.execute(
            "UPDATE jobs SET attempts=attempts+1, holder=:holder, lease_until=:until,"
            " uncertain_since=coalesce(uncertain_since, :now) WHERE seq=:seq",
            taken,
        )
        return _job(row, bound["holder"])

    def _sent(self, db: sqlite3.Connection, job: Job, receipt: Receipt) -> None:
        known = db.execute("SELECT state, message_id FROM jobs WHERE id=?", (job.id,)).fetchone()
        if known is None:
            return
        if known["state"] == "sent" and known["message_id"] != receipt.message_id:
            logger.warning("Post %s stands twice: as %s and %s", job.id, known["message_id"], receipt.message_id)
        db.execute(
            "UPDATE jobs SET state='sent', message_id=?, error=NULL, finished=?, lease_until=0, holder=NULL"
            " WHERE id=? AND state<>'sent'",
            (well_formed(receipt.message_id), self._clock(), job.id),
        )
        # A thread that was there before is not the post's: what is said in it is no answer.
        thread = receipt.thread_id if job.reply_to is None else None
        answering.remember_places(db, job.id, [receipt.message_id, *receipt.message_ids, thread])


def _insert(db: sqlite3.Connection, job: dict[str, Any]) -> None:
    known = db.execute("SELECT digest FROM jobs WHERE id=?", (job["id"],)).fetchone()
    if known is not None and known["digest"] != job["digest"]:
        raise PostConflictError(
            "This idempotency key belongs to another post.", hint="Use a new key for new content, or the same content."
        )
    if known is None:
        columns = ", ".join(job)
        db.execute(f"INSERT INTO jobs ({columns}) VALUES ({', '.join(f':{name}' for name in job)})", job)


def _give_up(db: sqlite3.Connection, now: float, max_attempts: int) -> None:
    """End what is overdue. What a killed sender may have sent is not sent again once the platform has forgotten it."""
    ended = "UPDATE jobs SET state=?, error=coalesce(?, error), finished=? WHERE state='queued' AND lease_until<=? AND "
    db.execute(ended + "uncertain_since<?", ("failed", _NOT_KNOWN, now, now, now - _UNCERTAIN))
    db.execute(ended + "attempts>=?", ("failed", _GIVEN_UP, now, now, max_attempts))
    db.execute(ended + "expires<=?", ("expired", None, now, now, now))


def _job(row: sqlite3.Row, holder: str) -> Job:
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
    )


def _status(row: sqlite3.Row, now: float) -> PostStatus:
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
