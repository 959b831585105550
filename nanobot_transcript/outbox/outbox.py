"""Posts on their way into a group: queued by any process, sent by one whose bot is in the chat."""

import hashlib
import json
import secrets
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, cast

from nanobot_transcript.coordination.contract import Ear, Signals
from nanobot_transcript.coordination.files.signals import FileSignals, Watched
from nanobot_transcript.entry import Entry, storable
from nanobot_transcript.errors import InvalidPostError, UnknownPostError
from nanobot_transcript.files.access import refuse_address
from nanobot_transcript.files.layout import Layout
from nanobot_transcript.outbox import early_replies, offers, posts, replies, revisions, waits
from nanobot_transcript.outbox.rules import card_text, checked, lifetime
from nanobot_transcript.outbox.schema import SCHEMA
from nanobot_transcript.outbox.values import (
    Action,
    Answer,
    Job,
    OutboxLimits,
    PostStatus,
    Receipt,
    Revision,
    post_id_for,
)
from nanobot_transcript.sql.contract import Database, Sql
from nanobot_transcript.sql.location import Shelf

if TYPE_CHECKING:
    from nanobot_transcript.sql.postgres.engine import Engine

__all__ = ["Outbox", "tables_at"]

_T = TypeVar("_T")

_FOLDER: Final = "outbox"
_FILE: Final = "outbox.db"
_SIGNAL: Final = "posts"
_BUSY: Final = 5.0


class Outbox:
    """The ``Postbox`` of a store: ``.state/outbox/outbox.db``, or tables in the database of an engine."""

    def __init__(
        self,
        place: "str | Path | Engine",
        limits: OutboxLimits | None = None,
        *,
        busy: float = _BUSY,
        clock: Callable[[], float] | None = None,
        signals: Signals | None = None,
    ) -> None:
        """``busy`` (seconds) bounds the wait for another process's transaction; StoreBusyError after that. ``signals``
        are those of the record, if there are any: the name ``posts`` announces each change. An engine has none of its
        own. ``clock`` gives seconds since 1970; all that share the outbox must use the same one.
        """
        self.limits: OutboxLimits = limits or OutboxLimits()
        shelf, self._opened = _at(place)
        self._signals: Signals = signals or _file_signals(place, shelf)
        self._database: Database = self._opened(busy)
        self._hurried: dict[float, Database] = {}
        self._clock: Callable[[], float] = clock or shelf.clock

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
        """See ``Postbox.post``."""
        fields = checked(session_key, content, card, agent, reply_to, wants_answers)
        name = post_id_for(secrets.token_hex(16) if idempotency_key is None else idempotency_key)
        now = self._clock()
        job = {
            "id": name,
            "digest": hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest(),
            "created": now,
            "expires": now + lifetime(self.limits.expires_in if expires_in is None else expires_in),
            **fields,
        }
        self._write(lambda db: posts.insert(db, job))
        return name

    def status(self, post_id: str) -> PostStatus:
        """See ``Postbox.status``."""
        row = self._database.read(
            lambda db: db.execute("SELECT * FROM jobs WHERE id=?", (storable(post_id),)).fetchone(), None
        )
        if row is None:
            raise UnknownPostError(
                f"There is no post {post_id}.", hint="Posts are removed some days after they are finished."
            )
        return posts.status(row, self._clock())

    def answers(self, post_id: str, after: int = 0) -> list[Answer]:
        """See ``Postbox.answers``."""
        return self._database.read(lambda db: replies.found(db, storable(post_id), after), [])

    def news(self, after: int = 0, limit: int = 500) -> list[tuple[str, Answer]]:
        """See ``Postbox.news``."""
        return self._database.read(lambda db: replies.news(db, after, limit), [])

    def open_posts(self) -> list[PostStatus]:
        """See ``Postbox.open_posts``."""
        now = self._clock()
        rows = "SELECT * FROM jobs WHERE wants_answers ORDER BY seq"
        return self._database.read(lambda db: [posts.status(row, now) for row in db.execute(rows)], [])

    def close_answers(self, post_id: str) -> None:
        """See ``Postbox.close_answers``."""
        self._write(lambda db: posts.close_answers(db, storable(post_id)))

    def revise(self, post_id: str, card: dict[str, Any]) -> None:
        """See ``Postbox.revise``."""
        text = card_text(card)
        self._write(lambda db: revisions.put(db, storable(post_id), text))

    async def wait_sent(self, post_id: str, timeout: float) -> PostStatus:  # noqa: ASYNC109 - no error
        """See ``Postbox.wait_sent``."""
        return await waits.wait_sent(self, post_id, timeout)

    async def wait_answer(self, post_id: str, timeout: float, after: int = 0) -> Answer | None:  # noqa: ASYNC109 - no error
        """See ``Postbox.wait_answer``."""
        return await waits.wait_answer(self, post_id, timeout, after)

    def listen(self) -> AbstractContextManager[Ear]:
        """See ``Postbox.listen``."""
        return self._signals.listen(_SIGNAL)

    # -- whoever sits in the chat

    def waiting(self, agent: str | None = None) -> list[str]:
        """See ``Postbox.waiting``."""
        now = self._clock()
        return self._database.read(lambda db: posts.waiting(db, agent, now), [])

    def take(self, holder: str, session_keys: Collection[str], agent: str | None = None) -> Job | None:
        """See ``Postbox.take``."""
        chats = {storable(key) for key in session_keys}
        bound = {"now": self._clock(), "agent": agent, "holder": storable(holder)}
        # No signal when nothing was taken: a listener that asks again on each signal would never stop.
        job = self._database.write(lambda db: posts.take(db, chats, bound, self.limits))
        if job is not None:
            self._signals.tell(_SIGNAL)
        return job

    def sent(self, job: Job, receipt: Receipt | str, agent: str | None = None) -> None:
        """See ``Postbox.sent``."""
        arrived = Receipt(receipt) if isinstance(receipt, str) else receipt
        self._write(lambda db: posts.mark_sent(db, job, arrived, agent, self._clock()))

    def failed(self, job: Job, error: str, retry_after: float | None = None, *, doubtful: bool = False) -> None:
        """See ``Postbox.failed``."""
        final = retry_after is None or job.attempt >= self.limits.max_attempts
        now = self._clock()
        bound = {"id": job.id, "holder": job.holder, "attempt": job.attempt, "error": storable(error), "now": now}
        bound |= {"state": "failed" if final else "queued", "due": now + (retry_after or 0)}
        bound["doubtful"] = doubtful or job.in_doubt  # a clear failure of this attempt does not settle an earlier one
        self._write(lambda db: posts.mark_failed(db, bound))

    def take_revision(self, holder: str, agent: str) -> Revision | None:
        """See ``Postbox.take_revision``."""
        now = self._clock()
        if not self._database.read(lambda db: revisions.is_waiting(db, agent, now), False):
            return None
        return self._write(lambda db: revisions.take(db, agent, storable(holder), now, self.limits))

    def revised(self, revision: Revision) -> None:
        """See ``Postbox.revised``."""
        self._write(lambda db: revisions.mark_shown(db, revision))

    def revision_failed(self, revision: Revision, retry_after: float | None = None) -> None:
        """See ``Postbox.revision_failed``."""
        final = retry_after is None or revision.attempt >= self.limits.max_attempts
        due = None if final else self._clock() + (retry_after or 0)
        self._write(lambda db: revisions.mark_failed(db, revision, due))

    def offer_reply(self, entry: Entry, session_key: str | None = None, *, max_wait: float | None = None) -> bool:
        """See ``Postbox.offer_reply``."""
        return self._offer(offers.of_reply(entry, session_key), max_wait)

    def offer_action(self, action: Action, *, max_wait: float | None = None) -> bool:
        """See ``Postbox.offer_action``."""
        return self._offer(offers.of_action(action, int(self._clock() * 1000)), max_wait)

    def clean(self) -> int:
        """See ``Postbox.clean``."""
        now = self._clock()

        def work(db: Sql) -> int:
            posts.give_up(db, now, self.limits.max_attempts)
            return posts.remove_ended(db, now, self.limits.keep)

        return self._write(work) if self._database.identity() is not None else 0

    def forget(self, *, session_key: str | None = None, sender: str | None = None) -> int:
        """See ``Postbox.forget``."""
        if session_key is None and sender is None:
            raise InvalidPostError("Say what to erase: a chat or a sender.")
        key, who = (storable(text) if text else text for text in (session_key, sender))

        def work(db: Sql) -> int:
            dropped = early_replies.forget(db, key, who)
            if who is None:
                return posts.forget(db, key)
            return replies.forget(db, key, who) + dropped

        if self._database.identity() is None:
            return 0
        erased = self._write(work)
        self._database.settle()
        return erased

    def usage(self) -> tuple[int, int]:
        """The bytes of the whole outbox, and the number of posts."""
        counted = "SELECT count(*) FROM jobs"
        return self._database.size(), self._database.read(lambda db: db.execute(counted).fetchone()[0], 0)

    def edition(self) -> object:
        """See ``Postbox.edition``."""
        return self._database.identity()

    def close(self) -> None:
        """See ``Postbox.close``."""
        for database in (self._database, *self._hurried.values()):
            database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

    def _offer(self, offer: offers.Offer | None, max_wait: float | None) -> bool:
        database = self._database if max_wait is None else self._impatient(max_wait)
        if offer is None or not database.read(lambda db: replies.is_wanted(db, offer), False):
            return False
        return self._told(database, lambda db: replies.keep(db, offer))

    def _write(self, work: Callable[[Sql], _T]) -> _T:
        return self._told(self._database, work)

    def _told(self, database: Database, work: Callable[[Sql], _T]) -> _T:
        result = database.write(work)
        self._signals.tell(_SIGNAL)
        return result

    def _impatient(self, max_wait: float) -> Database:
        """A connection of its own: on the shared one, another thread may be waiting longer for its transaction."""
        return self._hurried.setdefault(max_wait, self._opened(max_wait))


def tables_at(place: "str | Path | Engine") -> Database:
    """The tables of the outbox of a store, or in the database of an engine."""
    return _at(place)[1](_BUSY)


def _at(place: "str | Path | Engine") -> tuple[Shelf, Callable[[float], Database]]:
    """Where an outbox is, and how to open a database there with a given wait (seconds) for locks."""
    if isinstance(place, str | Path):
        refuse_address(place)
    layout = Layout(Path(place).expanduser().absolute()) if isinstance(place, str | Path) else None
    shelf = Shelf(Path(), cast("Engine", place)) if layout is None else Shelf(layout.state / _FOLDER)
    lock, make = ("", None) if layout is None else (layout.locks / "outbox.lock", layout.create)

    def opened(busy: float) -> Database:
        return shelf.database("outbox", SCHEMA, file=_FILE, lock=lock, busy=busy, make_folders=make)

    return shelf, opened


def _file_signals(place: "str | Path | Engine", shelf: Shelf) -> FileSignals:
    if not isinstance(place, str | Path):
        raise TypeError("An outbox at an engine's place needs the signals of its record.")
    watched = [Watched(shelf.folder, name) for name in (_FILE, f"{_FILE}-wal")]
    return FileSignals(Path(place).expanduser().absolute(), {_SIGNAL: watched})
