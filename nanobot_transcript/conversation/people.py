"""Who is here: names and ids of everybody, from the view of any bot's account, and who is in a group.

What one process learns is saved among the record's members, so that all processes call everybody the same.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeAlias

from nanobot_transcript.conversation.ports import Arrival, MentionedMember
from nanobot_transcript.entry import Ids, Mention
from nanobot_transcript.errors import StoreError
from nanobot_transcript.identity import ACCOUNT, OPEN_ID, AgentProfile, agent_names, name_clashes
from nanobot_transcript.platform import Platform
from nanobot_transcript.sql.outage import level_of
from nanobot_transcript.store.member_view import BotProfile, MemberView
from nanobot_transcript.store.members import MemberDirectory

__all__ = ["UNKNOWN", "Members", "MembersNow", "People", "Sender"]

logger = logging.getLogger(__name__)

_REMEMBERED: Final = 5000
Members: TypeAlias = Callable[[str], Sequence[AgentProfile]]
"""Returns the members of a chat by session key."""
UNKNOWN: Final = "unknown"
"""The sender of a message whose platform does not say who sent it."""


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sent a message: ``sender`` is stable, ``name`` is the one to show, None while unknown."""

    sender: str
    name: str | None
    ids: Ids


@dataclass(slots=True)
class _Own:
    """One bot of this process: its name for the host and the platform, and its own open_id there."""

    given_name: str = ""
    platform_name: str = ""
    open_id: str = ""
    introduced: bool = False


class People:
    """``agents`` is what the settings say of bots, by account; ``only`` names the only bot of this process. Without
    ``members`` nothing is remembered.

    For any thread. Take one ``look`` for everything about one message.
    """

    def __init__(
        self,
        members: MemberDirectory | None,
        platform: Platform,
        agents: Mapping[str, AgentProfile] | None = None,
        *,
        only: str = "",
    ) -> None:
        self.members: MemberDirectory | None = members
        self.platform: Platform = platform
        self.agents: Mapping[str, AgentProfile] = agents or {}
        self.own: dict[str, _Own] = {}
        self._only: str = only
        self._warned: set[tuple[str, ...]] = set()
        self._interned: dict[AgentProfile, AgentProfile] = {}

    def look(self) -> "MembersNow":
        """Who is who now."""
        return MembersNow(self, self._view())

    def _view(self) -> MemberView:
        return self.members.view() if self.members is not None else MemberView.of_nobody()

    # --- this process's bots

    def register(self, account: str, given_name: str = "") -> None:
        """Add a bot of this process; ``given_name`` is its name for the host, if it has one."""
        self.own.setdefault(account, _Own()).given_name = given_name
        if self._only and len(self.own) == 2:
            logger.warning("agent.name is for a process with one bot, but there are several. Name them in agents.")

    def introduce(self, account: str, *, platform_name: str = "", open_id: str = "") -> None:
        """Enter a bot of this process among the members, with what the platform says about it. If that cannot be saved
        now, ``still_here`` repeats it.
        """
        own = self.own.setdefault(account, _Own())
        own.platform_name, own.open_id = platform_name or own.platform_name, open_id or own.open_id
        own.introduced = True
        known = self.agents.get(account)
        if self.members is None:
            return
        name = self.wanted(account, self.members.view())
        aliases = [*known.aliases] if known else []
        if own.platform_name and own.platform_name not in (name, *aliases):
            aliases.append(own.platform_name)
        try:
            self.members.remember_bot(
                account,
                name,
                aliases=aliases,
                description=known.description if known else "",
                open_ids={account: own.open_id} if own.open_id else {},
            )
        except StoreError as error:
            logger.log(
                level_of(error, logging.WARNING),
                "%s could not be saved among the members, trying again later: %s %s",
                name,
                error,
                error.hint,
            )

    def still_here(self) -> None:
        """Repeat that this process's bots are running; a bot that was not heard of for 30 days loses its claim to a
        name.
        """
        for account in list(self.own):
            self.introduce(account)

    def wanted(self, account: str, view: MemberView) -> str:
        """The name of a bot of this process if no other bot had it."""
        own, known = self.own.get(account, _Own()), view.bot_of(account)
        if account in self.agents:
            return self.agents[account].name
        if self._only and len(self.own) <= 1:
            return self._only
        return own.given_name or own.platform_name or (known.name if known else "") or account

    # --- learning, off the path of a message

    def learn(self, arrival: Arrival) -> None:
        """Save what a message tells about people and bots. Raises StoreError."""
        look, members, key = self.look(), self.members, arrival.session_key
        if members is None:
            return
        sender = look.sender_of(arrival).sender
        if sender != UNKNOWN:
            if not arrival.from_bot:
                members.remember_person(sender, arrival.sender_name or None, arrival.sender_ids, arrival.account)
            members.saw(key, sender)
        if (own := self.own.get(arrival.account)) is not None and own.introduced:
            members.saw(key, look.agent_name(arrival.account))
        for mention in arrival.mentions:
            self._learn_mention(members, look, mention, arrival.account)

    def sits(self, session_key: str, account: str) -> None:
        """A bot of this process is in a chat. Raises StoreError."""
        if self.members is not None:
            self.members.saw(session_key, self.look().agent_name(account))

    def left(self, session_key: str, account: str) -> None:
        """A bot of this process has left a chat. Raises StoreError."""
        if self.members is not None:
            self.members.left(session_key, self.look().agent_name(account))

    def listed(self, session_key: str, people: Mapping[str, str], kind: str, account: str) -> None:
        """The platform listed the people of a chat to a bot: their names by ids of this kind. Raises StoreError."""
        if self.members is not None:
            self.members.remember_list(session_key, people, kind, account)

    def is_listed(self, session_key: str, seconds: float) -> bool:
        """True when the people of a chat were listed within the last ``seconds``."""
        return self.members is not None and self.members.is_listed(session_key, seconds)

    def link(self, observer: str, open_id: str, account: str) -> None:
        """``observer`` sees the bot ``account`` as ``open_id``, whatever was assumed before. Raises StoreError."""
        bot = self._view().bot_of(account)
        if self.members is None or bot is None or not open_id or bot.open_ids.get(observer) == open_id:
            return
        about: Any = {"aliases": bot.aliases, "description": bot.description}
        self.members.remember_bot(account, bot.name, **about, open_ids={observer: open_id}, alive=False)

    def _learn_mention(
        self, members: MemberDirectory, look: "MembersNow", mention: MentionedMember, observer: str
    ) -> None:
        account = look.mentioned_bot(mention, observer)
        if account is not None:
            self.link(observer, mention.ids.get(OPEN_ID, ""), account)
        elif mention.kind != "bot" and (sender := look.person(mention.ids, observer)):
            members.remember_person(sender, mention.name, mention.ids, observer)

    # --- what a look needs

    def same(self, profile: AgentProfile) -> AgentProfile:
        """The same object for equal profiles, because the gate caches by identity."""
        if len(self._interned) > _REMEMBERED:
            self._interned.clear()
        return self._interned.setdefault(profile, profile)

    def warn_of_clashes(self, wanted: Mapping[str, str], names: Mapping[str, str]) -> None:
        """Log, once, which bots want the same name."""
        for name, accounts in name_clashes(wanted).items():
            if tuple(accounts) in self._warned:
                continue
            self._warned.add(tuple(accounts))
            called = ", ".join(f"{account} is called {names[account]}" for account in accounts)
            logger.warning("Several bots have the name %s: %s. Give each its own name in agents.", name, called)


class MembersNow:
    """Who is who at one moment, for everything about one message."""

    def __init__(self, people: People, view: MemberView) -> None:
        self._people: People = people
        self._view: MemberView = view

    @cached_property
    def _bots(self) -> list[BotProfile]:
        """The bots that were heard of lately."""
        return [bot for bot in self._view.bots() if not bot.silent]

    @cached_property
    def _names(self) -> dict[str, str]:
        """For each bot, by account, a name that nobody else has."""
        people = self._people
        wanted = {bot.account: bot.name for bot in self._bots}
        wanted |= {account: agent.name for account, agent in people.agents.items()}
        wanted |= {account: people.wanted(account, self._view) for account in people.own}
        names = agent_names(wanted)
        people.warn_of_clashes(wanted, names)
        return names

    def agent_name(self, account: str) -> str:
        """The name of a bot in the record, which no other bot has."""
        known = self._view.bot_of(account)
        return self._names.get(account) or (known.name if known else account)

    def profile(self, account: str) -> AgentProfile:
        """A bot as the gate and the loop guard need it."""
        name, known = self.agent_name(account), self._view.bot_of(account)
        if known is not None:
            return self._people.same(known.called(name))
        told = self._people.agents.get(account, AgentProfile(name))
        ids = frozenset({name, account})
        return self._people.same(AgentProfile(name, told.aliases, told.description, ids, account=account))

    def members(self, session_key: str, account: str) -> list[AgentProfile]:
        """Who is in a chat, as far as known: the bot ``account`` first, other bots, people.

        A bot that is named in the settings but has never run counts as present everywhere: whoever calls it means no
        other bot.
        """
        me, seen = self.profile(account), self._view.of_chat(session_key)
        present = {member.sender for member in seen}
        others = [
            bot.called(self.agent_name(bot.account))
            for bot in self._bots
            if bot.account != account and not present.isdisjoint((bot.name, self.agent_name(bot.account)))
        ]
        unknown = [each for each in self._people.agents if each != account and self._view.bot_of(each) is None]
        others += [self.profile(each) for each in unknown if each not in self._people.own]
        people = [
            AgentProfile(member.name, ids=frozenset({member.sender}), kind="human")
            for member in seen
            if member.kind == "human"
        ]
        return [me, *(self._people.same(member) for member in (*others, *people))]

    def names_in(self, session_key: str) -> dict[str, str]:
        """The names, by stable sender, of everybody who was seen in a chat."""
        return {member.sender: member.name for member in self._view.of_chat(session_key)}

    def sits_in(self, session_key: str, account: str) -> bool:
        """True when a bot was heard of in a chat."""
        name = self.agent_name(account)
        return any(member.sender == name for member in self._view.of_chat(session_key))

    # --- of one message

    def sender_of(self, arrival: Arrival) -> Sender:
        """The sender of a message."""
        ids = arrival.sender_ids
        if arrival.from_bot:
            account = self._account_of(ids, arrival.account)
            if account is None or account not in self._names:
                return Sender(
                    account or self._people.platform.sender_of(ids) or "bot", arrival.sender_name or None, ids
                )
            name = self.agent_name(account)
            return Sender(name, name, {**ids, ACCOUNT: account})
        sender = self.person(ids, arrival.account) or UNKNOWN
        return Sender(sender, self._view.name_of(sender) or arrival.sender_name or None, ids)

    def mentions_of(self, arrival: Arrival) -> list[Mention]:
        """The members named in a message, each with the stable sender where it is known."""
        return [self._mention(mention, arrival.account) for mention in arrival.mentions]

    def is_lasting(self, ids: Ids, observer: str) -> bool:
        """True when these ids of a person give a sender that other accounts would find, too."""
        return self.person(ids, observer) != ids.get(OPEN_ID)

    def person(self, ids: Ids, observer: str) -> str:
        """The stable sender of a person as ``observer`` sees them; empty when nothing is known."""
        sender, open_id = self._people.platform.sender_of(ids), ids.get(OPEN_ID)
        if open_id and sender == open_id:
            return self._view.sender_for(observer, open_id) or sender
        return sender

    def mentioned_bot(self, mention: MentionedMember, observer: str) -> str | None:
        """The account of the bot that is mentioned: by its ids, else by the name.

        Anybody can take a name, so a name does not count when the ids are a known person's, or when ``observer`` knows
        the bot of that name by another id.
        """
        if mention.kind == "human":
            return None
        found = self._account_of(mention.ids, observer)
        if found is not None:
            return found
        if mention.kind is None and self._is_of_a_person(mention.ids, observer):
            return None
        called = [bot for bot in self._bots if _is_called(bot, mention.name)]
        if len(called) != 1 or (mention.ids.get(OPEN_ID) and observer in called[0].open_ids):
            return None
        return called[0].account

    # --- of entries

    def shown(self, entry: Mapping[str, Any]) -> str:
        """What to call the sender of an entry."""
        sender = str(entry.get("sender") or "")
        return self._view.name_of(sender) or str(entry.get("sender_name") or "") or sender or "somebody"

    def knows(self, entry: Mapping[str, Any]) -> bool:
        """True when the sender of an entry has a name and is not shown by id."""
        return bool(entry.get("sender_name") or self._view.name_of(str(entry.get("sender") or "")))

    def _account_of(self, ids: Ids, observer: str) -> str | None:
        """The account behind a bot's ids, if known."""
        account, open_id = ids.get(ACCOUNT), ids.get(OPEN_ID)
        if account:
            return account
        lasting = self._people.platform.sender_of(ids)
        if lasting and self._is_account(lasting):
            return lasting
        own = self._people.own.get(observer)
        if own is not None and open_id and own.open_id == open_id:
            return observer
        bots: Iterable[BotProfile] = self._view.bots() if open_id else ()
        return next((bot.account for bot in bots if bot.open_ids.get(observer) == open_id), None)

    def _is_of_a_person(self, ids: Ids, observer: str) -> bool:
        """True for ids of a known person."""
        seen_as = self._view.sender_for(observer, ids.get(OPEN_ID, ""))
        return any(self._view.is_person(sender) for sender in (self.person(ids, observer), seen_as or ""))

    def _is_account(self, identity: str) -> bool:
        """True for a bot's account. On some platforms everybody sees that id as its sender, like a person's."""
        people = self._people
        return identity in people.own or identity in people.agents or self._view.bot_of(identity) is not None

    def _mention(self, mention: MentionedMember, observer: str) -> Mention:
        account = self.mentioned_bot(mention, observer)
        if account is not None:
            return {"name": mention.name, "id": self.agent_name(account), "account": account}
        stable = self.person(mention.ids, observer)
        return {"name": mention.name, "id": stable} if stable else {"name": mention.name}


def _is_called(bot: BotProfile, name: str) -> bool:
    return name.casefold() in (called.casefold() for called in (bot.name, *bot.aliases))
