"""A group on the simulated platform in which both hosts live through the same things, and what each made of it.

A *sequence* is an async function of one ``Play``: a fresh group with Ada, Bo, the hosted bot Alpha and its peer Beta.
What came of it, in a form in which only real differences differ, is an ``Outcome``; ``comparing.py`` compares two.
"""

import asyncio
import copy
import json
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

from support.in_process import HostInProcess
from support.waiting import PATIENCE, until

from nanobot_transcript.entry import Entry
from nanobot_transcript.store.async_front import AsyncGroupTranscriptStore
from nanobot_transcript.turns import AnswerClaims, Claim
from nanobot_transcript.turns.speakers import is_bot
from transcript_channels.simulator import (
    App,
    Chat,
    FeishuSimulator,
    Message,
    ModelRequest,
    Notice,
    Person,
    Reply,
    ScriptedModel,
)

__all__ = ["SETTINGS", "Outcome", "Play", "Sequence", "Stage", "Stages", "Told"]

_MODES: Final = ("off", "observe", "listen")
_GROUPS_OF_A_MODE: Final = 4
SETTINGS: Final[dict[str, Any]] = {
    "groups": {"mode": "gate"},
    "relay": {"mode": "mentions"},
    "turns": {"claim": {"longest_wait": 0.02, "ttl": 2.0}},
    "history": {"calls_per_hour": 100_000},
    "agents": {"cli_alpha": {"name": "Alpha", "aliases": ["小阿"], "description": "Plans and summarises."}},
}
"""What both hosts are set to."""

_UNEQUAL: Final = frozenset({"rts", "v", "pos", "ts"})
"""Times of receipt and of answers, and the platform's own count: different at each play."""
_NAMES_A_MESSAGE: Final = ("message_id", "reply_to", "root_id", "target")
_LINE: Final = re.compile(r'^\{"(?:id|time|name|from)": .*\}$', re.MULTILINE)
_CHATS_AT_REST: Final = 40
"""So many chats at most were talked in within the seconds for which a history is not asked for again."""

Sequence: TypeAlias = Callable[["Play"], Awaitable[None]]


@dataclass
class Told:
    """What the model was given with one request: the ``history``, the ``members`` and the ``asker``, line by line.

    ``asked`` is the whole text of the turn, ``before`` the conversation so far, when there is one.
    """

    history: list[dict[str, Any]] = field(default_factory=list)
    members: list[dict[str, Any]] = field(default_factory=list)
    asker: list[dict[str, Any]] = field(default_factory=list)
    asked: str = ""
    before: str = ""


@dataclass
class Outcome:
    """What a host made of a sequence: the entries, what was decided about each message, what the model was told."""

    entries: list[dict[str, Any]] = field(default_factory=list)
    decisions: list[dict[str, Any]] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)


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
        """Open the platform, start the host, and let it learn who Ada and Bo are."""
        await self.feishu.start()
        await self.model.start()
        self.alpha = self.feishu.add_app("Alpha", app_id="cli_alpha", app_secret="a secret")
        self.beta = self.feishu.add_app("Beta", app_id="cli_beta")
        self.ada, self.bo = self.feishu.add_person("Ada"), self.feishu.add_person("Bo")
        everybody = [self.alpha, self.beta, self.ada, self.bo]
        self.spare = {
            mode: [self.feishu.add_group("Team", everybody) for _ in range(_GROUPS_OF_A_MODE)] for mode in _MODES
        }
        chats = {group.chat_id: {"mode": mode} for mode, groups in self.spare.items() for group in groups}
        sections = {**self._sections, "groups": {**self._sections["groups"], "chats": chats}}
        self.host = self._make(self._folder, self.feishu, self.model, self.alpha, sections)
        await self.host.start()
        self.record = self.host.settings().open_record()
        self._known: dict[str, Any] | None = None
        await self.live_through(_everybody_says_something)
        self._known = copy.deepcopy(self._members())

    async def stop(self) -> None:
        """End everything."""
        await self.host.stop()
        self.record.close()
        await self.model.stop()
        await self.feishu.stop()

    async def live_through(self, sequence: Sequence) -> Outcome:
        """Play a sequence."""
        self.play = Play(self, getattr(sequence, "__name__", ""))
        try:
            await sequence(self.play)
            await self.play.settled()
            return self.play.outcome()
        finally:
            self.feishu.clear_faults()
            await self._clear_up()
            self.play = None

    async def _clear_up(self) -> None:
        """Whom one sequence got to know, the next one does not."""
        if self._known is not None:
            await asyncio.to_thread(self.record.members._change, self._forget)
        if self.alpha.name != "Alpha":
            self.alpha.name = "Alpha"
            await self.host.stop()
            await self.host.start()

    def _members(self) -> dict[str, Any]:
        members = self.record.members
        members.bots()  # reads what the host wrote
        return members._document

    def _forget(self, document: dict[str, Any]) -> bool:
        document.clear()
        document.update(copy.deepcopy(self._known))
        return True

    async def _answer(self, request: ModelRequest) -> str | Reply:
        return await self.play.answer(request) if self.play is not None else "I have nothing to say."


class Stages:
    """The runner's stage and the plugin's, and what has been made of the sequences so far."""

    def __init__(self, runner: Stage, plugin: Stage) -> None:
        self._stages = runner, plugin
        self._made: dict[Sequence, tuple[Outcome, Outcome]] = {}

    async def outcomes(self, sequence: Sequence) -> tuple[Outcome, Outcome]:
        """What the runner and the plugin make of a sequence, which is played once."""
        if sequence not in self._made:
            runner, plugin = [await stage.live_through(sequence) for stage in self._stages]
            self._made[sequence] = runner, plugin
        return self._made[sequence]

    async def __aenter__(self) -> Self:
        for stage in self._stages:
            await stage.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        for stage in self._stages:
            await stage.stop()


async def _everybody_says_something(play: "Play") -> None:
    await play.say(play.ada, "@Bo hello @Alpha")
    await play.say(play.bo, "@Ada hello")


class Play:
    """One sequence on one stage."""

    def __init__(self, stage: Stage, name: str = "") -> None:
        self.stage = stage
        self.name = name
        self.feishu = stage.feishu
        self.alpha, self.beta, self.ada, self.bo = stage.alpha, stage.beta, stage.ada, stage.bo
        self.group: Chat = self.feishu.add_group("Team", [self.alpha, self.beta, self.ada, self.bo])
        self._is_down = False
        self.others: list[Chat] = []
        """The private chats in which something was said."""
        self.answers: list[str | Reply] = []
        """What the model says, in turn; then ``Answer 1`` and so on."""
        self.while_asked: Callable[[], Awaitable[object]] | None = None
        """What happens once while the model thinks."""
        self.requests: list[ModelRequest] = []

    @property
    def key(self) -> str:
        """The session key of the group."""
        return f"feishu:{self.group.chat_id}"

    @property
    def now_ms(self) -> int:
        """The time on the platform."""
        return time.time_ns() // 1_000_000

    @property
    def earlier(self) -> int:
        """A minute ago: the history is asked for by the second."""
        return self.now_ms - 60_000

    @property
    def record(self) -> Any:
        """The record, as another process has opened it."""
        return self.stage.record

    async def answer(self, request: ModelRequest) -> str | Reply:
        """What the model says now."""
        self.requests.append(request)
        happens, self.while_asked = self.while_asked, None
        if happens is not None:
            await happens()
        return self.answers.pop(0) if self.answers else f"Answer {len(self.requests)}"

    # --- who and where

    def in_mode(self, mode: str) -> None:
        """It happens in a group of this mode."""
        self.group = self.stage.spare[mode].pop()

    def person(self, name: str, number: int = 1) -> Person:
        """Somebody new joins, whom no other sequence knows; ``number`` tells namesakes apart."""
        one = self.feishu.add_person(name, key=f"{name} {number} of {self.name}")
        self.feishu.join(self.group, one)
        return one

    def bot(self, name: str, app_id: str) -> App:
        """Another bot joins."""
        known = next((app for app in self.feishu.apps if app.app_id == app_id), None)
        one = known or self.feishu.add_app(name, app_id=app_id)
        self.feishu.join(self.group, one)
        return one

    def meet(self, bot: App, *, aliases: tuple[str, ...] = (), description: str = "", silent: bool = False) -> None:
        """A bot's process has entered it among the members, and noted that it sits here. ``silent``: long ago."""
        members = self.record.members
        seen_as = {bot.app_id: bot.bot_open_id}
        alive = not silent
        members.remember_bot(
            bot.app_id, bot.name, aliases=aliases, description=description, open_ids=seen_as, alive=alive
        )
        members.saw(self.key, bot.name)

    def meet_beta(self) -> None:
        """Beta's process has entered it among the members."""
        self.meet(self.beta, aliases=("贝塔",), description="Deploys.")

    # --- what people do

    @property
    def newest(self) -> Message:
        """The newest message of the group."""
        return self.group.messages[-1]

    async def say(self, who: Person | App, text: str = "", **options: Any) -> Message:
        """Somebody says something, and everything that follows from it is over."""
        said = await self.feishu.say(self.group, who, text, **options)
        await self.settled()
        return said

    def newest_of(self, who: Person | App) -> Message:
        """What somebody said last."""
        return self.feishu.messages(self.group, who)[-1]

    async def say_heard(self, who: Person | App, text: str) -> Message:
        """Somebody says something, and the host has taken it in; what follows from it goes on."""
        return await self.feishu.say(self.group, who, text)

    async def type(self, who: Person | App, text: str) -> Message:
        """Somebody writes a text in which @ is nothing but a sign."""
        return await self.say(who, content={"text": text})

    async def show(self, who: Person | App, msg_type: str, **content: Any) -> Message:
        """Somebody sends something that is no text."""
        return await self.say(who, msg_type=msg_type, content=content)

    async def say_unheard(self, who: Person | App, text: str = "", **options: Any) -> Message:
        """Somebody says something, and no event of it ever comes."""
        self.alpha.events.discard("im.message.receive_v1")
        try:
            return await self.feishu.say(self.group, who, text, **options)
        finally:
            self.alpha.events.add("im.message.receive_v1")

    async def say_privately(self, who: Person, text: str) -> Message:
        """Somebody writes to Alpha alone."""
        said = await self.feishu.say_private(who, self.alpha, text)
        if said.chat not in self.others:
            self.others.append(said.chat)
        await self.settled()
        return said

    async def push_again(self, message: Message) -> None:
        """The platform tells Alpha of a message once more."""
        await self.feishu.push_again(message, self.alpha)
        await self.settled()

    async def forward(self, who: Person | App, *messages: Message) -> Message:
        """Somebody forwards messages as one bundle."""
        said = await self.feishu.forward(self.group, who, messages)
        await self.settled()
        return said

    async def recall(self, message: Message) -> None:
        """The sender takes a message back."""
        await self.feishu.recall(message)
        await self.settled()

    async def join(self, who: Person | App) -> None:
        """Somebody comes into the group."""
        self.feishu.join(self.group, who)
        await self.settled()

    async def leave(self, who: Person | App) -> None:
        """Somebody goes out of the group."""
        self.feishu.leave(self.group, who)
        await self.settled()

    # --- what bots do

    async def beta_says(self, text: str, *, heard: bool = False, hop: int = 1, **options: Any) -> Message:
        """Beta says something, and its own process records it. ``heard``: Alpha is told of it, too."""
        said = await self.bot_says(self.beta, text, heard=heard, **options)
        self.note_of_beta(said, hop=hop)
        await self.settled()
        return said

    async def bot_says(self, bot: App, text: str = "", *, heard: bool = False, **options: Any) -> Message:
        """A bot says something, and nobody records it. ``heard``: Alpha is told of it."""
        if heard:
            self.alpha.grant("im:message.group_msg.include_bot:read")
        said = await self.feishu.say(self.group, bot, text, **options)
        self.alpha.revoke("im:message.group_msg.include_bot:read")
        await self.settled()
        return said

    async def answer_of_beta(self, message: Message, text: str) -> None:
        """Beta answers somebody, unheard, and records it."""
        self.note_of_beta(await self.feishu.say(self.group, self.beta, text, reply_to=message))

    def note_of_beta(self, said: Message, text: str | None = None, *, hop: int = 1, **fields: Any) -> None:
        """What Beta's process writes down about a message of its own."""
        named = [{"name": one.member.name, "id": one.member.name} for one in said.mentions]
        kept = {
            "sender_name": "Beta",
            "sender_kind": "bot",
            "ids": {"app_id": "cli_beta"},
            "agent": "Beta",
            "hop": hop,
            "source": "send",
            "mentions": named or None,
            "reply_to": said.parent.message_id if said.parent else None,
            "root_id": said.root.message_id if said.root else None,
            "thread_id": said.thread_id,
            **fields,
        }
        content = said.text if text is None else text
        self.record.store.append(self.key, "assistant", content, "Beta", said.message_id, said.created_ms, **kept)

    async def beta_claims(self, message: Message) -> Claim:
        """Beta's process is the first to claim what somebody said."""
        limits = self.stage.host.settings().turns.claim.limits()
        store = AsyncGroupTranscriptStore.over(self.record.store)
        claims = AnswerClaims(self.record.leases, store, "Beta", limits)
        entry: Any = {"message_id": message.message_id, "content": message.text, "ts": message.created_ms}
        claim = await claims.win(self.key, {"role": "user", "sender": "", **entry}, score=1.0, alone=True)
        assert claim is not None
        return claim

    async def until_noted(self, message: Message, reason: str) -> None:
        """Wait until Alpha has noted this about a message."""
        await until(lambda: any(one.get("reason") == reason for one in self._noted(message)))

    # --- what the host's surroundings do

    async def post(self, text: str, **options: Any) -> Message:
        """Another process posts into the group through the outbox."""
        after = len(self.group.messages)
        self.record.outbox.post(self.key, text, **options)
        await until(lambda: len(self.group.messages) > after)
        await self.settled()
        return self.group.messages[-1]

    async def post_in_vain(self, text: str) -> None:
        """Another process posts something that the platform does not take."""
        post = self.record.outbox.post(self.key, text)
        await until(lambda: self.record.outbox.status(post).state == "failed")
        await self.settled()

    def refuse_messages(self, times: int | None = None, code: int = 230028) -> None:
        """The platform takes none of Alpha's messages."""
        for route in ("POST /open-apis/im/v1/messages", "POST /open-apis/im/v1/messages/*/reply"):
            self.feishu.fail(route, code=code, times=times, app=self.alpha)

    def refuse_messages_after(self, taken: int) -> None:
        """The platform takes so many of Alpha's messages, and then none."""

        def count(notice: Notice) -> None:
            if len(self.feishu.messages(self.group, self.alpha)) == taken and notice.kind == "message":
                stop()
                self.refuse_messages()

        stop = self.feishu.listen(count)

    async def restart(self) -> None:
        """The host ends and starts again."""
        async with self.down():
            pass

    @asynccontextmanager
    async def down(self) -> AsyncIterator[None]:
        """The host does not run in the block."""
        await self.stage.host.stop()
        self._is_down = True
        try:
            yield
        finally:
            self._is_down = False
            await self.stage.host.start()
        await self.settled()

    async def settled(self) -> None:
        """Everything that follows from what happened is over, also what other bots say in the record."""
        if self._is_down:
            return
        hurrying = asyncio.create_task(self._ask_history_without_rest())
        try:
            await self._settled()
        finally:
            hurrying.cancel()

    async def _settled(self) -> None:
        host, give_up = self.stage.host, time.monotonic() + PATIENCE
        await host.settled()
        while not self._is_relayed():
            if time.monotonic() > give_up:
                raise TimeoutError("the relay did not come to the end of the transcript")
            host.hurry()
            await asyncio.sleep(0.02)
            await host.settled()

    async def _ask_history_without_rest(self) -> None:
        """After a fetch nobody asks for a chat's history again for seconds: let them be over.

        A host that starts again asks for the chats of the plays before, too.
        """
        while True:
            await asyncio.sleep(0.2)
            await asyncio.to_thread(self._end_rests)

    def _end_rests(self) -> None:
        leases = self.record.leases
        for chat in self.feishu.chats[-_CHATS_AT_REST:]:
            resting = leases.current(f"feishu history rest feishu:{chat.chat_id}")
            if resting is not None:
                leases.release(resting)

    def _is_relayed(self) -> bool:
        """True when the relay has seen what bots said: Alpha's own mark stands at the end of the transcript."""
        page = self.record.store.recent(self.key, 100)
        if not any(is_bot(entry) and entry["sender"] != "Alpha" for entry in page.entries):
            return True
        mark = self.record.marks.get("relay", "Alpha", self.key)
        return bool(mark) and mark.get("cursor") == page.cursor

    # --- what came of it

    def entries(self) -> list[Entry]:
        """All entries as they read now, in the order of the platform: what the history brings comes later."""
        keys = [self.key, *(f"feishu:{chat.chat_id}" for chat in self.others)]
        found = [entry for key in keys for entry in self.record.store.scan(key)]
        return sorted(found, key=lambda entry: entry["ts"])

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

    def _told(self, request: ModelRequest) -> Told:
        """The lines that the model was given with this turn."""
        said = [str(message.get("content") or "") for message in request.messages if message.get("role") != "system"]
        told = Told(asked=request.last_user_text, before="\n".join(said[:-1]))
        for line in map(json.loads, _LINE.findall(told.asked)):
            kept = told.history if "text" in line else told.members if "kind" in line else told.asker
            kept.append(self._line(line))
        return told

    def _line(self, line: dict[str, Any]) -> dict[str, Any]:
        known = {name: value for name, value in line.items() if name != "time"}
        return known | {name: self._id(known[name]) for name in ("id", "reply_to", "thread") if name in known}

    def _plain(self, entry: Entry) -> dict[str, Any]:
        plain = {name: value for name, value in entry.items() if name not in _UNEQUAL}
        plain |= {name: self._id(plain[name]) for name in _NAMES_A_MESSAGE if name in plain}
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
