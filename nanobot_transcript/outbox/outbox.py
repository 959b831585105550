"""Posts on their way into a group: put down by any process, sent by one that sits in the chat."""

import asyncio
import hashlib
import json
import secrets
import time
from collections.abc import Callable, Collection
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from nanobot_transcript.entry import Entry, well_formed
from nanobot_transcript.errors import InvalidPostError, UnknownPostError
from nanobot_transcript.files.layout import Layout
from nanobot_transcript.outbox import answering, early, offers, queueing, revising
from nanobot_transcript.outbox.checking import card_text, checked, lifetime
from nanobot_transcript.outbox.schema import MIGRATIONS
from nanobot_transcript.outbox.values import Action, Answer, Job, OutboxLimits, PostStatus, Receipt, Revision
from nanobot_transcript.sql.contract import Schema, Sql
from nanobot_transcript.sql.sqlite import Database

__all__ = ["Outbox"]

_LOOK_EVERY: Final = 0.2


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
        layout = Layout(Path(base_dir).expanduser())
        path, lock = layout.state / "outbox" / "outbox.db", layout.locks / "outbox.lock"
        self._database: Database = Database(path, lock, Schema(MIGRATIONS), busy=busy, make_folders=layout.create)
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
        name = self.id_for(secrets.token_hex(16) if idempotency_key is None else idempotency_key)
        now = self._clock()
        job = {
            "id": name,
            "digest": hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest(),
            "created": now,
            "expires": now + lifetime(self.limits.expires_in if expires_in is None else expires_in),
            **fields,
        }
        self._database.write(lambda db: queueing.insert(db, job))
        return name

    @staticmethod
    def id_for(idempotency_key: str) -> str:
        """The id of the post with this key, whether it is there or not. Raises InvalidPostError."""
        if not isinstance(idempotency_key, str) or not idempotency_key:
            raise InvalidPostError("An idempotency key is a text of at least one character.", hint="Leave it out.")
        return hashlib.sha256(idempotency_key.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def status(self, post_id: str) -> PostStatus:
        """How a post is doing. Raises UnknownPostError."""
        row = self._database.read(
            lambda db: db.execute("SELECT * FROM jobs WHERE id=?", (well_formed(post_id),)).fetchone(), None
        )
        if row is None:
            raise UnknownPostError(f"There is no post {post_id}.", hint="Posts are removed some days after their end.")
        return queueing.status(row, self._clock())

    def answers(self, post_id: str, after: int = 0) -> list[Answer]:
        """What came back since the answer with the number ``after``, oldest first."""
        return self._database.read(lambda db: answering.found(db, well_formed(post_id), after), [])

    def news(self, after: int = 0, limit: int = 500) -> list[tuple[str, Answer]]:
        """Answers to all posts behind the number ``after``, each with its post's id, oldest first."""
        return self._database.read(lambda db: answering.news(db, after, limit), [])

    def open_posts(self) -> list[PostStatus]:
        """The posts that want answers, the oldest first."""
        now = self._clock()
        rows = "SELECT * FROM jobs WHERE wants_answers ORDER BY seq"
        return self._database.read(lambda db: [queueing.status(row, now) for row in db.execute(rows)], [])

    def close_answers(self, post_id: str) -> None:
        """Enough answers: what is replied from now on is for the agents again."""
        self._database.write(lambda db: queueing.close_answers(db, well_formed(post_id)))

    def revise(self, post_id: str, card: dict[str, Any]) -> None:
        """Show another card in the place of a post's, as soon as that stands in the chat; of several the newest.

        The bot that sent the post does it. Raises UnknownPostError, InvalidPostError and StoreError kinds.
        """
        text = card_text(card)
        self._database.write(lambda db: revising.put(db, well_formed(post_id), text))

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
        now = self._clock()
        return self._database.read(lambda db: queueing.waiting(db, agent, now), [])

    def take(self, holder: str, session_keys: Collection[str], agent: str | None = None) -> Job | None:
        """The next post for one of these chats, for ``lease`` seconds; None when there is none.

        Whoever takes it ends with ``sent`` or ``failed``; else it is given to the next one when the lease runs out.
        """
        chats = {well_formed(key) for key in session_keys}
        bound = {"now": self._clock(), "agent": agent, "holder": well_formed(holder)}
        return self._database.write(lambda db: queueing.take(db, chats, bound, self.limits))

    def sent(self, job: Job, receipt: Receipt | str, agent: str | None = None) -> None:
        """The platform confirmed it to ``agent``. That is a fact, also when the lease has run out meanwhile."""
        arrived = Receipt(receipt) if isinstance(receipt, str) else receipt
        self._database.write(lambda db: queueing.mark_sent(db, job, arrived, agent, self._clock()))

    def failed(self, job: Job, error: str, retry_after: float | None = None, *, doubtful: bool = False) -> None:
        """It was not sent. It is tried again after ``retry_after`` seconds, and never again when that is None.

        ``doubtful``: it may have arrived. Ignored when another process holds the job by now.
        """
        final = retry_after is None or job.attempt >= self.limits.max_attempts
        now = self._clock()
        bound = {"id": job.id, "holder": job.holder, "attempt": job.attempt, "error": well_formed(error), "now": now}
        bound |= {"state": "failed" if final else "queued", "due": now + (retry_after or 0)}
        bound["doubtful"] = doubtful or job.in_doubt  # this attempt tells nothing about an earlier one
        self._database.write(lambda db: queueing.mark_failed(db, bound))

    def take_revision(self, holder: str, agent: str) -> Revision | None:
        """The next card that this agent has to show in place of one that it sent, for ``lease`` seconds.

        Whoever takes it ends with ``revised`` or ``revision_failed``; else it is given again when the lease runs out.
        """
        now = self._clock()
        if not self._database.read(lambda db: revising.is_waiting(db, agent, now), False):
            return None
        return self._database.write(lambda db: revising.take(db, agent, well_formed(holder), now, self.limits))

    def revised(self, revision: Revision) -> None:
        """The platform shows it."""
        self._database.write(lambda db: revising.mark_shown(db, revision))

    def revision_failed(self, revision: Revision, retry_after: float | None = None) -> None:
        """It is not shown. Tried again after ``retry_after`` seconds, and never again when that is None."""
        final = retry_after is None or revision.attempt >= self.limits.max_attempts
        due = None if final else self._clock() + (retry_after or 0)
        self._database.write(lambda db: revising.mark_failed(db, revision, due))

    def offer_reply(self, entry: Entry, session_key: str | None = None) -> bool:
        """True when a person's message answers a post that wants answers: it is kept, and no agent need be asked.

        It does when it replies to the post or stands in its thread. All bots of a chat may offer it; it counts once.
        While a post is being sent, nobody knows yet where it stands: what may answer it is kept, too, but False, so
        that the agents have it in any case. ``session_key`` is the chat; without it, a post of any chat may be meant.
        """
        return self._offer(offers.of_reply(entry, session_key))

    def offer_action(self, action: Action) -> bool:
        """True when a button of a post that wants answers was pressed: it is kept, once. Early ones as in
        ``offer_reply``.
        """
        return self._offer(offers.of_action(action, int(self._clock() * 1000)))

    def clean(self) -> int:
        """Give up what is overdue and remove what ended long ago; returns how many posts were removed."""
        now = self._clock()

        def work(db: Sql) -> int:
            queueing.give_up(db, now, self.limits.max_attempts)
            return queueing.remove_ended(db, now, self.limits.keep)

        return self._database.write(work) if self._database.path.exists() else 0

    def forget(self, *, session_key: str | None = None, sender: str | None = None) -> int:
        """Erase the posts of a chat, or a person's answers, from the disk; together, this person's answers there.

        Returns how many were erased. Raises InvalidPostError when neither is given.
        """
        if session_key is None and sender is None:
            raise InvalidPostError("It needs to be said what to erase: a chat or a sender.")
        key, who = (well_formed(text) if text else text for text in (session_key, sender))

        def work(db: Sql) -> int:
            dropped = early.forget(db, key, who)
            if who is None:
                return queueing.forget(db, key)
            return answering.forget(db, key, who) + dropped

        if not self._database.path.exists():
            return 0
        erased = self._database.write(work)
        self._database.settle()
        return erased

    def edition(self) -> object:
        """Which file it is; None while there is none. Another one was begun anew: it knows no post, and numbers answers
        from 1.
        """
        try:
            found = self._database.path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def close(self) -> None:
        """Release the file; it is opened again when it is needed."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

    def _offer(self, offer: offers.Offer | None) -> bool:
        if offer is None or not self._database.read(lambda db: answering.is_wanted(db, offer), False):
            return False
        return self._database.write(lambda db: answering.keep(db, offer))
