"""Who is who: the names of this process's bots, of the other bots, and of the people.

What one process learns goes into the store's members file, so that all of them call everybody the same.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from nanobot_transcript.entry import Ids, Mention
from nanobot_transcript.identity import AgentProfile, agent_names, name_clashes
from nanobot_transcript.settings import Settings
from nanobot_transcript.store.member_view import BotProfile
from nanobot_transcript.store.members import MemberDirectory
from transcript_channels.feishu import MentionedMember, Message
from transcript_channels.feishu.platform import FEISHU

__all__ = ["Names", "Sender"]

logger = logging.getLogger(__name__)

_DEFAULT_INSTANCE: Final = "nanobot"


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sent a message: ``sender`` is stable, ``name`` what to show, None while unknown."""

    sender: str
    name: str | None
    ids: Ids


@dataclass(slots=True)
class _Own:
    """One bot of this process."""

    instance_name: str = ""
    platform_name: str = ""
    open_id: str = ""


class Names:
    """Names as the settings, the instances, the platform and the store's members give them."""

    def __init__(self, members: MemberDirectory, settings: Settings) -> None:
        self._members: MemberDirectory = members
        self._settings: Settings = settings
        self._own: dict[str, _Own] = {}
        self._warned: set[tuple[str, ...]] = set()

    # --- this process's bots

    def register(self, app_id: str, instance_name: str, instance_id: str) -> None:
        """A bot of this process. The name nanobot gives every instance by itself does not count as one."""
        given = instance_name.strip()
        usual = {_DEFAULT_INSTANCE, f"{_DEFAULT_INSTANCE} {instance_id}"}
        self._own.setdefault(app_id, _Own()).instance_name = "" if given in usual else given
        if self._settings.agent.name and len(self._own) == 2:
            logger.warning("agent.name is for one bot per process; here are several. Name them in agents.")

    def introduce(self, app_id: str, *, platform_name: str = "", open_id: str = "") -> None:
        """Put a bot of this process into the members file, with what the platform says about it."""
        own = self._own.setdefault(app_id, _Own())
        own.platform_name, own.open_id = platform_name or own.platform_name, open_id or own.open_id
        name, profile = self._wanted(app_id), self._settings.agents.get(app_id)
        aliases = [*profile.aliases] if profile else []
        if own.platform_name and own.platform_name not in (name, *aliases):
            aliases.append(own.platform_name)
        self._members.remember_bot(
            app_id,
            name,
            aliases=aliases,
            description=profile.description if profile else "",
            open_ids={app_id: own.open_id} if own.open_id else None,
        )
        self._warn_of_clashes(self._all_wanted())

    def still_here(self) -> None:
        """Tell the others that the bots of this process run: a bot that is silent for 30 days claims no name."""
        for app_id in list(self._own):
            self.introduce(app_id)

    def agent_name(self, app_id: str) -> str:
        """The name of a bot, the same in every process, and nobody else's."""
        wanted = self._all_wanted()
        self._warn_of_clashes(wanted)
        known = self._members.bot_of(app_id)
        return agent_names(wanted).get(app_id) or (known.name if known else app_id)

    def profile(self, app_id: str) -> AgentProfile:
        """A bot as the gate and the loop guard want to know it."""
        name, known = self.agent_name(app_id), self._members.bot_of(app_id)
        if known is None:
            return AgentProfile(name, ids=frozenset({name, app_id}), account=app_id)
        return known.called(name)

    # --- senders and mentions of a message, as the bot ``observer`` sees them

    def sender_of(self, message: Message, observer: str) -> Sender:
        """The sender of a message."""
        if message.from_bot:
            return self._bot_sender(message.sender_ids, observer)
        sender = self._person(message.sender_ids, observer)
        return Sender(sender, self._members.name_of(sender), message.sender_ids)

    def mentions_of(self, message: Message, observer: str) -> list[Mention]:
        """The members named in a message, each with the stable sender where it is known."""
        return [self._mention(mention, observer) for mention in message.mentions]

    def shown(self, entry: Mapping[str, Any]) -> str:
        """What to call the sender of an entry."""
        sender = str(entry.get("sender") or "")
        return self._members.name_of(sender) or str(entry.get("sender_name") or "") or sender or "somebody"

    def knows(self, entry: Mapping[str, Any]) -> bool:
        """True when the sender of an entry has a name, and is not shown by id."""
        return bool(entry.get("sender_name") or self._members.name_of(str(entry.get("sender") or "")))

    # --- learning, off the path of a message

    def learn(self, message: Message, session_key: str, observer: str) -> None:
        """Keep what a message tells about people and bots."""
        sender = self.sender_of(message, observer)
        if not message.from_bot and sender.sender:
            self._members.remember_person(sender.sender, None, message.sender_ids, observer)
        if sender.sender:
            self._members.saw(session_key, sender.sender)
        if (own := self._own.get(observer)) is not None and own.open_id:
            self._members.saw(session_key, self.agent_name(observer))
        for mention in message.mentions:
            self._learn_mention(mention, observer)

    def spoke(self, session_key: str, name: str) -> None:
        """A bot of this process takes part in a chat."""
        self._members.saw(session_key, name)

    def link(self, observer: str, open_id: str, app_id: str) -> None:
        """What ``observer`` sees as ``open_id`` is the bot ``app_id``."""
        bot = self._members.bot_of(app_id)
        if bot is None or not open_id or bot.open_ids.get(observer) == open_id:
            return
        self._members.remember_bot(
            app_id,
            bot.name,
            aliases=bot.aliases,
            description=bot.description,
            open_ids={observer: open_id},
            alive=False,
        )

    # --- inside

    def _wanted(self, app_id: str) -> str:
        profile, own = self._settings.agents.get(app_id), self._own.get(app_id, _Own())
        if profile is not None:
            return profile.name
        if self._settings.agent.name and len(self._own) <= 1:
            return self._settings.agent.name
        known = self._members.bot_of(app_id)
        return own.instance_name or own.platform_name or (known.name if known else "") or app_id

    def _all_wanted(self) -> dict[str, str]:
        wanted = {bot.account: bot.name for bot in self._members.bots() if not bot.silent}
        return wanted | {app_id: self._wanted(app_id) for app_id in self._own}

    def _warn_of_clashes(self, wanted: Mapping[str, str]) -> None:
        for name, apps in name_clashes(wanted).items():
            if tuple(apps) in self._warned:
                continue
            self._warned.add(tuple(apps))
            names = agent_names(wanted)
            called = ", ".join(f"{app_id} is called {names[app_id]}" for app_id in apps)
            logger.warning("Several bots want the name %s: %s. Name them in the settings, agents.", name, called)

    def _bot_sender(self, ids: Ids, observer: str) -> Sender:
        app_id = self._app_of(ids, observer)
        if app_id is None:
            unknown = ids.get("app_id") or FEISHU.sender_of(ids) or "bot"
            return Sender(unknown, None, ids)
        name = self.agent_name(app_id)
        return Sender(name, name, {**ids, "app_id": app_id})

    def _app_of(self, ids: Ids, observer: str) -> str | None:
        """The app behind a bot's ids, if it is known."""
        app_id, open_id = ids.get("app_id"), ids.get("open_id")
        if app_id:
            return app_id
        own = self._own.get(observer)
        if own is not None and open_id and own.open_id == open_id:
            return observer
        bots = self._members.bots() if open_id else []
        return next((bot.account for bot in bots if bot.open_ids.get(observer) == open_id), None)

    def _person(self, ids: Ids, observer: str) -> str:
        sender, open_id = FEISHU.sender_of(ids), ids.get("open_id")
        if open_id and sender == open_id:
            return self._members.sender_for(observer, open_id) or sender
        return sender

    def _mention(self, mention: MentionedMember, observer: str) -> Mention:
        app_id = self._mentioned_bot(mention, observer)
        stable = self.agent_name(app_id) if app_id else self._person(mention.ids, observer)
        return {"name": mention.name, "id": stable} if stable else {"name": mention.name}

    def _mentioned_bot(self, mention: MentionedMember, observer: str) -> str | None:
        if mention.kind == "human":
            return None
        found = self._app_of(mention.ids, observer)
        if found is not None:
            return found
        called = [bot for bot in self._members.bots() if not bot.silent and _is_called(bot, mention.name)]
        return called[0].account if len(called) == 1 else None

    def _learn_mention(self, mention: MentionedMember, observer: str) -> None:
        app_id = self._mentioned_bot(mention, observer)
        if app_id is not None:
            self.link(observer, mention.ids.get("open_id", ""), app_id)
        elif mention.kind != "bot":
            sender = self._person(mention.ids, observer)
            if sender:
                self._members.remember_person(sender, mention.name, mention.ids, observer)


def _is_called(bot: BotProfile, name: str) -> bool:
    return name.casefold() in (called.casefold() for called in (bot.name, *bot.aliases))
