"""Relays messages of other bots from the record to this agent, even when the platform does not push them.

A relay follows the transcripts. It passes on an entry of another bot at most once, after the loop guard allowed it, and
saves in the store's hidden folder how far it has come, so that a restart repeats nothing.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final, Literal

from nanobot_transcript.coordination.contract import Marks
from nanobot_transcript.coordination.files.marks import FileMarks
from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import InvalidCursorError, StoreError, StoreUnavailableError
from nanobot_transcript.identity import AgentProfile, is_bot, speaker, wrote
from nanobot_transcript.platform import is_unfinished
from nanobot_transcript.sql.outage import level_of
from nanobot_transcript.store.async_front import AsyncGroupTranscriptStore
from nanobot_transcript.store.contract import Page
from nanobot_transcript.turns.addressees import addresses, id_at, ids_of
from nanobot_transcript.turns.loop_guard import GUARD_HISTORY, LoopGuard
from nanobot_transcript.turns.message_age import age_ms

__all__ = ["MOST_HANDED", "Relay", "RelayMode", "RelaySettings", "handed_as"]

RelayMode = Literal["off", "mentions", "all"]

_KIND: Final = "relay"
_PAGE: Final = 100
_WAITING: Final = 100
MOST_HANDED: Final = 2 * _PAGE + _WAITING
"""So many messages that were passed on are noted: those of a page that is read again after a kill, and twice as many
that come in between.
"""
_LOOK_FOR_CHATS: Final = 1.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RelaySettings:
    """``mode``: ``off``, ``mentions`` (only entries that mention the agent or reply to it) or ``all``.

    Entries older than ``max_age`` seconds when the relay sees them are not passed on.
    """

    mode: RelayMode = "off"
    max_age: float = 300.0


class Relay:
    """The entries of other bots for one agent.

    ``members`` tells by session key who is in a chat, because a name that is part of a longer one mentions nobody.

    ``seen`` tells whether the host already got a message (by id) from the platform; it is asked at the last moment.

    ``readable`` tells whether an entry's text is complete, by default as its platform says: another bot's unfinished
    card is passed on later, once its text is there. Only one process per agent relays.
    """

    def __init__(
        self,
        store: AsyncGroupTranscriptStore,
        agent: AgentProfile,
        settings: RelaySettings | None = None,
        *,
        guard: LoopGuard | None = None,
        members: Callable[[str], Iterable[AgentProfile]] = lambda _: (),
        seen: Callable[[str], bool] = lambda _: False,
        readable: Callable[[Entry], bool] | None = None,
        marks: Marks | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """``marks`` store how far it has come, by default beside the store."""
        self.settings: RelaySettings = settings or RelaySettings()
        self._store: AsyncGroupTranscriptStore = store
        self._marks: Marks = marks or FileMarks(store.base_dir)
        self._agent: AgentProfile = agent
        self._guard: LoopGuard = guard or LoopGuard()
        self._members: Callable[[str], Iterable[AgentProfile]] = members
        self._seen: Callable[[str], bool] = seen
        self._readable: Callable[[Entry], bool] | None = readable
        self._clock: Callable[[], float] = clock
        self._is_cut_off: bool = False
        """The record cannot be read, and that was logged."""
        self.on_stop: Callable[[str, Entry, str], None] = lambda session_key, entry, reason: None
        """Called with entries that the loop guard stopped, and why."""

    async def entries(self, session_key: str) -> AsyncGenerator[Entry, None]:
        """Entries of one chat as they come, without end; the chat may begin later. Empty in mode ``off``."""
        if self.settings.mode == "off":
            return
        place = _Place(self._marks, self._agent.name, session_key)
        await asyncio.to_thread(place.load)
        while True:
            try:
                async with aclosing(self._unread(session_key, place)) as unread:
                    async for entry in unread:
                        yield entry
                        self._is_cut_off = False
                await self._change(session_key, place)
                self._is_cut_off = False
            except StoreUnavailableError as error:
                await self._wait_for_the_record(error)

    async def run(self, take: Callable[[str, Entry], Awaitable[None]]) -> None:
        """Call ``take(session_key, entry)`` for the entries of all chats, including those that begin later.
        Never ends.

        In mode ``off`` it returns at once. An exception of ``take`` ends the relay.
        """
        if self.settings.mode == "off":
            return
        known: set[str] = set()
        async with asyncio.TaskGroup() as tasks:
            while True:
                for session_key in await self._chats():
                    if session_key not in known:
                        known.add(session_key)
                        tasks.create_task(self._run_one(session_key, take))
                await asyncio.sleep(_LOOK_FOR_CHATS)

    async def _chats(self) -> list[str]:
        try:
            return [chat.session_key for chat in await self._store.chats()]
        except StoreUnavailableError as error:
            self._log_outage(error)
            return []

    async def _wait_for_the_record(self, error: StoreUnavailableError) -> None:
        self._log_outage(error)
        await asyncio.sleep(_LOOK_FOR_CHATS)

    def _log_outage(self, error: StoreUnavailableError) -> None:
        """Log it once, until the record can be read again."""
        if not self._is_cut_off:
            self._is_cut_off = True
            logger.log(
                level_of(error, logging.WARNING),
                "%s cannot hear other bots, because the record cannot be read: %s %s",
                self._agent.name,
                error,
                error.hint,
            )

    async def _run_one(self, session_key: str, take: Callable[[str, Entry], Awaitable[None]]) -> None:
        async with aclosing(self.entries(session_key)) as entries:
            async for entry in entries:
                await take(session_key, entry)

    async def _unread(self, session_key: str, place: "_Place") -> AsyncGenerator[Entry, None]:
        """What to pass on now. The progress is saved first: a stop or a kill in between loses one entry, and never
        doubles one.
        """
        while True:
            if place.cursor is None:
                await self._begin(session_key, place)
            async with aclosing(self._now_readable(session_key, place)) as complete:
                async for entry in complete:
                    yield entry
            page = await self._next(session_key, place)
            if page is None and place.cursor is None:
                continue
            if page is None:
                return
            late: list[str] = []
            near = (await self._store.recent(session_key, _PAGE)).entries
            for entry in page.entries:
                if not self._concerns(entry, near) or handed_as(entry) in place.handed:
                    continue
                if not self._is_readable(session_key, entry):
                    late.append(handed_as(entry))
                elif await self._is_wanted(session_key, entry):
                    await asyncio.to_thread(place.hand_out, handed_as(entry))
                    yield entry
            await asyncio.to_thread(place.move, page.cursor, late)

    async def _now_readable(self, session_key: str, place: "_Place") -> AsyncGenerator[Entry, None]:
        near = (await self._store.recent(session_key, _PAGE)).entries if place.waiting else []
        nameless = {handed_as(entry): entry for entry in near if not entry["message_id"]}
        for message_id in place.waiting:
            entry = nameless.get(message_id) or await self._store.get(session_key, message_id)
            if entry is not None and self._is_fresh(entry, near) and message_id not in place.handed:
                if not self._is_readable(session_key, entry):
                    continue
                if await self._is_wanted(session_key, entry):
                    await asyncio.to_thread(place.hand_out, message_id)
                    yield entry
            await asyncio.to_thread(place.settle, message_id)

    async def _next(self, session_key: str, place: "_Place") -> Page | None:
        """The next page of the transcript; None at the end, and without a cursor when the cursor was not of
        this store.
        """
        try:
            page = await self._store.read(session_key, place.cursor, _PAGE)
        except InvalidCursorError:
            place.cursor = None
            return None
        return page if page.cursor != place.cursor else None

    async def _begin(self, session_key: str, place: "_Place") -> None:
        """Start at the end, with the newest entries still to be passed on."""
        page = await self._store.recent(session_key, _PAGE)
        news = [handed_as(entry) for entry in page.entries if self._concerns(entry, page.entries)]
        await asyncio.to_thread(place.move, page.cursor, [mark for mark in news if mark not in place.handed])

    async def _change(self, session_key: str, place: "_Place") -> None:
        """Wait for the next line, an edit included."""
        async with aclosing(self._store.follow(session_key, place.cursor)) as lines:
            await anext(lines)

    def _is_readable(self, session_key: str, entry: Entry) -> bool:
        return not is_unfinished(session_key, entry) if self._readable is None else self._readable(entry)

    def _concerns(self, entry: Entry, near: Sequence[Entry]) -> bool:
        return is_bot(entry) and not wrote(self._agent, entry) and self._is_fresh(entry, near)

    def _is_fresh(self, entry: Entry, near: Sequence[Entry]) -> bool:
        return age_ms(entry, near, self._clock() * 1000) <= self.settings.max_age * 1000

    async def _is_wanted(self, session_key: str, entry: Entry) -> bool:
        if any(map(self._seen, ids_of(entry))):
            return False
        history = (await self._store.recent(session_key, GUARD_HISTORY)).entries
        if self.settings.mode == "mentions" and not self._is_meant(session_key, entry, history):
            return False
        verdict = self._guard.allows(entry, history, self._agent)
        if not verdict.allowed:
            logger.info("%s: %s is not relayed: %s", session_key, entry["message_id"], verdict.reason)
            self.on_stop(session_key, entry, verdict.reason)
        return verdict.allowed

    def _is_meant(self, session_key: str, entry: Entry, history: list[Entry]) -> bool:
        target = id_at(entry, "reply_to")
        mine = (other for other in history if target and wrote(self._agent, other))
        mentioned = addresses(entry, self._agent, self._members(session_key))
        return mentioned or any(target in ids_of(other) for other in mine)


class _Place:
    """How far the relay of an agent has come in one chat."""

    def __init__(self, marks: Marks, agent: str, session_key: str) -> None:
        self._marks: Marks = marks
        self._named: dict[str, str] = {"agent": agent, "session": session_key}
        self.cursor: str | None = None
        self.waiting: tuple[str, ...] = ()
        """Messages before the cursor still to be passed on, such as those without a readable text yet."""
        self.handed: tuple[str, ...] = ()
        """The newest messages that were passed on; some may be behind the cursor."""

    def load(self) -> None:
        """Continue where the last process stopped. An unreadable mark counts as missing."""
        try:
            document = self._marks.get(_KIND, *self._named.values()) or {}
        except StoreError as error:
            logger.log(
                level_of(error, logging.WARNING),
                "The saved position of the relay cannot be read, starting at the end: %s",
                error,
            )
            return
        cursor = document.get("cursor")
        self.cursor = cursor if isinstance(cursor, str) else None
        self.waiting = _texts(document.get("waiting"))
        self.handed = _texts(document.get("handed"))

    def hand_out(self, mark: str) -> None:
        """This message is passed on now."""
        self.handed = (*self.handed, mark)[-MOST_HANDED:]
        self._save()

    def move(self, cursor: str, waiting: list[str]) -> None:
        """Everything up to ``cursor`` is done, except the messages in ``waiting``."""
        self.cursor = cursor
        self.waiting = tuple(dict.fromkeys((*self.waiting, *waiting)))[-_WAITING:]
        self._save()

    def settle(self, message_id: str) -> None:
        """Wait for this message no longer. It may be behind the cursor: this process may just have written it."""
        self.waiting = tuple(other for other in self.waiting if other != message_id)
        if message_id not in self.handed:
            self.handed = (*self.handed, message_id)[-MOST_HANDED:]
        self._save()

    def _save(self) -> None:
        place = {"waiting": list(self.waiting), "handed": list(self.handed)}
        cursor = {"cursor": self.cursor} if self.cursor is not None else {}
        try:
            self._marks.put(_KIND, {**self._named, **cursor, **place}, *self._named.values())
        except StoreError as error:
            logger.log(
                level_of(error, logging.WARNING),
                "The position of the relay is kept only until the next restart: %s",
                error,
            )


def _texts(values: Any) -> tuple[str, ...]:
    return tuple(value for value in values if isinstance(value, str)) if isinstance(values, list) else ()


def handed_as(entry: Entry) -> str:
    """The key of an entry among those passed on."""
    return entry["message_id"] or f"{entry['ts']} {speaker(entry)}"
