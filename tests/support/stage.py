"""A group on the simulated platform in which both hosts live through the same things, and what each made of it.

A *sequence* is an async function of one ``Play``: a fresh group with Ada, Bo, the hosted bot Alpha and its peer Beta.
What came of it, in a form in which only real differences differ, is an ``Outcome``.
"""

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

from support.in_process import HostInProcess
from support.waiting import until

from nanobot_transcript.entry import Entry
from transcript_channels.simulator import (
    App,
    Chat,
    FeishuSimulator,
    Message,
    ModelRequest,
    Person,
    Reply,
    ScriptedModel,
)

__all__ = ["HOST_DECIDES", "SETTINGS", "Outcome", "Play", "Sequence", "Stage"]

SETTINGS: Final[dict[str, Any]] = {
    "groups": {"mode": "gate"},
    "relay": {"mode": "mentions"},
    "turns": {"claim": {"longest_wait": 0.02, "ttl": 2.0}},
    "agents": {"cli_alpha": {"name": "Alpha", "aliases": ["小阿"], "description": "Plans and summarises."}},
}
"""What both hosts are set to."""

_UNEQUAL: Final = frozenset({"rts", "v", "pos", "ts"})
"""Times of receipt and of answers, and the platform's own count: different at each play."""
HOST_DECIDES: Final[dict[str, str]] = {
    "root_id": "nanobot answers a message outside of threads with a new message, the runner with a reply to it",
}
"""Fields of the bot's own answers in which the hosts may differ, and why."""
_NAMES_A_MESSAGE: Final = ("message_id", "reply_to", "root_id", "target")
_LINE: Final = re.compile(r'^\{"(?:id|name|from)": .*\}$', re.MULTILINE)

Sequence: TypeAlias = Callable[["Play"], Awaitable[None]]


@dataclass
class Outcome:
    """What a host made of a sequence: the entries, what was decided about each message, what the model was told."""

    entries: list[dict[str, Any]] = field(default_factory=list)
    decisions: list[dict[str, Any]] = field(default_factory=list)
    prompts: list[list[dict[str, Any]]] = field(default_factory=list)


class Stage:
    """One host and its platform, for any number of plays."""

    def __init__(self, folder: Path, make: Callable[..., HostInProcess], **sections: Any) -> None:
        self._folder = folder
        self._make = make
        self._sections = {**SETTINGS, **sections}
        self.feishu = FeishuSimulator(ack_timeout=30.0)
        self.model = ScriptedModel(self._answer)
        self.play: Play | None = None

    async def start(self) -> None:
        """Open the platform, and start the host."""
        await self.feishu.start()
        await self.model.start()
        self.alpha = self.feishu.add_app("Alpha", app_id="cli_alpha", app_secret="a secret")
        self.beta = self.feishu.add_app("Beta", app_id="cli_beta")
        self.ada, self.bo = self.feishu.add_person("Ada"), self.feishu.add_person("Bo")
        self.host = self._make(self._folder, self.feishu, self.model, self.alpha, self._sections)
        await self.host.start()

    async def stop(self) -> None:
        """End everything."""
        await self.host.stop()
        await self.model.stop()
        await self.feishu.stop()

    async def live_through(self, sequence: Sequence) -> Outcome:
        """Play a sequence."""
        self.play = Play(self)
        try:
            await sequence(self.play)
            await self.play.settled()
            return self.play.outcome()
        finally:
            self.feishu.clear_faults()
            self.play = None

    def _answer(self, request: ModelRequest) -> str | Reply:
        return self.play.answer(request) if self.play is not None else "I have nothing to say."


class Play:
    """One sequence on one stage."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.feishu = stage.feishu
        self.alpha, self.beta, self.ada, self.bo = stage.alpha, stage.beta, stage.ada, stage.bo
        self.group: Chat = self.feishu.add_group("Team", [self.alpha, self.beta, self.ada, self.bo])
        self.answers: list[str | Reply] = []
        """What the model says, in turn; then ``Answer 1`` and so on."""
        self.requests: list[ModelRequest] = []

    @property
    def key(self) -> str:
        """The session key of the group."""
        return f"feishu:{self.group.chat_id}"

    @property
    def record(self) -> Any:
        """The record of the host."""
        return self.stage.host.record

    def answer(self, request: ModelRequest) -> str | Reply:
        """What the model says now."""
        self.requests.append(request)
        return self.answers.pop(0) if self.answers else f"Answer {len(self.requests)}"

    # --- what happens

    async def say(self, who: Person | App, text: str = "", **options: Any) -> Message:
        """Somebody says something, and everything that follows from it is over."""
        said = await self.feishu.say(self.group, who, text, **options)
        await self.settled()
        return said

    @property
    def newest(self) -> Message:
        """The newest message of the group."""
        return self.group.messages[-1]

    def meet_beta(self) -> None:
        """Beta's process has entered it among the members, and noted that it sits here."""
        members = self.record.members
        open_ids = {"cli_beta": self.beta.bot_open_id}
        members.remember_bot("cli_beta", "Beta", aliases=["贝塔"], description="Deploys.", open_ids=open_ids)
        members.saw(self.key, "Beta")

    async def beta_says(self, text: str, *, heard: bool = False, **options: Any) -> Message:
        """Beta says something, and its own process records it. ``heard``: Alpha is told of it, too."""
        if heard:
            self.alpha.grant("im:message.group_msg.include_bot:read")
        said = await self.feishu.say(self.group, self.beta, text, **options)
        self.alpha.revoke("im:message.group_msg.include_bot:read")
        self.note_of_beta(said)
        await self.settled()
        return said

    def note_of_beta(self, said: Message, text: str | None = None) -> None:
        """What Beta's process writes down about a message of its own."""
        self.record.store.append(
            self.key,
            "assistant",
            said.text if text is None else text,
            "Beta",
            said.message_id,
            said.created_ms,
            sender_name="Beta",
            sender_kind="bot",
            ids={"app_id": "cli_beta"},
            agent="Beta",
            hop=1,
            source="send",
            mentions=[{"name": one.member.name, "id": one.member.name} for one in said.mentions] or None,
            reply_to=said.parent.message_id if said.parent else None,
        )

    async def recall(self, message: Message) -> None:
        """The sender takes a message back."""
        await self.feishu.recall(message)
        await self.settled()

    async def post(self, text: str, **options: Any) -> Message:
        """Another process posts into the group through the outbox."""
        after = len(self.group.messages)
        self.record.outbox.post(self.key, text, **options)
        await until(lambda: len(self.group.messages) > after)
        await self.settled()
        return self.group.messages[-1]

    async def restart(self) -> None:
        """The host ends and starts again."""
        await self.stage.host.stop()
        await self.stage.host.start()

    async def settled(self) -> None:
        """Everything that follows from what happened is over."""
        await self.stage.host.settled()

    # --- what came of it

    def entries(self) -> list[Entry]:
        """All entries as they read now."""
        return list(self.record.store.scan(self.key))

    def outcome(self) -> Outcome:
        """What is to be compared."""
        return Outcome(
            [self._plain(entry) for entry in self.entries()],
            [self._decided(one) for message in self.group.messages for one in self._noted(message)],
            [self._told(request) for request in self.requests],
        )

    def _noted(self, message: Message) -> list[dict[str, Any]]:
        return self.record.decisions.read(self.key, message.message_id)

    def _decided(self, noted: dict[str, Any]) -> dict[str, Any]:
        kept = {name: noted.get(name) for name in ("agent", "respond", "stage", "reason", "message_id")}
        return {**kept, "message_id": self._id(kept["message_id"]), "score": round(noted.get("score") or 0, 3)}

    def _told(self, request: ModelRequest) -> list[dict[str, Any]]:
        """The lines that the model was given with this turn."""
        lines = [json.loads(line) for line in _LINE.findall(request.last_user_text)]
        return [self._line(line) for line in lines]

    def _line(self, line: dict[str, Any]) -> dict[str, Any]:
        known = {name: value for name, value in line.items() if name != "time"}
        return known | {name: self._id(known[name]) for name in ("id", "reply_to", "thread") if name in known}

    def _plain(self, entry: Entry) -> dict[str, Any]:
        plain = {name: value for name, value in entry.items() if name not in _UNEQUAL}
        plain |= {name: self._id(plain[name]) for name in _NAMES_A_MESSAGE if name in plain}
        for name in HOST_DECIDES if entry.get("source") in ("send", "stream") else ():
            plain.pop(name, None)
        if "thread_id" in plain:
            plain["thread_id"] = self._id(plain["thread_id"])
        if "message_ids" in plain:
            plain["message_ids"] = [self._id(one) for one in plain["message_ids"]]
        return plain

    def _id(self, message_id: Any) -> Any:
        """A message's or a thread's id as its place in the group."""
        for at, message in enumerate(self.group.messages):
            if message_id == message.message_id:
                return f"m{at}"
            if message_id and message_id == message.thread_id:
                return f"thread of m{at}"
        return message_id
