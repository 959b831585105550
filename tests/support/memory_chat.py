"""A chat platform in memory: people and bots of one group, for tests of the runner without any network."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from support.waiting import PATIENCE

from nanobot_transcript.conversation.ports import InboundMessage, OutboundMessage, Publish, Recalled, SentMessage
from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import DeliveryError
from nanobot_transcript.identity import AgentProfile

__all__ = ["KEY", "MemoryChannel", "MemoryChat", "StreamingMemoryChannel", "profile"]

KEY = "memory:oc_team"


def profile(name: str, *aliases: str, description: str = "") -> AgentProfile:
    """An agent whose app id is ``cli_<name>``."""
    return AgentProfile(name, aliases, description, frozenset({name, f"cli_{name}"}), account=f"cli_{name}")


@dataclass
class Shown:
    """A message of a bot as it stands in the chat; ``states`` are all texts it ever showed."""

    agent: str
    text: str
    outbound: OutboundMessage
    message_id: str
    states: list[str] = field(default_factory=list)
    taken_back: bool = False


class MemoryChat:
    """What is said in it; ``bots_hear_bots`` is the platform's include-bot switch. Each send key is delivered once."""

    def __init__(self, *, bots_hear_bots: bool = False, clock: Any = time.time) -> None:
        self.channels: list[MemoryChannel] = []
        self.shown: list[Shown] = []
        self.failures: list[Exception] = []
        """Raised by the next sends, one each."""
        self.bots_hear_bots: bool = bots_hear_bots
        self.clock = clock
        self._numbers = count(1)
        self._changed = asyncio.Condition()
        self._keys: dict[str, SentMessage] = {}

    def next_id(self) -> str:
        """A message id."""
        return f"om_{next(self._numbers)}"

    def entry(self, text: str, sender: str = "Ada", **fields: Any) -> Entry:
        """A person's message."""
        entry: dict[str, Any] = {
            "role": "user",
            "content": text,
            "sender": f"on_{sender.lower()}",
            "message_id": self.next_id(),
            "ts": int(self.clock() * 1000),
            "sender_name": sender,
            "sender_kind": "human",
            "source": "event",
            **fields,
        }
        return entry  # pyright: ignore[reportReturnType]

    async def say(
        self, text: str, sender: str = "Ada", *, key: str = KEY, private: bool = False, **fields: Any
    ) -> Entry:
        """A person says something; every bot is told."""
        entry = self.entry(text, sender, **fields)
        await self.tell(entry, key=key, private=private)
        return entry

    async def tell(self, entry: Entry, *, key: str = KEY, private: bool = False, but: str = "") -> None:
        """Push a message to all bots, ``but`` one."""
        for channel in self.channels:
            if channel.agent.name != but and channel.publish is not None:
                await channel.publish(InboundMessage(key, {**entry}, private=private))

    async def recall(self, entry: Entry, *, key: str = KEY) -> None:
        """A person takes a message back."""
        for channel in self.channels:
            assert channel.publish is not None
            await channel.publish(Recalled(key, str(entry["message_id"])))

    def texts(self, agent: str | None = None) -> list[str]:
        """What bots said and did not take back."""
        return [one.text for one in self.shown if not one.taken_back and agent in (None, one.agent)]

    async def wait_for(self, true: Any) -> None:
        """Until ``true()``; asked whenever a bot says something."""
        async with asyncio.timeout(PATIENCE), self._changed:
            await self._changed.wait_for(true)

    async def answers(self, number: int = 1) -> list[str]:
        """What bots said, once that many messages are there."""
        await self.wait_for(lambda: len(self.texts()) >= number)
        return self.texts()

    async def changed(self) -> None:
        """Wake whoever waits."""
        async with self._changed:
            self._changed.notify_all()

    async def put(
        self, channel: "MemoryChannel", message: OutboundMessage, text: str
    ) -> tuple[Shown | None, SentMessage]:
        """A bot's message arrives; nothing new for a key that was delivered before."""
        if self.failures:
            raise self.failures.pop(0)
        if message.idempotency_key in self._keys:
            return None, self._keys[message.idempotency_key]
        ids = {"app_id": f"cli_{channel.agent.name}"}
        sent = SentMessage(self.next_id(), self.clock() * 1000, message.thread_id, msg_type="text", ids=ids)
        if message.idempotency_key:
            self._keys[message.idempotency_key] = sent
        shown = Shown(channel.agent.name, text, message, sent.message_id, [text])
        self.shown.append(shown)
        await self.changed()
        return shown, sent

    async def overheard(self, channel: "MemoryChannel", message: OutboundMessage, sent: SentMessage, text: str) -> None:
        """Tell the other bots, if they may hear bots."""
        if not self.bots_hear_bots:
            return
        entry = self.entry(text, message_id=sent.message_id, ts=sent.ts or 0, reply_to=message.reply_to)
        name = channel.agent.name
        about = {"role": "assistant", "sender": name, "sender_name": name, "sender_kind": "bot", "agent": name}
        heard: Any = {**entry, **about, "ids": sent.ids, "source": "peer_event"}
        await self.tell(heard, but=name)


class MemoryChannel:
    """One bot's seat in the chat. ``gate`` holds back sends until it is set."""

    def __init__(self, chat: MemoryChat, agent: AgentProfile) -> None:
        self.chat = chat
        self.agent = agent
        self.publish: Publish | None = None
        self.stopped = False
        self.gate = asyncio.Event()
        self.gate.set()
        chat.channels.append(self)

    async def start(self, publish: Publish) -> None:
        self.publish = publish

    async def send(self, message: OutboundMessage) -> SentMessage:
        await self.gate.wait()
        shown, sent = await self.chat.put(self, message, message.content)
        if shown is not None:
            await self.chat.overheard(self, message, sent, message.content)
        return sent

    def sits_in(self, session_key: str) -> bool:
        return session_key == KEY

    async def stop(self) -> None:
        self.publish = None
        self.stopped = True


class _Live:
    def __init__(self, channel: "StreamingMemoryChannel", message: OutboundMessage) -> None:
        self.channel, self.message = channel, message
        self.sent: SentMessage | None = None
        self.shown: Shown | None = None

    async def update(self, text: str) -> None:
        if (
            self.channel.break_off_after is not None
            and self.shown
            and len(self.shown.states) > self.channel.break_off_after
        ):
            raise DeliveryError("the card cannot be updated")
        if self.shown is None:
            self.shown, self.sent = await self.channel.chat.put(self.channel, self.message, text)
        else:
            self.shown.text = text
            self.shown.states.append(text)
            await self.channel.chat.changed()


class StreamingMemoryChannel(MemoryChannel):
    """A channel that shows a text while it is being written. After ``break_off_after`` updates it cannot any more."""

    break_off_after: int | None = None
    can_take_back: bool = True

    @asynccontextmanager
    async def stream(self, message: OutboundMessage) -> AsyncIterator[_Live]:
        live = _Live(self, message)
        try:
            yield live
        except BaseException:
            if live.shown is not None and self.can_take_back:
                live.shown.taken_back = True
                live.sent = None
                await self.chat.changed()
            elif live.shown is not None and live.sent is not None:
                live.sent = SentMessage(live.sent.message_id, live.sent.ts, ids=live.sent.ids, text=live.shown.text)
            raise
        if live.sent is not None and live.shown is not None:
            await self.chat.overheard(self, message, live.sent, live.shown.text)
