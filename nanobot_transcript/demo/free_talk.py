"""After the scene, the person at the terminal takes part in the group."""

import asyncio
import re
from typing import Final

from nanobot_transcript.cli.terminal.language import language, said
from nanobot_transcript.demo.errors import DemoError
from nanobot_transcript.demo.keyboard import Keyboard
from nanobot_transcript.demo.question import DemoQuestion, is_number, objection
from nanobot_transcript.demo.scene import why
from nanobot_transcript.demo.screen import NAME_WIDTH, DemoScreen
from nanobot_transcript.demo.world import World

__all__ = ["FreeTalk"]

_AT: Final = re.compile(r"[@＠](\w+)")
_QUOTED: Final = 60
_HELP: Final = (
    ("@Alpha …", "ask a bot; @Beta … the other one, @Alpha @Beta … both"),
    ("any text", "say it to the group; each bot's gate decides whether it is meant"),
    ("/answer …", "answer Alpha's question here: the number of an option, or your own words"),
    ("/recall", "take back your newest message; once more, the one before"),
    ("/who", "who of the group is known to the record, and by which id"),
    ("/quit", "end the demo (or press Ctrl-D)"),
)


class FreeTalk:
    """Reads lines until ``/quit`` and does what they say."""

    def __init__(self, world: World, screen: DemoScreen) -> None:
        self._world: World = world
        self._screen: DemoScreen = screen
        self._asking: DemoQuestion | None = DemoQuestion(world, screen, world.page) if world.page is not None else None

    async def run(self) -> None:
        """Returns when the person has had enough."""
        you = self._world.you.name
        turn = said("Your turn: you are {you}. Ask @Alpha or @Beta; /help shows what else you can do.", you=you)
        self._screen.act("6", turn)
        self._show_phrases()
        try:
            await self._talk(you)
        finally:
            if self._asking is not None:
                await self._asking.close()

    async def _talk(self, you: str) -> None:
        if self._asking is not None and self._world.page is not None:
            await self._asking.ask()
            asks = said(
                "Alpha asks you. Answer on the page, {page}, or here: /answer 1", page=self._world.page.questions
            )
            self._screen.remark(asks)
        self._screen.typed_by = you
        async with Keyboard(f"{you:>{NAME_WIDTH}} │ ") as keyboard:
            self._screen.above = keyboard.above
            while (line := await keyboard.line()) is not None:
                text = line.strip()
                if text.casefold() in ("/quit", "/exit", "/q"):
                    break
                if text:
                    await self._obey(text)

    def _show_phrases(self) -> None:
        phrases = self._world.mind.phrases
        if phrases:
            self._screen.remark(said("The model is a script. This is all it understands:"))
            in_chinese = language() == "zh"
            self._screen.table([(f"@Beta {chinese if in_chinese else english}",) for english, chinese in phrases])

    async def _obey(self, text: str) -> None:
        try:
            if text.startswith("/"):
                await self._command(text)
            else:
                await self._say(text)
        except DemoError as failure:
            if any(bot.ended for bot in self._world.bots):
                raise
            self._screen.remark(f"✗ {failure} {failure.hint}".rstrip())

    async def _command(self, text: str) -> None:
        command, _, rest = text.partition(" ")
        command = command.casefold()
        if command == "/answer" and self._asking is not None:
            await self._answer(self._asking, rest.strip())
        elif command == "/recall":
            await self._recall()
        elif command == "/who":
            self._who()
        elif command == "/help":
            self._screen.table([(said(typed), said(does)) for typed, does in _HELP])
            self._show_phrases()
        else:
            self._screen.remark(said("There is no {text}; /help lists what there is.", text=text))

    async def _answer(self, asking: DemoQuestion, text: str) -> None:
        if problem := objection(text, is_open=asking.is_open):
            self._screen.remark(problem)
        else:
            await asking.answer(text)

    async def _say(self, text: str) -> None:
        """Say it and wait for the answers, however many; without one tell why."""
        if self._asking is not None and self._asking.is_open and is_number(text):
            told = said("To answer Alpha's question, type /answer {text}. Nothing was said in the group.", text=text)
            self._screen.remark(told)
            return
        message = await self._world.say(self._world.you, _AT.sub(self._called, text))
        if await self._world.settled(message):
            return
        by_name = await asyncio.to_thread(self._world.turns.noted, message)
        for name, noted in by_name.items():
            self._screen.remark(said("{name} does not answer: {why}", name=name, why=why(noted)))

    def _called(self, at: re.Match[str]) -> str:
        """``@alpha`` as the platform writes it."""
        names = [member.name for member in self._world.group.members] + ["all"]
        return next((f"@{name}" for name in names if name.casefold() == at[1].casefold()), at[0])

    async def _recall(self) -> None:
        own = self._world.feishu.messages(self._world.group, self._world.you)
        newest = next((message for message in reversed(own) if not message.recalled), None)
        if newest is None:
            self._screen.remark(said("You have no message to take back."))
            return
        text = newest.text if len(newest.text) <= _QUOTED else f"{newest.text[:_QUOTED]}…"
        await self._world.take_back(newest)
        self._screen.verdict(said("The record hides “{text}”. No bot sees it any more.", text=text))

    def _who(self) -> None:
        you, members = self._world.you.name, self._world.record.store.members
        people = [member for member in members.of_chat(self._world.key) if member.kind == "human"]
        rows = [(one.name, said("you") if one.name == you else said("person"), one.sender) for one in people]
        self._screen.table([*rows, *((bot.name, said("bot"), bot.account) for bot in members.bots())])
