"""One sequence on one stage: what people, bots and the surroundings of the host do, and when it is over."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from support.outcome import Outcome, outcome_of, thanked_by
from support.waiting import PATIENCE, until

from nanobot_transcript.identity import is_bot
from nanobot_transcript.platform import is_unfinished
from nanobot_transcript.record import Record
from nanobot_transcript.store.async_front import AsyncGroupTranscriptStore
from nanobot_transcript.turns import AnswerClaims, Claim
from transcript_channels.simulator import App, Chat, Message, ModelRequest, Notice, Person, Reply

if TYPE_CHECKING:
    from support.stage import Stage

__all__ = ["Play", "Sequence"]

_CHATS_AT_REST: Final = 40
"""So many chats at most were talked in within the seconds for which a history is not asked for again."""

Sequence: TypeAlias = Callable[["Play"], Awaitable[None]]


class Play:
    """One sequence on one stage."""

    def __init__(self, stage: "Stage", name: str = "") -> None:
        self.stage = stage
        self.name = name
        self.feishu = stage.feishu
        self.alpha, self.beta, self.ada, self.bo = stage.alpha, stage.beta, stage.ada, stage.bo
        self.group: Chat = self.feishu.add_group("Team", [self.alpha, self.beta, self.ada, self.bo])
        self._is_down = False
        self._seat(self.ada, self.bo)
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
    def record(self) -> Record:
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
        self._seat(self.ada, self.bo)

    def person(self, name: str, number: int = 1) -> Person:
        """Somebody new joins, whom no other sequence knows; ``number`` tells namesakes apart."""
        one = self.feishu.add_person(name, key=f"{name} {number} of {self.name}")
        self.feishu.join(self.group, one)
        self._seat(one)
        return one

    def _seat(self, *people: Person) -> None:
        """These were seen in the group before: whether a host has noted it when it answers is a matter of luck."""
        for one in people:
            self.record.members.saw(self.key, one.union_id)

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

    @property
    def calls_to_react(self) -> int:
        """How often the platform was asked for a reaction by now."""
        return sum(call.method == "POST" and call.path.endswith("/reactions") for call in self.feishu.calls)

    def is_reacted_to(self, message: Message) -> bool:
        """True when Alpha, and nobody else, put a reaction on a message as on thanks, and once."""
        thanked = thanked_by(message)
        assert thanked in ([], ["Alpha"])
        return bool(thanked)

    async def until_noted(self, message: Message, reason: str) -> None:
        """Wait until Alpha has noted this about a message."""
        read = self.record.decisions.read
        await until(lambda: any(one.get("reason") == reason for one in read(self.key, message.message_id)))

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

    def refuse_reactions(self) -> None:
        """The platform takes none of Alpha's reactions."""
        self.feishu.fail("POST /open-apis/im/v1/messages/*/reactions", code=231002, app=self.alpha)

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
        # Nothing is awaited in between. What is handed over before the mark is set keeps the host busy.
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
        """True when the relay has handed on what bots said: Alpha's own mark stands at the end of the transcript, and
        nothing before it waits but cards without a text.
        """
        page = self.record.store.recent(self.key, 100)
        if not any(is_bot(entry) and entry["sender"] != "Alpha" for entry in page.entries):
            return True
        mark = self.record.marks.get("relay", "Alpha", self.key)
        return bool(mark) and mark.get("cursor") == page.cursor and all(map(self._is_unfinished, mark["waiting"]))

    def _is_unfinished(self, message_id: str) -> bool:
        entry = self.record.store.get(self.key, message_id)
        return entry is not None and is_unfinished(self.key, entry)

    def outcome(self) -> Outcome:
        """What came of it."""
        return outcome_of(self.record, self.group, self.others, self.requests)
