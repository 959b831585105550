"""Everyday scenes under a real host: each bot of a group in a host of its own, and a chat for each line that is judged.

What a scene says was said before such a line is on the platform and in the record, and no bot is told of it. So each
line finds the history of its scene, and never what the hosts answered to the lines before.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from support.in_process import HostInProcess
from support.situations import ANSWER

from nanobot_transcript.entry import Entry
from nanobot_transcript.relevance.evaluation.scenes import Group, LabelledLine
from transcript_channels.simulator import App, Chat, FeishuSimulator, Message, Person, ScriptedModel

__all__ = ["Everyday", "Played", "everyday"]

_SETTINGS: Final[dict[str, Any]] = {"groups": {"mode": "gate"}, "relay": {"mode": "mentions"}}
"""A fresh installation's, but for the mode and the relay."""
_HEARD: Final = "im.message.receive_v1"
_LONG_AGO: Final = 3_600_000
"""Milliseconds after which a message is too old to be answered."""


class Played(NamedTuple):
    """What came of a line: who answered it, once for each answer, and what was noted, ``name: reason score``."""

    answered: list[str]
    noted: list[str]


class Everyday:
    """The bots and people of one group, and as many chats of theirs as there are lines to play."""

    def __init__(self, feishu: FeishuSimulator, group: Group, count: int) -> None:
        self.feishu = feishu
        self.apps: dict[str, App] = {bot.name: feishu.add_app(bot.name) for bot in group.bots}
        self.people = [feishu.add_person(one.name) for one in group.members if one.kind == "human"]
        self.members: dict[str, App | Person] = {**self.apps, **{one.name: one for one in self.people}}
        self.hosts: list[HostInProcess] = []
        self._chats: list[Chat] = [feishu.add_group(group.name, self.members.values()) for _ in range(count)]
        self._known: list[Chat] = []

    async def settled(self) -> None:
        """Wait until every host has dealt with everything."""
        for host in self.hosts:
            await host.settled()

    async def get_to_know(self, count: int) -> None:
        """Let the hosts hear so many of the chats: what was said there, long ago, is taken back."""
        for _ in range(count):
            self._known.append(self._chats.pop())
        at_ms = time.time_ns() // 1_000_000 - _LONG_AGO
        said = [await self.feishu.say(chat, self.people[0], "?", at_ms=at_ms) for chat in self._known]
        await self.settled()
        await asyncio.gather(*map(self.feishu.recall, said))
        await self.settled()

    async def play(self, labelled: LabelledLine, *, known: bool) -> Played:
        """Let a line be said in a chat of its own, and wait until everything is dealt with. Unless the chat is
        ``known``, it is the first that the hosts hear of it.
        """
        chat, message = (self._known if known else self._chats).pop(), labelled.message
        earlier = await self._live_through(chat, labelled)
        replied_to = earlier.get(message.get("reply_to", ""))
        said = await self.feishu.say(chat, self._sender(message), message["content"], reply_to=replied_to)
        await self.settled()
        behind = chat.messages[chat.messages.index(said) + 1 :]
        return Played([one.sender.name for one in behind if isinstance(one.sender, App)], self._noted(said))

    async def _live_through(self, chat: Chat, labelled: LabelledLine) -> dict[str, Message]:
        """What was said before, as long before as the scene says; the messages, by their ids in the scene."""
        now_ms, said = time.time_ns() // 1_000_000, dict[str, Message]()
        for app in self.apps.values():
            app.events.discard(_HEARD)
        for entry in labelled.history:
            one = said[str(entry["message_id"])] = await self.feishu.say(
                chat,
                self._sender(entry),
                entry["content"],
                reply_to=said.get(entry.get("reply_to", "")),
                at_ms=now_ms - round(labelled.message["ts"] - entry["ts"]),
            )
            self._note(one)
        for app in self.apps.values():
            app.events.add(_HEARD)
        return said

    def _note(self, said: Message) -> None:
        """Write down what was said, as the host of a bot does that hears it or says it."""
        who = said.sender
        own: dict[str, Any] = {"sender_kind": "human", "ids": {"union_id": who.union_id}, "source": "event"}
        if isinstance(who, App):
            ids = {"app_id": who.app_id}
            own = {"sender_kind": "bot", "ids": ids, "source": "send", "agent": who.name, "hop": 1}
        self.hosts[0].record.store.append(
            _key_of(said),
            "assistant" if isinstance(who, App) else "user",
            said.text,
            _id_of(who),
            said.message_id,
            said.created_ms,
            sender_name=who.name,
            mentions=[{"name": one.member.name, "id": _id_of(one.member)} for one in said.mentions] or None,
            reply_to=said.parent.message_id if said.parent else None,
            root_id=said.root.message_id if said.root else None,
            **own,
        )

    def _noted(self, said: Message) -> list[str]:
        noted = self.hosts[0].record.decisions.read(_key_of(said), said.message_id)
        return [f"{one['agent']}: {one['reason']} {one['score']:.2f}" for one in noted]

    def _sender(self, entry: Entry) -> App | Person:
        return self.members[entry.get("sender_name", "")]


def _id_of(who: App | Person) -> str:
    """What the record calls somebody."""
    return who.name if isinstance(who, App) else who.union_id


def _key_of(said: Message) -> str:
    return f"feishu:{said.chat.chat_id}"


@asynccontextmanager
async def everyday(
    folder: Path, make: Callable[..., HostInProcess], group: Group, count: int
) -> AsyncIterator[Everyday]:
    """A group with its hosts, for ``count`` lines of it."""
    async with AsyncExitStack() as stack:
        feishu = await stack.enter_async_context(FeishuSimulator(ack_timeout=30.0))
        model = await stack.enter_async_context(ScriptedModel(lambda _: ANSWER))
        made = Everyday(feishu, group, count)
        for bot in group.bots:
            app = made.apps[bot.name]
            about = {"name": bot.name, "aliases": list(bot.aliases), "description": bot.description}
            own = {"agents": {app.app_id: about}, "store": {"dir": str(folder / "record")}}
            (home := folder / app.app_id).mkdir()
            host = make(home, feishu, model, app, {**_SETTINGS, **own})
            await host.start()
            stack.push_async_callback(host.stop)
            made.hosts.append(host)
        await made.settled()
        yield made
