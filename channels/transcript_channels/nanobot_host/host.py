"""Everything the plugin consists of in one process, put together once."""

import asyncio
import weakref
from dataclasses import dataclass, field
from typing import Any

from nanobot_transcript.settings import Settings
from nanobot_transcript.store.async_front import AsyncGroupTranscriptStore
from nanobot_transcript.store.front import GroupTranscriptStore
from transcript_channels.nanobot_host.answers import Answers
from transcript_channels.nanobot_host.asking import Asking
from transcript_channels.nanobot_host.background import Background
from transcript_channels.nanobot_host.deciders import Deciders
from transcript_channels.nanobot_host.forgetting import Forgetting
from transcript_channels.nanobot_host.gatekeeper import Gatekeeper
from transcript_channels.nanobot_host.inbound import Inbound
from transcript_channels.nanobot_host.names import Names
from transcript_channels.nanobot_host.outbound import Outbound
from transcript_channels.nanobot_host.policy import Policy
from transcript_channels.nanobot_host.privacy import PrivateChats
from transcript_channels.nanobot_host.roster import Roster
from transcript_channels.nanobot_host.turns import Turns
from transcript_channels.nanobot_host.watermark import Watermarks

__all__ = ["Bot", "Host"]


@dataclass(slots=True, eq=False)
class Bot:
    """One bot of this process: its app, nanobot's channel object, the messages that became its turns, its answers."""

    app_id: str
    channel: "weakref.ref[Any]"
    turns: Turns = field(default_factory=Turns)
    answers: Answers = field(default_factory=Answers)

    @property
    def channel_name(self) -> str:
        """nanobot's name of the channel, ``feishu`` or ``feishu.<instance>``; nanobot sets it late."""
        return str(getattr(self.channel(), "name", ""))


class Host:
    """The parts, each knowing only those it needs."""

    def __init__(self, settings: Settings, store: GroupTranscriptStore) -> None:
        self.settings: Settings = settings
        self.store: GroupTranscriptStore = store
        self.async_store: AsyncGroupTranscriptStore = AsyncGroupTranscriptStore.over(store)
        self.policy: Policy = Policy(settings.groups)
        self.names: Names = Names(store.members, settings)
        self.private: PrivateChats = PrivateChats(store.base_dir)
        self.watermarks: Watermarks = Watermarks(store.base_dir)
        self.deciders: Deciders = Deciders(settings, self.async_store, self.names.profile)
        self.gatekeeper: Gatekeeper = Gatekeeper(self.deciders)
        self.background: Background = Background(self._maintain)
        self.asking: Asking = Asking()
        self.bots: dict[str, Bot] = {}
        self.forgetting: Forgetting = Forgetting(store, self.watermarks, lambda: self.bots, self._loop)
        self.roster: Roster = Roster(store.members, lambda app_id: self._of_channel(app_id, "_client"))
        self.inbound: Inbound = Inbound(
            store, self.policy, self.names, self.private, self.background, self.roster, self.forgetting
        )
        self.outbound: Outbound = Outbound(
            self.async_store, self.policy, self.names, self.private, self.inbound, self._answered, self._hop
        )

    def register(self, channel: Any) -> Bot:
        """A channel object nanobot made; one that replaces another keeps its turns."""
        config = channel.config
        app_id = str(getattr(config, "app_id", "") or "")
        self.names.register(
            app_id,
            str(getattr(config, "name", "") or ""),
            str(getattr(config, "instance_id", "") or "default"),
        )
        bot = self.bots.get(app_id)
        if bot is None:
            bot = self.bots[app_id] = Bot(app_id, weakref.ref(channel))
        bot.channel = weakref.ref(channel)
        return bot

    def bot_on(self, channel_name: str) -> Bot | None:
        """The bot that speaks on a channel of nanobot."""
        return next((bot for bot in self.bots.values() if bot.channel_name == channel_name), None)

    def _answered(self, app_id: str, chat_id: str, trigger: str | None, message_id: str, text: str) -> None:
        """Keep which answer of a session this message is, so that it is found there when it is taken back."""
        bot = self.bots.get(app_id)
        if bot is None:
            return
        bot.answers.sent(trigger)
        session = bot.turns.session_of(trigger) or f"{bot.channel_name}:{chat_id}"
        mark = self.watermarks.load(app_id, session)
        if mark is not None:
            self.watermarks.save(app_id, session, mark.with_answer(message_id, text))

    def _hop(self, app_id: str, trigger: str | None) -> int | None:
        bot = self.bots.get(app_id)
        return bot.answers.hop_of(trigger) if bot is not None else None

    def _of_channel(self, app_id: str, attribute: str) -> Any:
        bot = self.bots.get(app_id)
        return getattr(bot.channel(), attribute, None) if bot is not None else None

    def _loop(self) -> asyncio.AbstractEventLoop | None:
        """The loop nanobot runs on, once a channel was started."""
        return next((loop for app_id in self.bots if (loop := self._of_channel(app_id, "_loop"))), None)

    def _maintain(self) -> None:
        self.store.maintain()
        self.watermarks.prune()
        self.names.still_here()
