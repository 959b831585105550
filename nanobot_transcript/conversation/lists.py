"""What the platform lists: the groups a bot sits in, their people and titles. Asked seldom, because calls are counted,
and kept among the record's members, so that one process asks for all.
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
    """Anything may be asked for at once, and again a day after the answer. What got none may be asked for five minutes
    later, and with each further failure after twice the time, up to six hours: perhaps the bot may not know.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock: Callable[[], float] = clock
        self._due: dict[Hashable, float] = {}
        self._pauses: dict[Hashable, float] = {}

    def begin(self, what: Hashable) -> bool:
        """True when it is to be asked for now. Until it is ``answered`` that counts as a failure."""
        now = self._clock()
        if now < self._due.get(what, now):
            return False
        pause = self._pauses.get(what, _SOONER)
        self._due[what], self._pauses[what] = now + pause, min(2 * pause, _HOPELESS)
        return True

    def answered(self, what: Hashable) -> None:
        """It is known now."""
        self._due[what] = self._clock() + _DAY
        self._pauses.pop(what, None)


class Lists:
    """The lists of all bots of this process; for one event loop. Nothing here raises: what the platform refuses is
    logged once and leaves what is known. Of a group that is not ``wanted`` nothing is asked and nothing written down.
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
        """Seconds for which a message waits until it is known who is in its group."""

    def attend(self, account: str, groups: Groups) -> None:
        """Ask for a bot of this process here."""
        self._groups[account] = groups
        self._seats.setdefault(account, set())

    # --- where a bot sits

    async def take_seats(self, account: str) -> None:
        """Ask in which groups a bot sits, and let the other bots know it, before it has said anything there."""
        groups = self._groups.get(account)
        if groups is None:
            return
        self._seats_due[account] = self._clock() + _SEATS_AGAIN
        try:
            titles = await groups.mine()
        except PlatformError as error:
            logger.warning("The groups that a bot is in are known from their messages only: %s %s", error, error.hint)
            return
        self._seats[account].update(titles)
        await asyncio.to_thread(self._note_seats, account, titles)

    def sits_in(self, account: str, session_key: str) -> bool:
        """True when a bot is known to sit in a group; about an unknown one the platform is asked now and then."""
        if session_key in self._seats.get(account, ()) or self._people.look().sits_in(session_key, account):
            return True
        if account in self._groups and self._clock() >= self._seats_due.get(account, self._clock()):
            self._seats_due[account] = self._clock() + _SEATS_AGAIN
            self._begin(self.take_seats(account))
        return False

    def seats(self, account: str) -> list[str]:
        """The session keys of the groups that are known."""
        return sorted(self._seats.get(account, ()))

    def joined(self, account: str, session_key: str) -> None:
        """A bot was taken into a group, or was heard of there."""
        if session_key not in self._seats.setdefault(account, set()):
            self._seats[account].add(session_key)
            self._begin(self._noted(self._note_seats, account, {session_key: ""}))

    def left(self, account: str, session_key: str) -> None:
        """A bot was put out of a group."""
        self._seats.get(account, set()).discard(session_key)
        self._begin(self._noted(self._people.left, session_key, account))

    # --- who else does

    def heard(self, account: str, session_key: str, sender: str = "", ids: Ids | None = None) -> None:
        """A bot heard a message of a group. Begin to find out what is not known of it: its title, its people, and the
        name of its ``sender`` where that has none; ``ids`` are those the bot sees.
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
        """Wait until a question about this group that is under way is answered, for ``patience`` seconds at most.

        When that was not enough, later messages do not wait for the same answer again.
        """
        asking = self._asking.get(session_key)
        if asking is None:
            return
        _, late = await asyncio.wait([asking], timeout=self.patience)
        if late:
            self._asking.pop(session_key, None)

    async def named(self, account: str, session_key: str, entries: Iterable[Entry]) -> bool:
        """Wait a little for the names of people who have none yet; False when everybody has one.

        True even when the answer was there at once: it may have come after the entries were read.
        """
        look = self._people.look()
        nameless = next((entry for entry in entries if is_person(entry) and not look.knows(entry)), None)
        if nameless is None:
            return False
        ids = {kind: str(known) for kind, known in sender_ids(nameless).items()}
        lasting = [ids.get(kind) for kind in self._people.platform.person_ids if kind != OPEN_ID]
        if nameless["sender"] in lasting:  # what another account calls somebody says nothing to this one
            self.heard(account, session_key, nameless["sender"], ids)
        await self.known(session_key)
        return True

    async def close(self) -> None:
        """End what is being asked."""
        for work in self._work:
            work.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)

    def _is_due(self, session_key: str, sender: str) -> bool:
        """True when the people of a group are to be asked for: nobody has for hours, or one of them has no name."""
        now = self._clock()
        if now < self._due.get(session_key, now):
            return False
        if sender:
            if self._people.look().knows({"sender": sender}):  # by a mention, or another process has asked
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
            logger.info("The name of a group is unknown: %s %s", error, error.hint)
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
