"""Filling gaps: messages that no process has heard are fetched from the platform's own history."""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import InvalidEntryError, StoreError, TranscriptError
from nanobot_transcript.sql.outage import level_of

if TYPE_CHECKING:
    from nanobot_transcript.store.front import GroupTranscriptStore

__all__ = ["HISTORY", "Fallback", "GapFiller"]

logger = logging.getLogger(__name__)

HISTORY: Final = "feishu history"
"""The name of the shared budget of calls for a platform's history."""

Fallback: TypeAlias = Callable[[str, float | None, int], AbstractAsyncContextManager[Sequence[Entry]]]
"""``async with fallback(session_key, since_ms, limit) as entries``: the platform's messages of a chat since a time (ms;
None = the newest), at most ``limit`` entries in any order; an ``op: recall`` entry stands for a recalled message. Only
one process asks at a time; the answer is empty where asking is not allowed. The caller records the entries inside the
block, so a process that wanted the same waits for its end and then finds them in the record.
"""

_AT_MOST: Final = 1000
_OVERLAP: Final = 50
_PATIENCE: Final = 5.0
_RETRY: Final = 60.0
_LIVE_FIRST: Final = 20.0
_LONG_AGO: Final = 1e11
"""Milliseconds since 1970: no chat platform is that old, so a smaller number is not a time."""
_CLOCKS_APART: Final = 10 * 60_000.0
"""Milliseconds by which the platform's clock may be ahead of the clock that a purge was noted by."""

_FIELDS: Final = frozenset(
    {
        "sender_name",
        "sender_kind",
        "ids",
        "msg_type",
        "mentions",
        "reply_to",
        "root_id",
        "thread_id",
        "pos",
        "message_ids",
        "agent",
        "hop",
    }
)


class GapFiller:
    """Knows which chats may have gaps, and asks once for each of them. For one event loop."""

    def __init__(self, store: "GroupTranscriptStore", fallback: Fallback) -> None:
        self._store = store
        self._fallback = fallback
        self.patience: float = _PATIENCE
        """Seconds that a read waits for the platform; after that it answers with what is on disk."""
        self._known: set[str] = set()
        self._running: dict[str, asyncio.Task[None]] = {}
        self._again: dict[str, float | None] = {}
        self._tired: set[str] = set()
        self._listening = time.time() * 1000
        self._later: set[asyncio.Task[None]] = set()

    def touch(self, session_key: str) -> None:
        """A chat is being used: messages that came while this process was not running may be missing."""
        if session_key not in self._known:
            self._ask(session_key, None, self._listening)

    def missed(self, session_key: str, since_ms: float | None = None, heard_ms: float | None = None) -> None:
        """Ask for messages missing since a time, by default since the newest entries; does nothing without a running
        loop. From ``heard_ms`` on (our clock; by default now) messages are pushed to us again.
        """
        self._ask(session_key, since_ms, time.time() * 1000 if heard_ms is None else heard_ms)

    def _ask(self, session_key: str, since_ms: float | None, listening: float) -> None:
        """``listening``: since when (ms, our clock) messages are pushed to us."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        self._known.add(session_key)
        if session_key in self._running:
            self._again[session_key] = self._earliest(session_key, since_ms)
            return
        task = loop.create_task(self._fill(session_key, since_ms, listening))
        self._running[session_key] = task
        task.add_done_callback(partial(self._done, session_key))

    def _earliest(self, session_key: str, since_ms: float | None) -> float | None:
        """The earlier of a time and the one that is asked for next anyway; a time covers "since the newest entries"."""
        times = [asked for asked in (since_ms, self._again.get(session_key)) if asked is not None]
        return min(times, default=None)

    async def filled(self, session_key: str) -> None:
        """Wait until a chat has been asked for, at most a few seconds, and only once per request."""
        self.touch(session_key)
        task = self._running.get(session_key)
        if task is not None and session_key not in self._tired:
            _, late = await asyncio.wait({task}, timeout=self.patience)
            if late:
                self._tired.add(session_key)

    async def close(self) -> None:
        """Abandon requests under way."""
        self._again.clear()
        tasks = [*self._running.values(), *self._later]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _done(self, session_key: str, task: "asyncio.Task[None]") -> None:
        self._running.pop(session_key, None)
        self._tired.discard(session_key)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("%s: messages from the platform's history could not be recorded", session_key, exc_info=error)
            self._ask_again_later(session_key)
        if not task.cancelled() and session_key in self._again:
            self.missed(session_key, self._again.pop(session_key))

    async def _fill(self, session_key: str, since_ms: float | None, listening: float) -> None:
        with self._failing(session_key):
            since = await asyncio.to_thread(self._newest, session_key) if since_ms is None else since_ms
            async with self._fallback(session_key, since, _AT_MOST) as entries:
                await self._take_over(session_key, entries, listening)

    @contextmanager
    def _failing(self, session_key: str) -> Iterator[None]:
        """Log a failure and ask again later."""
        try:
            yield
        except TranscriptError as error:
            logger.log(
                level_of(error, logging.WARNING),
                "%s: the platform's history is not available, asking again later: %s %s",
                session_key,
                error,
                error.hint,
            )
            self._ask_again_later(session_key)

    async def _take_over(self, session_key: str, entries: Sequence[Entry], listening: float) -> None:
        entries = _with_times(session_key, entries)
        first_live = await asyncio.to_thread(self._first_live, session_key, listening)
        await self._record(session_key, [entry for entry in entries if entry["ts"] < first_live])
        if live := [entry for entry in entries if entry["ts"] >= first_live]:
            later = asyncio.get_running_loop().create_task(self._record_later(session_key, live))
            self._later.add(later)
            later.add_done_callback(self._later.discard)

    def _ask_again_later(self, session_key: str) -> None:
        asyncio.get_running_loop().call_later(_RETRY, self._known.discard, session_key)

    async def _record_later(self, session_key: str, entries: Sequence[Entry]) -> None:
        """Messages said since we listen are still on their way; let them arrive in order before the history
        fills in.
        """
        await asyncio.sleep(_LIVE_FIRST)
        with self._failing(session_key):
            await self._record(session_key, entries)

    async def _record(self, session_key: str, entries: Sequence[Entry]) -> None:
        added = await asyncio.to_thread(self._take_in, session_key, entries)
        await asyncio.to_thread(self._store.flush, session_key, self.patience)  # so that whoever asks next finds it
        if added:
            logger.info("%s: recorded %d missing messages from the platform's history", session_key, added)

    def _newest(self, session_key: str) -> float | None:
        # Some entries back: a process killed between sending an answer and recording it leaves a gap before the newest
        # entry, and the platform returns that many in one call anyway.
        entries = self._store.backend.recent(session_key, _OVERLAP).entries
        return min((entry["ts"] for entry in entries if entry["ts"] > _LONG_AGO), default=None)

    def _first_live(self, session_key: str, listening: float) -> float:
        """The platform's time (ms) from which on messages were pushed; our own clock until one was."""
        entries = self._store.backend.recent(session_key, _AT_MOST).entries
        live = [entry["ts"] for entry in entries if entry.get("rts", 0) >= listening and entry.get("source") == "event"]
        return min(live, default=time.time() * 1000)

    def _take_in(self, session_key: str, entries: Sequence[Entry]) -> int:
        purged = self._store.backend.purged_at(session_key)
        erased = purged + _CLOCKS_APART if purged else 0.0
        added = 0
        wanted = (message_id for entry in entries if isinstance(message_id := entry.get("message_id"), str))
        known = self._store.get_many(session_key, wanted)
        for entry in sorted(entries, key=lambda entry: (entry["ts"], entry.get("pos", 0))):
            if entry["ts"] <= erased:
                continue  # it was, or may have been, erased on purpose
            try:
                added += self._take(session_key, entry, known.get(entry["message_id"] or ""))
            except (StoreError, InvalidEntryError, KeyError) as error:
                logger.warning("%s: skipped a message of the platform's history: %s", session_key, error)
        return added

    def _take(self, session_key: str, entry: Entry, known: Entry | None) -> bool:
        """``known`` is the message as recorded. ``append`` alone would not notice one that left the index's horizon."""
        target = entry.get("target")
        if entry.get("op") == "recall" and target:
            return self._store.recall(session_key, target, entry["sender"], entry["ts"])
        if known is not None:
            return bool(entry.get("edited")) and self._take_edit(session_key, known, entry)
        fields: dict[str, Any] = {name: value for name, value in entry.items() if name in _FIELDS}
        return self._store.append(
            session_key,
            entry["role"],
            entry["content"],
            entry["sender"],
            entry["message_id"],
            entry["ts"],
            source="history",
            **fields,
        )

    def _take_edit(self, session_key: str, known: Entry, entry: Entry) -> bool:
        """Only the history tells of edits. A bot's own words are better than the platform's rendering of its card."""
        if known.get("agent") or known["content"] == entry["content"]:
            return False
        return self._store.edit(session_key, entry["message_id"] or "", entry["content"], entry["sender"])


def _with_times(session_key: str, entries: Sequence[Entry]) -> list[Entry]:
    """The entries that can be put in order; one without a usable time does not cost the others."""
    good = [entry for entry in entries if _is_time(entry.get("ts")) and isinstance(entry.get("pos", 0), int | float)]
    if len(good) < len(entries):
        logger.warning(
            "%s: skipped %d messages of the platform's history that have no time", session_key, len(entries) - len(good)
        )
    return good


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
