"""What the platform lists: the groups a bot is in, their people and titles. Asked rarely, because calls are limited;
the answers are saved among the record's members, so one process asks for all.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Hashable, Iterable
from typing import Any, Final

from nanobot_transcript.conversation.people import People
from nanobot_transcript.conversation.ports import Groups
from nanobot_transcript.entry import Entry, Ids
from nanobot_transcript.errors import NoAnswerError, PlatformError, RateLimitedError, StoreError
from nanobot_transcript.identity import OPEN_ID, is_person, sender_ids
from nanobot_transcript.sql.outage import level_of

__all__ = ["Lists"]

logger = logging.getLogger(__name__)

_DAY: Final = 86_400.0
_HOPELESS: Final = 6 * 3600.0
_NAMES_AGAIN: Final = 600.0
_SEATS_AGAIN: Final = 600.0
_SOONER: Final = 300.0
_PATIENCE: Final = 2.0


class Seldom:
    """Limits repeated questions: at once, then again a day after an answer. After a failure five minutes later, and
    after each further failure twice as long, up to six hours: perhaps the bot lacks a permission.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock: Callable[[], float] = clock
        self._due: dict[Hashable, float] = {}
        self._pauses: dict[Hashable, float] = {}

    def begin(self, what: Hashable) -> bool:
        """True when it is time to ask. Counts as a failure until ``answered`` is called."""
        now = self._clock()
        if now < self._due.get(what, now):
            return False
        pause = self._pauses.get(what, _SOONER)
        self._due[what], self._pauses[what] = now + pause, min(2 * pause, _HOPELESS)
        return True

    def answered(self, what: Hashable) -> None:
        """The question was answered."""
        self._due[what] = self._clock() + _DAY
        self._pauses.pop(what, None)


class Lists:
    """The lists of all bots of this process; for one event loop. Nothing here raises: a refusal by the platform is
    logged once, and what is known stays. Groups that are not ``wanted`` are not asked for and not saved.
    """

    def __init__(
        self,
        people: People,
        wanted: Callable[[str], bool] = lambda session_key: True,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._people: People = people
        self._wanted: Callable[[str], bool] = wanted
        self._clock: Callable[[], float] = clock
        self._groups: dict[str, Groups] = {}
        self._seats: dict[str, set[str]] = {}
        self._seats_due: dict[str, float] = {}
        self._titles: Seldom = Seldom(clock)
        self._due: dict[str, float] = {}
        self._strangers: dict[tuple[str, str], float] = {}
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._work: set[asyncio.Task[None]] = set()
        self._complained: set[str] = set()
        self.patience: float = _PATIENCE
        """Seconds that a message waits until it is known who is in its group."""

    def attend(self, account: str, groups: Groups) -> None:
        """Ask for this bot of the process, too."""
        self._groups[account] = groups
        self._seats.setdefault(account, set())

    # --- where a bot sits

    async def take_seats(self, account: str) -> None:
        """Ask which groups a bot is in, so that other bots know it before it has said anything there."""
        groups = self._groups.get(account)
        if groups is None:
            return
        self._seats_due[account] = self._clock() + _SEATS_AGAIN
        try:
            titles = await groups.mine()
        except PlatformError as error:
            logger.warning(
                "The platform did not list a bot's groups; they become known from their messages: %s %s",
                error,
                error.hint,
            )
            return
        self._seats[account].update(titles)
        await asyncio.to_thread(self._note_seats, account, titles)

    def sits_in(self, account: str, session_key: str) -> bool:
        """True when a bot is known to be in a group. For an unknown group the platform is asked now and then."""
        if session_key in self._seats.get(account, ()) or self._people.look().sits_in(session_key, account):
            return True
        if account in self._groups and self._clock() >= self._seats_due.get(account, self._clock()):
            self._seats_due[account] = self._clock() + _SEATS_AGAIN
            self._begin(self.take_seats(account))
        return False

    def seats(self, account: str) -> list[str]:
        """The session keys of a bot's known groups."""
        return sorted(self._seats.get(account, ()))

    def joined(self, account: str, session_key: str) -> None:
        """A bot was added to a group, or was heard of there."""
        if session_key not in self._seats.setdefault(account, set()):
            self._seats[account].add(session_key)
            self._begin(self._noted(self._note_seats, account, {session_key: ""}))

    def left(self, account: str, session_key: str) -> None:
        """A bot was removed from a group."""
        self._seats.get(account, set()).discard(session_key)
        self._begin(self._noted(self._people.left, session_key, account))

    # --- who else does

    def heard(self, account: str, session_key: str, sender: str = "", ids: Ids | None = None) -> None:
        """A bot heard a message of a group. Start asking for what is unknown: the title, the people, and the name of
        its ``sender``; ``ids`` are those the bot sees.
        """
        if account not in self._groups or self._people.members is None or not self._wanted(session_key):
            return
        if self._titles.begin((account, session_key)):
            self._begin(self._ask_title(account, session_key))
        if session_key in self._asking or not self._is_due(session_key, sender):
            return
        self._due[session_key] = self._clock() + _NAMES_AGAIN
        asking = self._begin(self._ask_people(account, session_key, sender, ids or {}))
        self._asking[session_key] = asking
        asking.add_done_callback(lambda _: self._asking.pop(session_key, None))

    async def known(self, session_key: str) -> None:
        """Wait until a running question about this group is answered, for at most ``patience`` seconds.

        If that was not enough, later messages do not wait for the same answer again.
        """
        asking = self._asking.get(session_key)
        if asking is None:
            return
        _, late = await asyncio.wait([asking], timeout=self.patience)
        if late:
            self._asking.pop(session_key, None)

    async def named(self, account: str, session_key: str, entries: Iterable[Entry]) -> bool:
        """Wait a little for the names of people without one; False when everybody has one.

        True even when the answer came at once: it may have come after the entries were read.
        """
        look = self._people.look()
        nameless = next((entry for entry in entries if is_person(entry) and not look.knows(entry)), None)
        if nameless is None:
            return False
        ids = {kind: str(known) for kind, known in sender_ids(nameless).items()}
        lasting = [ids.get(kind) for kind in self._people.platform.person_ids if kind != OPEN_ID]
        if nameless["sender"] in lasting:  # another account's ids mean nothing to this one
            self.heard(account, session_key, nameless["sender"], ids)
        await self.known(session_key)
        return True

    async def close(self) -> None:
        """Cancel running questions."""
        for work in self._work:
            work.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)

    def _is_due(self, session_key: str, sender: str) -> bool:
        """True when the people of a group should be listed: not done for hours, or one of them has no name."""
        now = self._clock()
        if now < self._due.get(session_key, now):
            return False
        if sender:
            if self._people.look().knows({"sender": sender}):  # known by now, from a mention or another process
                return False
            return now >= self._strangers.get((session_key, sender), now)
        return not self._people.is_listed(session_key, _HOPELESS)

    async def _ask_people(self, account: str, session_key: str, sender: str, ids: Ids) -> None:
        kind = next((kind for kind in self._people.platform.person_ids if sender and ids.get(kind) == sender), "")
        kind = kind or self._people.platform.person_ids[0]
        try:
            people = await self._groups[account].people(session_key, kind)
            await asyncio.to_thread(self._people.listed, session_key, people, kind, account)
        except PlatformError as error:
            self._due[session_key] = self._clock() + (_SOONER if _may_pass(error) else _HOPELESS)
            self._complain("The members of a group are unknown and are shown by id", error)
        except StoreError as error:
            logger.log(level_of(error, logging.WARNING), "Names could not be saved: %s %s", error, error.hint)
        else:
            if sender and sender not in people:
                self._strangers[session_key, sender] = self._clock() + _HOPELESS

    async def _ask_title(self, account: str, session_key: str) -> None:
        try:
            title = await self._groups[account].title(session_key)
        except PlatformError as error:
            logger.info("The platform did not tell a group's name: %s %s", error, error.hint)
        else:
            await self._noted(self._note_titles, account, {session_key: title})

    # --- writing down, in a thread

    def _note_seats(self, account: str, titles: dict[str, str]) -> None:
        titles = {session_key: title for session_key, title in titles.items() if self._wanted(session_key)}
        try:
            for session_key in titles:
                self._people.sits(session_key, account)
            self._note_titles(account, {key: title for key, title in titles.items() if title})
        except StoreError as error:
            logger.log(
                level_of(error, logging.WARNING),
                "The groups that a bot is in could not be saved: %s %s",
                error,
                error.hint,
            )

    def _note_titles(self, account: str, titles: dict[str, str]) -> None:
        members = self._people.members
        if members is None:
            return
        for session_key, title in titles.items():
            try:
                members.remember_chat(session_key, title)
            except StoreError as error:
                logger.log(
                    level_of(error, logging.WARNING), "The names of groups could not be saved: %s %s", error, error.hint
                )
                return
            self._titles.answered((account, session_key))

    @staticmethod
    async def _noted(note: Callable[..., None], *args: Any) -> None:
        try:
            await asyncio.to_thread(note, *args)
        except StoreError as error:
            logger.log(
                level_of(error, logging.WARNING), "The members of groups could not be saved: %s %s", error, error.hint
            )

    def _complain(self, what: str, error: PlatformError) -> None:
        if what not in self._complained:
            self._complained.add(what)
            logger.warning("%s: %s %s", what, error, error.hint)

    def _begin(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.get_running_loop().create_task(work)
        self._work.add(task)
        task.add_done_callback(self._work.discard)
        return task


def _may_pass(error: PlatformError) -> bool:
    return isinstance(error, NoAnswerError | RateLimitedError)
