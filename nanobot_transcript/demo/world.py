"""Everything that runs in a demo: the simulated platform, the model's endpoint, two bots, the record, and its page.

All of it listens on 127.0.0.1 and writes below one folder, except for a record in a database.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeVar

from nanobot_transcript.cli.terminal.exit_codes import REMOTE
from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.demo.bot import DemoAddresses, DemoBot
from nanobot_transcript.demo.errors import DemoError
from nanobot_transcript.demo.hosts import DemoHost
from nanobot_transcript.demo.hub import DemoHub
from nanobot_transcript.demo.mind import Mind
from nanobot_transcript.demo.record import DemoPlace
from nanobot_transcript.demo.who_answers import DemoTurns
from nanobot_transcript.entry import Entry
from transcript_channels.feishu.platform import FEISHU
from transcript_channels.simulator import App, FeishuSimulator, Message, Person, ScriptedModel

if TYPE_CHECKING:
    from nanobot_transcript.record import Record

__all__ = ["World"]

_MEMBER_SECONDS: Final = 20.0
_RECORD_SECONDS: Final = 20.0
_DECIDE_SECONDS: Final = 20.0
_LOOK_SECONDS: Final = 0.02

_T = TypeVar("_T")


class World:
    """``async with World(folder, place, mind, host) as world: await world.open(ready)``; the end stops all of it."""

    def __init__(self, folder: Path, place: DemoPlace, mind: Mind, host: DemoHost, *, page: bool = False) -> None:
        self.folder: Path = folder
        self.mind: Mind = mind
        self.host: DemoHost = host
        self.feishu: FeishuSimulator = FeishuSimulator()
        self.model: ScriptedModel = ScriptedModel(mind.reply)
        self.alpha: App = self.feishu.add_app("Alpha")
        self.beta: App = self.feishu.add_app("Beta")
        self.ada: Person = self.feishu.add_person("Ada")
        self.bo: Person = self.feishu.add_person("Bo")
        self.you: Person = self.feishu.add_person("Chen")
        self.dana: Person = self.feishu.add_person("Dana")
        everybody = (self.ada, self.bo, self.you, self.dana, self.alpha, self.beta)
        self.group = self.feishu.add_group("Release 2.0", everybody)
        self.place: DemoPlace = place
        self.record: Record = place.open()
        self.turns: DemoTurns = DemoTurns(self.record, self.key, self.group.apps)
        self.bots: list[DemoBot] = host.bots(self.group.apps, folder)
        self.page: DemoHub | None = DemoHub(folder / "hub") if page else None
        self._running: AsyncExitStack = AsyncExitStack()

    @property
    def key(self) -> str:
        """The session key of the group."""
        return FEISHU.key(self.group.chat_id)

    @property
    def transcript(self) -> Path | None:
        """The file with the group's entries, None before the first and where the record is in a database."""
        return next(iter(sorted(self.place.folder.glob("*.jsonl"))), None)

    @property
    def bot_messages(self) -> list[Message]:
        """The bots' messages in the group."""
        return [message for message in self.group.messages if isinstance(message.sender, App)]

    async def open(self, ready: Callable[[DemoBot], None]) -> None:
        """Start everything; ``ready`` is called for each bot as it connects. Raises DemoError, and StoreError kinds
        when the record cannot be kept where it should.
        """
        self._running.callback(self.record.close)
        await asyncio.to_thread(self.place.prepare)
        await self._running.enter_async_context(self.feishu)
        await self._running.enter_async_context(self.model)
        self._running.push_async_callback(self._stop_processes)
        places = DemoAddresses(self.feishu.base_url, self.model.base_url, self.place)

        async def start(bot: DemoBot) -> None:
            await bot.start(places)
            await self._is_member(bot)
            ready(bot)

        pages = [] if self.page is None else [self.page.start(self.place)]
        await _together([*(start(bot) for bot in self.bots), *pages])

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> Literal[False]:
        await self._running.aclose()
        return False

    # -- what people do ------------------------------------------------------------------------------------

    async def say(self, person: Person, text: str) -> Message:
        """Somebody writes into the group, and both bots acknowledge. Raises DemoError."""
        count = len(self.group.messages)
        with suppress(TimeoutError):
            await self.feishu.say(self.group, person, text, timeout=_RECORD_SECONDS)
        message = self.group.messages[count]
        silent = [name for name, code in message.acks.items() if code != 200]
        if silent:
            names = said(" and ").join(silent)
            raise DemoError(said("{names} did not acknowledge “{text}”.", names=names, text=text))
        return message

    async def take_back(self, message: Message) -> None:
        """The sender recalls a message, and the record hides it. Raises DemoError."""
        await self.feishu.recall(message)
        await self._until(
            lambda: self.entry(message) is None, _RECORD_SECONDS, said("The recall did not reach the record.")
        )

    async def answer(self, app: App, question: Message) -> Message:
        """What the bot answers, once it is finished and recorded. Raises DemoError."""

        def answered() -> Message | None:
            words = [one for one in self.group.messages[question.position :] if one.sender is app and one.text]
            over = words and all(one.finished for one in words) and not self.mind.busy(app.name)
            return words[-1] if over else None

        seconds = round(self.mind.patience)
        failure = said("{name} did not answer within {seconds} seconds.", name=app.name, seconds=seconds)
        message = await self._until(answered, self.mind.patience, failure)
        await self.recorded(message)
        return message

    async def settled(self, message: Message, *, quiet: float = 0.0) -> list[Message]:
        """What the bots said since a message, once none of them has anything to answer any more.

        Then nobody may have said anything for another ``quiet`` seconds. Raises DemoError.
        """
        await self.recorded(message)
        failure = said("The bots did not decide whether to answer.")
        endless = said("The bots did not come to an end.")
        await self._until(lambda: len(self.turns.noted(message)) == len(self.bots), _DECIDE_SECONDS, failure)
        while True:
            count, patience = len(self.group.messages), self.mind.patience * self.turns.limit
            await self._until(lambda: self._is_over(message), patience, endless)
            with suppress(TimeoutError):
                await self.feishu.wait_for(lambda count=count: len(self.group.messages) > count, quiet)
            if len(self.group.messages) == count:
                return self._said_since(message)

    async def recorded(self, *messages: Message) -> None:
        """Until these messages (none: all of the group) stand in the record. Raises DemoError."""
        for message in messages or [one for one in self.group.messages if one.text]:
            failure = said("{name}'s message did not reach the record.", name=message.sender.name)
            await self._until(lambda one=message: self.entry(one), _RECORD_SECONDS, failure)

    def entry(self, message: Message) -> Entry | None:
        """A message as it stands in the record, None when it does not (any more)."""
        return self.record.store.get(self.key, message.message_id)

    def _is_over(self, message: Message) -> bool:
        words = self._said_since(message)
        if any(self.mind.busy(bot.app.name) for bot in self.bots):
            return False
        return all(one.finished and self.entry(one) for one in words) and self.turns.are_over(message)

    def _said_since(self, message: Message) -> list[Message]:
        return [one for one in self.bot_messages if one.position > message.position]

    # -- inside --------------------------------------------------------------------------------------------

    async def _is_member(self, bot: DemoBot) -> None:
        """Wait until the bot is among the members of the record: whatever keeps the record adds it when it is ready."""
        app = bot.app
        failure = said("{name} runs, but its {part} does not.", name=app.name, part=said(bot.keeper))
        await self._until(lambda: self.record.store.members.bot_of(app.app_id), _MEMBER_SECONDS, failure)

    async def _until(self, predicate: Callable[[], _T | None], seconds: float, failure: str) -> _T:
        """The first true value of ``predicate()``, which is called in a thread: a record may be far away.

        Raises DemoError after ``seconds``, and at once when a bot has stopped or the model refuses.
        """
        clock = asyncio.get_running_loop().time
        end = clock() + seconds
        while not (value := await asyncio.to_thread(predicate)):
            self._expect_all_well()
            if clock() > end:
                raise DemoError(failure)
            await asyncio.sleep(_LOOK_SECONDS)
        return value

    def _expect_all_well(self) -> None:
        for bot in self.bots:
            if bot.ended:
                raise DemoError(said("{name} stopped in the middle of the demo.", name=bot.app.name))
        if complaint := self.mind.complaint():
            hint = said("Look at OPENAI_BASE_URL, OPENAI_API_KEY, OPENAI_MODEL.")
            raise DemoError(complaint, hint=hint, code=REMOTE)

    async def _stop_processes(self) -> None:
        pages = [] if self.page is None else [self.page]
        await _together(process.stop() for process in (*self.bots, *pages))


async def _together(works: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run all at once; if one fails or this is cancelled, wait until the others have cleaned up."""
    try:
        async with asyncio.TaskGroup() as tasks:
            for work in works:
                tasks.create_task(work)
    except ExceptionGroup as group:
        raise group.exceptions[0] from None
