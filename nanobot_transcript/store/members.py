"""Who is who in the groups of a store: names, ids under each app, bots' profiles, who was seen in which chat, and
what each chat is called.
"""

import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias
from weakref import WeakSet

from nanobot_transcript.entry import Ids, well_formed
from nanobot_transcript.identity import AgentProfile, agent_names
from nanobot_transcript.platform import person_kinds
from nanobot_transcript.scripts import on_one_line
from nanobot_transcript.store.member_document import (
    SEEN_STEP_MS,
    Document,
    drop_person,
    empty,
    is_known,
    is_silent,
    put_bot,
    put_person,
    put_seen,
    put_title,
)

__all__ = ["BotProfile", "Change", "Member", "MemberDirectory"]

_LONGEST_TITLE: Final = 200

Change: TypeAlias = Callable[[Document], bool]
"""Changes the document; False when there is nothing to change."""


@dataclass(frozen=True, slots=True)
class BotProfile:
    """One bot: its account, the agent's name, other names, and what each observing account calls it.

    ``silent`` is set when it gave no sign of life for 30 days, or never gave one: then it claims no name any more.
    """

    account: str
    name: str
    aliases: tuple[str, ...] = ()
    description: str = ""
    open_ids: Mapping[str, str] = field(default_factory=dict)
    silent: bool = False

    def called(self, name: str) -> AgentProfile:
        """This bot as a member of a group, under the name that nobody else has."""
        ids = frozenset({name, self.account, *self.open_ids.values()})
        return AgentProfile(name, self.aliases, self.description, ids, account=self.account)


@dataclass(frozen=True, slots=True)
class Member:
    """Somebody seen in a chat. ``name`` is what to show; ``last_seen_ms`` is kept to the hour."""

    sender: str
    name: str
    kind: Literal["human", "bot"]
    last_seen_ms: int


_directories: "WeakSet[MemberDirectory]" = WeakSet()


class MemberDirectory(ABC):
    """Who is who, as one process knows it; a backend keeps it. An unchanged ``remember_*`` costs no I/O.

    For event loops, too: looking up never raises and never waits for a network, it answers with what this process
    knows; what is to be remembered may be written behind the caller. What cannot be written raises StoreError kinds and
    stays in memory.
    """

    def __init__(self, *, now: Callable[[], float] = time.time) -> None:
        self._now: Callable[[], float] = now
        self._mutex: threading.RLock = threading.RLock()
        self._document: Document = empty()
        _directories.add(self)

    @abstractmethod
    def _refresh(self) -> None:
        """Bring ``_document`` up to what other processes wrote, as far as that can be known at once. Never raises."""

    @abstractmethod
    def _change(self, change: Change) -> None:
        """Change ``_document`` and keep that. Raises StoreError kinds when it cannot be kept now."""

    def after_fork(self) -> None:
        """In a forked child: another thread of the parent may have held the mutex."""
        self._mutex = threading.RLock()

    def remember_bot(
        self,
        account: str,
        name: str,
        *,
        aliases: Iterable[str] = (),
        description: str = "",
        open_ids: Mapping[str, str] | None = None,
        alive: bool = True,
    ) -> None:
        """Record a bot's profile. Aliases and description replace the old ones; ``open_ids`` are added.

        ``alive`` says that the bot runs now; without it a bot that is silent stays so.
        """
        account = well_formed(account)
        seen_as = {well_formed(observer): well_formed(open_id) for observer, open_id in (open_ids or {}).items()}
        profile = {"name": well_formed(name), "aliases": [well_formed(alias) for alias in aliases]}
        profile["description"] = well_formed(description)
        now = self._now_ms() if alive else None
        self._change(lambda document: put_bot(document, account, profile, seen_as, now))

    def remember_person(
        self, sender: str, name: str | None = None, ids: Ids | None = None, observer: str | None = None
    ) -> None:
        """Record what is known of a person; ``observer`` is the account that calls the person ``ids["open_id"]``.

        What is not given stays as it was.
        """
        ids = {kind: value for kind, value in (ids or {}).items() if value and kind in person_kinds()}
        if not sender or is_known(self._document, sender, name, ids, observer):
            return
        sender, name = well_formed(sender), well_formed(name) if name else None
        observer = well_formed(observer) if observer else None
        kept = {well_formed(kind): well_formed(value) for kind, value in ids.items()}
        self._change(lambda document: put_person(document, sender, name, kept, observer))

    def saw(self, session_key: str, sender: str) -> None:
        """Note that ``sender`` takes part in a chat, now."""
        now = self._now_ms()
        last = self._document["chats"].get(session_key, {}).get(sender)
        if not sender or (last is not None and now - last < SEEN_STEP_MS):
            return
        session_key, sender = well_formed(session_key), well_formed(sender)
        self._change(lambda document: put_seen(document, session_key, sender, now))

    def remember_chat(self, session_key: str, title: str) -> None:
        """Record what a chat is called, on one line and without characters that nobody sees; an empty title changes
        nothing.
        """
        session_key, title = well_formed(session_key), on_one_line(well_formed(title), _LONGEST_TITLE)
        if title and self._document["titles"].get(session_key) != title:
            self._change(lambda document: put_title(document, session_key, title))

    def ids_of(self, sender: str) -> frozenset[str]:
        """Everything by which a person was ever known: the stable sender, other ids, what each account calls them."""
        self._refresh()
        with self._mutex:
            own = set(self._document["people"].get(sender, {}).get("ids", {}).values())
            for known in self._document["ids"].values():
                own.update(open_id for open_id, owner in known.items() if owner == sender)
        return frozenset({sender, *own})

    def forget(self, sender: str) -> None:
        """Erase a person's name, ids and memberships. The profile of a bot stays; only its memberships go."""
        self._refresh()
        self._change(lambda document: drop_person(document, sender))

    def sender_for(self, observer: str, open_id: str) -> str | None:
        """The stable sender behind what the account ``observer`` calls them: of a person, or the name of a bot."""
        self._refresh()
        known = self._document["ids"].get(observer, {}).get(open_id)
        if known is not None:
            return known
        bots = list(self._document["bots"].items())
        bot = next((bot_id for bot_id, bot in bots if bot.get("open_ids", {}).get(observer) == open_id), None)
        return self._agent_names().get(bot) if bot is not None else None

    def name_of(self, sender: str) -> str | None:
        """What to call a sender: a person by stable sender, a bot by name or account; None when unknown."""
        self._refresh()
        person = self._document["people"].get(sender)
        if person is not None and "name" in person:
            return person["name"]
        if sender in self._document["bots"]:
            return self._agent_names().get(sender)
        return sender if sender in self._bot_names() else None

    def senders_named(self, name: str) -> list[str]:
        """The stable senders of everybody who is called ``name``, upper and lower case alike."""
        self._refresh()
        wanted = name.casefold()
        with self._mutex:
            people = list(self._document["people"].items())
        found = [sender for sender, person in people if person.get("name", "").casefold() == wanted]
        return found + [bot for bot in sorted(self._bot_names()) if bot.casefold() == wanted]

    def bot_of(self, account: str) -> BotProfile | None:
        """The profile of one bot."""
        self._refresh()
        bot = self._document["bots"].get(account)
        return _profile(account, bot, self._now_ms()) if bot is not None else None

    def bots(self) -> list[BotProfile]:
        """All bots of the store, by name."""
        self._refresh()
        with self._mutex:
            profiles = [_profile(account, bot, self._now_ms()) for account, bot in self._document["bots"].items()]
        return sorted(profiles, key=lambda profile: (profile.name, profile.account))

    def of_chat(self, session_key: str) -> list[Member]:
        """Everybody seen in a chat, bots first, then by name."""
        self._refresh()
        with self._mutex:
            seen = list(self._document["chats"].get(session_key, {}).items())
        names = self._bot_names()
        members = [
            Member(sender, self.name_of(sender) or sender, "bot" if sender in names else "human", int(last))
            for sender, last in seen
        ]
        return sorted(members, key=lambda member: (member.kind, member.name, member.sender))

    def title_of(self, session_key: str) -> str | None:
        """What a chat is called; None when unknown."""
        self._refresh()
        return self._document["titles"].get(session_key)

    def _now_ms(self) -> int:
        return int(self._now() * 1000)

    def _agent_names(self) -> dict[str, str]:
        """By account, what each bot is called: two that want one name are told apart, unless one of them is silent."""
        now = self._now_ms()
        with self._mutex:
            wanted = {account: bot["name"] for account, bot in self._document["bots"].items()}
            silent = {account for account, bot in self._document["bots"].items() if is_silent(bot, now)}
        return wanted | agent_names({account: name for account, name in wanted.items() if account not in silent})

    def _bot_names(self) -> set[str]:
        """The senders that are bots; a bot that spoke before another came with its name went by the bare one."""
        with self._mutex:
            wanted = {bot["name"] for bot in self._document["bots"].values()}
        return wanted | set(self._agent_names().values())


def _profile(account: str, bot: dict[str, Any], now: int) -> BotProfile:
    return BotProfile(
        account,
        bot["name"],
        tuple(bot.get("aliases", ())),
        bot.get("description", ""),
        dict(bot.get("open_ids", {})),
        is_silent(bot, now),
    )


def _after_fork() -> None:
    for directory in list(_directories):
        directory.after_fork()


os.register_at_fork(after_in_child=_after_fork)
