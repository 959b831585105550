"""The store backend that accepts on this machine's disk, and hands on to a record over a network in the background."""

import logging
import os
import threading
import time
import uuid
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TypeVar, cast
from weakref import WeakSet

from nanobot_transcript.entry import Entry, RecentMessage
from nanobot_transcript.errors import StoreUnavailableError
from nanobot_transcript.record.spool.drainer import Drainer
from nanobot_transcript.record.spool.limits import SpoolLimits, pause_after
from nanobot_transcript.record.spool.pending_lines import PendingLines
from nanobot_transcript.record.spool.spool import Spool
from nanobot_transcript.store.contract import (
    Changes,
    Chat,
    FarBackend,
    Hit,
    MaintenanceReport,
    Page,
    Retention,
    VerifyReport,
)
from nanobot_transcript.store.jsonl.backend import FsyncPolicy, JsonlBackend
from nanobot_transcript.store.lines.ids import ids_of
from nanobot_transcript.store.lines.messages import brief
from nanobot_transcript.store.lines.ops import needs_message
from nanobot_transcript.store.lines.order import moment_of

__all__ = ["SpooledBackend"]

logger = logging.getLogger(__name__)

_T = TypeVar("_T")


class SpooledBackend:
    """A record over a network, written to by way of this process's own disk; see ``StoreBackend``.

    ``append``, edits and recalls are written into ``spool_dir`` and answered from there: True means that the line is
    accepted and will not be lost, whatever happens to this process or the record. It is handed on at once, or as soon
    as the record can be written to again, once and in the order of its chat. So a message that the record already has
    from another process is accepted, too. A message without an id gets one, ``local:<uuid>``, and an edit a ``mark`` of
    the same form. A redact, a purge and maintenance go to the record first, and then also erase what waits here.

    The waiting lines are the tail. Reading waits up to 0.2 s for the tail of its chat to be handed on, unless the
    record is known to be away. What is left of it is merged into answers about the present:

    ==================================  ================================================================================
    ``recent``, ``get_recent``          the newest of both, in their usual order, each message once; edits and recalls
                                        of the tail count. The cursor is the end of the record: what was shown out of
                                        the tail comes again behind it, once it is there.
    ``get``, ``get_many``, ``search``   what the record has, changed as the tail says, and what only the tail has
    ``scan``                            the same, with what only the tail has at the end
    ``chats``                           with those that only the tail has
    ``changes``                         with what the tail takes back; its edits count once the record has them
    ``read``, ``read_back``, ``end``,   the record's alone. All of the tail stands behind every cursor that is given out
    ``follow``                          until then, so that page by page each line comes once. A cursor cannot say which
                                        lines of the tail its reader was shown, and two readers may hold the same one.
    ==================================  ================================================================================

    So a reader that asks about the present always sees what this process has written. Lines that other processes have
    accepted appear when they are handed on. Until then this process may also show a message that the record is going to
    refuse, because it was recalled before. Cursors are those of the record.

    While the record is away, ``get`` and ``get_many`` still answer what the tail alone can tell: that a message is
    there, or was recalled. Everything else raises StoreUnavailableError, because half a transcript would pass for the
    whole, and there would be no cursor to return.
    """

    def __init__(
        self,
        far: FarBackend,
        spool_dir: str | Path,
        *,
        limits: SpoolLimits | None = None,
        fsync: FsyncPolicy = "never",
        fsync_interval: float = 1.0,
        pause: Callable[[int], float] = pause_after,
    ) -> None:
        """``fsync`` is that of the spool: what a power cut of this machine may cost. ``pause``: see
        ``pause_after``.
        """
        self.far: FarBackend = far
        self.limits: SpoolLimits = limits or SpoolLimits()
        self._base: Path = Path(spool_dir).expanduser()
        self._fsync: tuple[FsyncPolicy, float] = (fsync, fsync_interval)
        self._pause: Callable[[int], float] = pause
        self._spool: Spool = self._new_spool()
        self._drainer: Drainer | None = None
        self._opening: threading.Lock = threading.Lock()
        _spooled.add(self)

    @property
    def place(self) -> str:
        """The place of the record."""
        return self.far.place

    @property
    def blocking(self) -> bool:
        """True: reading queries the record."""
        return True

    @property
    def append_blocks(self) -> bool:
        """True when every append waits for this machine's disk."""
        return self._spool.syncs

    # -- writing

    def append(self, session_key: str, entry: Entry, max_wait: float | None = None) -> bool:
        entry = _received(entry)
        if not ids_of(entry):
            entry = _with(entry, message_id=_local())
        return self._write(session_key, entry, lambda lines: lines.append(session_key, entry, max_wait))

    def apply(self, session_key: str, op: Entry, max_wait: float | None = None) -> bool:
        op = _received(op)
        if op.get("op") == "redact":
            return self._redact(session_key, op, max_wait)
        if needs_message(op) and "mark" not in op:
            op = _with(op, mark=_local())
        return self._write(session_key, op, lambda lines: lines.apply(session_key, op, max_wait))

    def _write(self, session_key: str, entry: Entry, write: Callable[[JsonlBackend], bool]) -> bool:
        if self._drainer is None:
            self._start()
        return self._spool.write(session_key, entry, write)

    def _redact(self, session_key: str, op: Entry, max_wait: float | None) -> bool:
        self._look()
        written = self.far.apply(session_key, op, max_wait)
        for folder in self._spool.folders(session_key):
            folder.lines.apply(session_key, op, max_wait)
            self._spool.again(folder, session_key)
        if (refused := self._spool.refused) is not None and _has(refused, session_key):
            refused.apply(session_key, op, max_wait)
        return written

    def flush(self, session_key: str, timeout: float) -> bool:
        self._look()
        return self._spool.wait(session_key, timeout)

    def hurry(self) -> None:
        """Called when the record was heard of: hand on what is waiting, now."""
        if self._drainer is not None:
            self._drainer.hurry()

    # -- reading about the present

    def get_recent(self, session_key: str, max_messages: int) -> list[RecentMessage]:
        if max_messages <= 0:
            return []
        ahead = self._pending(session_key)
        if not ahead:
            return self._asked(lambda: self.far.get_recent(session_key, max_messages))
        return [brief(entry) for entry in self._recent(session_key, max_messages, ahead).entries]

    def recent(self, session_key: str, limit: int) -> Page:
        ahead = self._pending(session_key)
        return self._recent(session_key, limit, ahead)

    def _recent(self, session_key: str, limit: int, ahead: PendingLines) -> Page:
        if not ahead or limit <= 0:
            return self._asked(lambda: self.far.recent(session_key, limit))
        known = self._known(session_key, ahead)
        page = self._asked(lambda: self.far.recent(session_key, limit + len(ahead.ops.hidden)))
        return Page(ahead.newest(page.entries, known, limit), page.cursor)

    def _known(self, session_key: str, ahead: PendingLines) -> dict[str, Entry]:
        """The messages of the tail that the record has.

        Must be asked before the list they are removed from: what is handed on in between then stands there twice at
        most, and is never missing.
        """
        ids = ahead.ids
        return self._asked(lambda: self.far.get_many(session_key, ids)) if ids else {}

    def get(self, session_key: str, message_id: str) -> Entry | None:
        return self.get_many(session_key, [message_id]).get(message_id)

    def get_many(self, session_key: str, message_ids: Iterable[str]) -> dict[str, Entry]:
        wanted = list(dict.fromkeys(message_ids))
        ahead = self._pending(session_key)
        if not ahead:
            return self._asked(lambda: self.far.get_many(session_key, wanted))
        known = self._known_or_told(session_key, wanted, ahead)
        there = {known_id: entry for entry in reversed(ahead.news(known)) for known_id in ids_of(entry)} | known
        folded = {message_id: ahead.fold(there[message_id]) for message_id in wanted if message_id in there}
        return {message_id: entry for message_id, entry in folded.items() if entry is not None}

    def _known_or_told(self, session_key: str, wanted: Sequence[str], ahead: PendingLines) -> dict[str, Entry]:
        """What the record has; empty when it is away and the tail can answer for all wanted ids."""
        try:
            return self._asked(lambda: self.far.get_many(session_key, wanted))
        except StoreUnavailableError:
            if not ahead.ops.hidden.union(ahead.ids).issuperset(wanted):
                raise
            return {}

    def changes(self, session_key: str, after: str) -> Changes:
        ahead = self._pending(session_key)
        targets = ahead.ops.together(ahead.ops.hidden)
        whole = self._asked(lambda: self.far.get_many(session_key, targets)) if targets else {}
        changes = self._asked(lambda: self.far.changes(session_key, after))
        hidden = targets.union(*(ids_of(entry) for entry in whole.values()))
        return Changes(changes.hidden | hidden, changes.edited, changes.erased) if hidden else changes

    def search(self, query: str, session_key: str | None, limit: int) -> list[Hit]:
        chats = self._spool.waiting_chats() if session_key is None else [session_key]
        tails = {key: ahead for key in chats if (ahead := self._pending(key))}
        more = [hit for key, ahead in tails.items() for hit in self._pending_hits(query, key, ahead)]
        hits: list[Hit] = []
        for hit in self._asked(lambda: self.far.search(query, session_key, limit)):
            ahead = tails.get(hit.session_key)
            entry = hit.entry if ahead is None else ahead.fold(hit.entry)
            if entry is not None and query in entry["content"]:
                hits.append(Hit(hit.session_key, entry))
        found = {(hit.session_key, known) for hit in hits for known in ids_of(hit.entry)}
        hits += [hit for hit in more if found.isdisjoint((hit.session_key, known) for known in ids_of(hit.entry))]
        hits.sort(key=lambda hit: moment_of(hit.entry) or 0, reverse=True)
        return hits[:limit]

    def _pending_hits(self, query: str, session_key: str, ahead: PendingLines) -> Iterator[Hit]:
        """Messages of the tail, and messages of the record that the tail edits."""
        asked = [*ahead.ids, *ahead.edits]
        known = self._asked(lambda: self.far.get_many(session_key, asked))
        news = ahead.news(known)
        edited = {id(known[target]): known[target] for target in ahead.edits if target in known}
        for entry in (*news, *edited.values()):
            folded = ahead.fold(entry)
            if folded is not None and query in folded["content"]:
                yield Hit(session_key, folded)

    def chats(self) -> list[Chat]:
        self._look()
        waiting = self._spool.waiting_chats()
        chats = self._asked(self.far.chats)
        new = set(waiting) - {chat.session_key for chat in chats}
        now = int(time.time() * 1000)
        return sorted([*chats, *(Chat(key, size, now) for key in new if (size := self._spool.size_of(key)))])

    def scan(self, session_key: str) -> Iterator[Entry]:
        ahead = self._pending(session_key)
        if not ahead:
            yield from self._asked(lambda: self.far.scan(session_key))
            return
        news = ahead.news(self._known(session_key, ahead))
        unseen = {known: entry for entry in news for known in ids_of(entry)}
        for entry in self._asked(lambda: self.far.scan(session_key)):
            for known in ids_of(entry):
                unseen.pop(known, None)
            if (folded := ahead.fold(entry)) is not None:
                yield folded
        for entry in news:
            folded = ahead.fold(entry) if all(known in unseen for known in ids_of(entry)) else None
            if folded is not None:
                yield folded

    # -- reading page by page: the record's alone

    def read(self, session_key: str, after: str | None, limit: int) -> Page:
        self._settle(session_key)
        return self._asked(lambda: self.far.read(session_key, after, limit))

    def read_back(self, session_key: str, before: str | None, limit: int) -> Page:
        self._settle(session_key)
        return self._asked(lambda: self.far.read_back(session_key, before, limit))

    def end(self, session_key: str) -> str:
        self._settle(session_key)
        return self._asked(lambda: self.far.end(session_key))

    async def follow(self, session_key: str, after: str | None) -> AsyncGenerator[Entry, None]:
        import asyncio  # importing this module must not load asyncio

        await asyncio.to_thread(self._settle, session_key)
        async with aclosing(self.far.follow(session_key, after)) as lines:
            async for entry in lines:
                yield entry

    # -- maintenance: the record first

    def purge(
        self, session_key: str | None, *, senders: frozenset[str], before_ms: float | None
    ) -> list[MaintenanceReport]:
        self._look()
        reports = self.far.purge(session_key, senders=senders, before_ms=before_ms)
        for lines in self._stores():
            lines.purge(session_key, senders=senders, before_ms=before_ms)
        return reports

    def purged_at(self, session_key: str) -> float:
        return self._asked(lambda: self.far.purged_at(session_key))

    def maintain(self, session_keys: Sequence[str] | None, retention: Retention) -> list[MaintenanceReport]:
        self._look()
        reports = self.far.maintain(session_keys, retention)
        for lines in self._stores():
            lines.maintain(session_keys, Retention())
        return reports

    def _stores(self) -> list[JsonlBackend]:
        """The local stores that may hold text."""
        refused = self._spool.refused
        return [*(folder.lines for folder in self._spool.folders()), *([refused] if refused is not None else [])]

    def verify(self, session_key: str) -> VerifyReport:
        self._settle(session_key)
        return self._asked(lambda: self.far.verify(session_key))

    # -- inside

    def close(self) -> None:
        with self._opening:
            drainer, self._drainer = self._drainer, None
            self._spool = self._new_spool()
        if drainer is not None and not drainer.finish(self.limits.close_seconds):
            logger.warning(
                "%s still holds messages; they are handed on when a bot runs on this machine again", self._base
            )
        self.far.close()

    def after_fork(self) -> None:
        """In a forked child: the spool is the parent's."""
        self._opening = threading.Lock()
        self._drainer = None
        self._spool.forget()

    def _new_spool(self) -> Spool:
        return Spool(self._base, self.limits, *self._fsync, address=self.far.address)

    def _start(self) -> None:
        with self._opening:
            if self._drainer is None:
                with self._spool.lock:
                    self._spool.open()
                self._drainer = Drainer(self.far, self._spool, self._pause)
                self._drainer.start()

    def _look(self) -> None:
        """Take over what was left here, where there is a spool; reading creates none."""
        if self._drainer is None and self._base.is_dir():
            self._start()

    def _settle(self, session_key: str) -> None:
        """Wait a moment until what was written here is on record, unless waiting is useless."""
        self._look()
        drainer = self._drainer
        if drainer is not None and not drainer.is_away:
            self._spool.wait(session_key, self.limits.read_seconds, lambda: drainer.is_away)

    def _pending(self, session_key: str) -> PendingLines:
        """The lines of a chat that are not handed on after a moment."""
        self._settle(session_key)
        return PendingLines(self._spool.tail(session_key))

    def _asked(self, ask: Callable[[], _T]) -> _T:
        """An answer of the record. An answer also means that it is back, so the drainer is woken."""
        answer = ask()
        drainer = self._drainer
        if drainer is not None and drainer.is_away:
            drainer.hurry()
        return answer


def _received(entry: Entry) -> Entry:
    """The entry with its time of receipt, by which purges judge it."""
    return entry if "rts" in entry else _with(entry, rts=time.time_ns() // 1_000_000)


def _with(entry: Entry, **fields: object) -> Entry:
    return cast("Entry", cast("object", {**entry, **fields}))


def _has(lines: JsonlBackend, session_key: str) -> bool:
    return any(chat.session_key == session_key for chat in lines.chats())


def _local() -> str:
    return f"local:{uuid.uuid4().hex}"


_spooled: "WeakSet[SpooledBackend]" = WeakSet()


def _after_fork() -> None:
    for backend in list(_spooled):
        backend.after_fork()


os.register_at_fork(after_in_child=_after_fork)
