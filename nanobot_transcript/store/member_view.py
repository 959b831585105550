"""Looking up who is who: names, ids under each account, bots' profiles, who was seen in which chat."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from nanobot_transcript.identity import AgentProfile, agent_names
from nanobot_transcript.store.member_document import SEEN_STEP_MS, Document, empty, is_silent

__all__ = ["BotProfile", "Member", "MemberView"]


@dataclass(frozen=True, slots=True)
class BotProfile:
    """One bot: its account, the agent's name, other names, and what each observing account calls it.

    ``silent``: it was not heard of for 30 days, or never; then it no longer claims its name.
    """

    account: str
    name: str
    aliases: tuple[str, ...] = ()
    description: str = ""
    open_ids: Mapping[str, str] = field(default_factory=dict)
    silent: bool = False

    def called(self, name: str) -> AgentProfile:
        """This bot as a member of a group, under a name that nobody else has."""
        ids = frozenset({name, self.account, *self.open_ids.values()})
        return AgentProfile(name, self.aliases, self.description, ids, account=self.account)


@dataclass(frozen=True, slots=True)
class Member:
    """Somebody in a chat. ``name`` is the one to show; ``last_seen_ms`` is kept to the hour, 0 when never heard of."""

    sender: str
    name: str
    kind: Literal["human", "bot"]
    last_seen_ms: int


class MemberView:
    """Who is who at one moment: any number of lookups after one look at what other processes wrote."""

    def __init__(self, document: Document, mutex: threading.RLock, *, now: Callable[[], float] = time.time) -> None:
        self._document: Document = document
        self._mutex: threading.RLock = mutex
        self._now: Callable[[], float] = now

    @classmethod
    def of_nobody(cls) -> "MemberView":
        """A view in which nobody is known."""
        return cls(empty(), threading.RLock())

    def _look(self) -> Document:
        """The document to look things up in."""
        return self._document

    def ids_of(self, sender: str) -> frozenset[str]:
        """Everything a person was ever known by: the stable sender, other ids, what each account calls them."""
        document = self._look()
        with self._mutex:
            own = set(document["people"].get(sender, {}).get("ids", {}).values())
            for known in document["ids"].values():
                own.update(open_id for open_id, owner in known.items() if owner == sender)
        return frozenset({sender, *own})

    def sender_for(self, observer: str, open_id: str) -> str | None:
        """The stable sender that the account ``observer`` knows by an open_id: a person, or the name of a bot."""
        document = self._look()
        known = document["ids"].get(observer, {}).get(open_id)
        if known is not None:
            return known
        bots = list(document["bots"].items())
        bot = next((bot_id for bot_id, bot in bots if bot.get("open_ids", {}).get(observer) == open_id), None)
        return self._agent_names().get(bot) if bot is not None else None

    def name_of(self, sender: str) -> str | None:
        """What to call a sender: a person by stable sender, a bot by name or account; None when unknown."""
        document = self._look()
        person = document["people"].get(sender)
        if person is not None and "name" in person:
            return person["name"]
        if sender in document["bots"]:
            return self._agent_names().get(sender)
        return sender if sender in self._bot_names() else None

    def is_person(self, sender: str) -> bool:
        """True for the stable sender of a known person."""
        return sender in self._look()["people"]

    def senders_named(self, name: str) -> list[str]:
        """The stable senders of everybody called ``name``, ignoring case."""
        document = self._look()
        wanted = name.casefold()
        with self._mutex:
            people = list(document["people"].items())
        found = [sender for sender, person in people if person.get("name", "").casefold() == wanted]
        return found + [bot for bot in sorted(self._bot_names()) if bot.casefold() == wanted]

    def bot_of(self, account: str) -> BotProfile | None:
        """The profile of one bot."""
        document = self._look()
        bot = document["bots"].get(account)
        return _profile(account, bot, self._now_ms()) if bot is not None else None

    def bots(self) -> list[BotProfile]:
        """All bots of the store, by name."""
        document = self._look()
        with self._mutex:
            profiles = [_profile(account, bot, self._now_ms()) for account, bot in document["bots"].items()]
        return sorted(profiles, key=lambda profile: (profile.name, profile.account))

    def of_chat(self, session_key: str) -> list[Member]:
        """Everybody who was seen in a chat or is listed by its platform, bots first, then by name."""
        document = self._look()
        names = self._bot_names()
        with self._mutex:
            seen = dict(document["chats"].get(session_key, {}))
            listed = document["lists"].get(session_key)
            if listed is not None:  # whoever is not listed has left, unless seen since
                there, since = dict.fromkeys(listed["people"], 0), listed["at"] - SEEN_STEP_MS
                stayed = {who: at for who, at in seen.items() if who in names or who in there or at >= since}
                seen = there | stayed
        members = [
            Member(sender, self.name_of(sender) or sender, "bot" if sender in names else "human", int(last))
            for sender, last in seen.items()
        ]
        return sorted(members, key=lambda member: (member.kind, member.name, member.sender))

    def title_of(self, session_key: str) -> str | None:
        """What a chat is called; None when unknown."""
        document = self._look()
        return document["titles"].get(session_key)

    def _now_ms(self) -> int:
        return int(self._now() * 1000)

    def _agent_names(self) -> dict[str, str]:
        """What each bot is called, by account: two that want one name get different ones, unless one of them is
        silent.
        """
        now = self._now_ms()
        with self._mutex:
            wanted = {account: bot["name"] for account, bot in self._look()["bots"].items()}
            silent = {account for account, bot in self._look()["bots"].items() if is_silent(bot, now)}
        return wanted | agent_names({account: name for account, name in wanted.items() if account not in silent})

    def _bot_names(self) -> set[str]:
        """The senders that are bots, including bare names: a bot had its bare name until another one came with the
        same.
        """
        with self._mutex:
            wanted = {bot["name"] for bot in self._look()["bots"].values()}
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
