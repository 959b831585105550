"""Composes the parts of the plugin, once per process."""

import asyncio
import atexit
import logging
import weakref
from typing import Any, Final

from nanobot_transcript.conversation.arrivals import Arrivals
from nanobot_transcript.conversation.composition import Conversation
from nanobot_transcript.conversation.ports import InboundMessage
from nanobot_transcript.conversation.posts import Posts
from nanobot_transcript.coordination.contract import Marks
from nanobot_transcript.coordination.write_behind import MarksBehind
from nanobot_transcript.entry import Ids
from nanobot_transcript.errors import StoreError
from nanobot_transcript.record import Record
from nanobot_transcript.settings import Settings
from nanobot_transcript.store.async_front import AsyncGroupTranscriptStore
from nanobot_transcript.store.front import GroupTranscriptStore
from transcript_channels.feishu.history_items import FORWARDED
from transcript_channels.feishu.platform import FEISHU
from transcript_channels.feishu.settings import FeishuSettings
from transcript_channels.nanobot_host import watermark
from transcript_channels.nanobot_host.bot import Bot
from transcript_channels.nanobot_host.feishu_clients import Clients, load
from transcript_channels.nanobot_host.gatekeeper import Gatekeeper
from transcript_channels.nanobot_host.history import Histories
from transcript_channels.nanobot_host.inbound import PRIVATE, Inbound, PrivateChats
from transcript_channels.nanobot_host.judge import HostModel, judge_of
from transcript_channels.nanobot_host.outbound import Outbound
from transcript_channels.nanobot_host.outcomes import Outcomes
from transcript_channels.nanobot_host.platform_questions import PlatformQuestions
from transcript_channels.nanobot_host.session_erasure import Forgetting
from transcript_channels.nanobot_host.watermark import Watermarks

__all__ = ["Host"]

logger = logging.getLogger(__name__)

_ASKED_AT_ONCE: Final = 20
_USUAL_NAME: Final = "nanobot"
_LONGEST_WAIT: Final = 0.2
"""Seconds that the thread of the long connection waits for the outbox: the platform pushes again after three."""
_LAST_WORDS: Final = 2.0
"""Seconds that the end of the process waits for what is still being written."""


class Host:
    """The parts of the plugin; each is given only what it needs."""

    def __init__(self, settings: Settings, record: Record) -> None:
        store, marks = record.store, _kept_behind(record.marks)
        self.settings: Settings = settings
        self.record: Record = record
        self.private: PrivateChats = PrivateChats(marks)
        self.watermarks: Watermarks = Watermarks(marks)
        self.bots: dict[str, Bot] = {}
        self.clients: Clients = Clients(
            lambda app_id: self._of_channel(app_id, "config"), settings.section(FeishuSettings).base_url
        )
        self.histories: Histories | None = self._histories(store)
        self.conversation: Conversation = Conversation(
            record,
            FEISHU,
            settings.conversation(FEISHU, only=settings.agent.name or ""),
            AsyncGroupTranscriptStore.over(store, fallback=self.histories),
            is_private=self.private.__contains__,
            hourly=(store.maintain, self.watermarks.prune),
        )
        if self.histories is not None:
            store.on_read = self._was_read
        self.posts: Posts | None = Posts(record.outbox, longest_wait=_LONGEST_WAIT) if settings.outbox.serve else None
        self.model: HostModel = HostModel()
        if settings.gate.judge.kind == "openai":
            settings.require("gate.judge")
        self.gatekeeper: Gatekeeper = Gatekeeper(self.conversation, judge_of(settings.gate.judge, self.model))
        self.asking: PlatformQuestions = PlatformQuestions()
        self.forgetting: Forgetting = Forgetting(
            store, self.watermarks, lambda: self.bots, self._loop, is_far=self.conversation.is_far
        )
        self.arrivals: Arrivals = Arrivals(
            store,
            policy=self.conversation.policy,
            is_answer=self.posts.is_answer if self.posts is not None else None,
            first_heard=self._first_heard,
        )
        self.inbound: Inbound = Inbound(
            self.conversation, self.arrivals, self.private, self.forgetting, self._sits, self._heard
        )
        self.outcomes: Outcomes = Outcomes(self.gatekeeper.ended, self.conversation.records, self.bot_on)
        self.outbound: Outbound = Outbound(self.conversation, self.arrivals, self._answered, self._hop)

    def register(self, channel: Any) -> Bot:
        """The bot of a channel object that nanobot made; one that replaces another keeps its turns."""
        config = channel.config
        app_id = str(getattr(config, "app_id", "") or "")
        self.conversation.people.register(app_id, _given_name(config))
        bot = self.bots.get(app_id)
        if bot is None:
            bot = self.bots[app_id] = Bot(app_id, weakref.ref(channel))
        bot.channel = weakref.ref(channel)
        return bot

    def bot_on(self, channel_name: str) -> Bot | None:
        """The bot that speaks on a channel of nanobot."""
        return next((bot for bot in self.bots.values() if bot.channel_name == channel_name), None)

    def sits_in(self, bot: Bot, session_key: str) -> bool:
        """True when a bot is known to sit in a chat, from this run or an earlier one."""
        return self.conversation.lists.sits_in(bot.app_id, session_key)

    def introduced(self, bot: Bot) -> None:
        """The platform has said who a bot is. From any thread."""
        loop = self._loop()
        if loop is not None:
            loop.call_soon_threadsafe(bot.known.set)
            loop.call_soon_threadsafe(lambda: loop.create_task(self._take_seats(bot)))

    def moved(self, bot: Bot, chat_id: str, *, joined: bool) -> None:
        """A bot was added to a group, or removed from it. From any thread."""
        loop, change = self._loop(), self.conversation.lists.joined if joined else self.conversation.lists.left
        if loop is not None:
            loop.call_soon_threadsafe(change, bot.app_id, FEISHU.key(chat_id))

    def connected(self, bot: Bot) -> None:
        """The long connection of a bot is open. From any thread."""
        loop = self._loop()
        if loop is not None and self.conversation.store.gaps is not None:
            loop.call_soon_threadsafe(lambda: loop.create_task(self._ask_for_missed(bot)))

    async def _take_seats(self, bot: Bot) -> None:
        """Ask the platform where the bot sits, so that other bots know before it says anything; and let it react."""
        await load()
        from transcript_channels.feishu.groups import FeishuGroups
        from transcript_channels.feishu.reactions import Reactions

        client = self.clients.of(bot.app_id)
        if client is not None:
            self.conversation.thanks.attend(bot.app_id, Reactions(client).react)
            self.conversation.lists.attend(bot.app_id, FeishuGroups(client))
            await self.conversation.lists.take_seats(bot.app_id)

    def _sits(self, app_id: str, session_key: str) -> None:
        """A bot has received a message of a group, which is about to be recorded. In the thread of the connection."""
        loop = self._loop()
        if loop is not None:
            loop.call_soon_threadsafe(self.conversation.lists.joined, app_id, session_key)

    def _heard(self, app_id: str, inbound: InboundMessage, nameless: str, ids: Ids) -> None:
        """A message of a group that a bot received was recorded. In the thread of the long connection."""
        loop = self._loop()
        if loop is None:
            return
        loop.call_soon_threadsafe(self.conversation.lists.heard, app_id, inbound.session_key, nameless, ids)
        if self.histories is not None and inbound.entry.get("msg_type") == FORWARDED:
            loop.call_soon_threadsafe(self.histories.unbundle, app_id, inbound)

    # --- missed messages

    def _histories(self, store: GroupTranscriptStore) -> Histories | None:
        """The platform's history; None where the settings switch it off."""
        history = self.settings.history
        if not history.enabled or history.calls_per_hour == 0:
            return None
        return Histories(
            self.clients,
            store,
            self.record.leases,
            self.record.budgets,
            self._seated,
            calls_per_hour=history.calls_per_hour,
        )

    def _seated(self, session_key: str) -> list[str]:
        if not self.conversation.records(session_key):
            return []
        return [app_id for app_id, bot in self.bots.items() if self.sits_in(bot, session_key)]

    def _was_read(self, session_key: str) -> None:
        """A chat was read: fill its gaps. Only from nanobot's loop: other threads read the store, too."""
        gaps = self.conversation.store.gaps
        if gaps is not None and _running_loop() is self._loop():
            gaps.touch(session_key)

    def _first_heard(self, session_key: str, since_ms: float | None, heard_ms: float) -> None:
        """This process received its first message of a chat. In the thread of the long connection."""
        loop = self._loop()
        if loop is not None and self.conversation.store.gaps is not None:
            loop.call_soon_threadsafe(self.conversation.store.missed, session_key, since_ms, heard_ms)

    async def _ask_for_missed(self, bot: Bot) -> None:
        """Ask for what was missed in the most recent chats; in others when they are used."""
        try:
            newest = sorted(await self.conversation.store.chats(), key=lambda chat: chat.last_write_ms, reverse=True)
            seated = [chat.session_key for chat in newest if self.sits_in(bot, chat.session_key)]
        except StoreError as error:
            logger.warning("Gaps in the record are not filled: %s %s", error, error.hint)
            return
        for key in seated[:_ASKED_AT_ONCE]:
            self.conversation.store.missed(key)

    # --- inside

    def _answered(self, app_id: str, chat_id: str, trigger: str | None, message_id: str, text: str) -> None:
        """An answer was recorded: note its outcome, and in which session it can be found if it is recalled."""
        bot = self.bots.get(app_id)
        if bot is None:
            return
        bot.answers.sent(trigger)
        self.outcomes.answered(app_id, FEISHU.key(chat_id), trigger)
        session = bot.turns.session_of(trigger) or f"{bot.channel_name}:{chat_id}"
        self.watermarks.change(app_id, session, lambda mark: mark and mark.with_answer(message_id, text))

    def _hop(self, app_id: str, trigger: str | None) -> int | None:
        bot = self.bots.get(app_id)
        return bot.answers.hop_of(trigger) if bot is not None else None

    def _of_channel(self, app_id: str, attribute: str) -> Any:
        bot = self.bots.get(app_id)
        return getattr(bot.channel(), attribute, None) if bot is not None else None

    def _loop(self) -> asyncio.AbstractEventLoop | None:
        """The loop nanobot runs on, once a channel was started."""
        return next((loop for app_id in self.bots if (loop := self._of_channel(app_id, "_loop"))), None)


def _kept_behind(marks: Marks) -> Marks:
    """Marks that never block: where the record's do, they are written behind by a thread."""
    if not marks.blocking:
        return marks
    behind = MarksBehind(marks, watermark.KIND, PRIVATE)
    atexit.register(behind.drain, _LAST_WORDS)
    return behind


def _given_name(config: Any) -> str:
    """The name that somebody gave a bot in nanobot's configuration; empty for the default name of an instance."""
    name, instance = str(getattr(config, "name", "") or ""), str(getattr(config, "instance_id", "") or "default")
    return "" if name.strip() in (_USUAL_NAME, f"{_USUAL_NAME} {instance}") else name.strip()


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
