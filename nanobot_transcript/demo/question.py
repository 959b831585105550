"""Alpha asks the person something: on the page, as a card in the group, and here. The first answer counts."""

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.demo.errors import DemoError
from nanobot_transcript.demo.hub import DemoHub
from nanobot_transcript.demo.screen import DemoScreen
from nanobot_transcript.demo.world import World

if TYPE_CHECKING:
    from transcript_channels.simulator import Message

__all__ = ["DemoQuestion", "is_number", "objection"]

_OPTIONS: Final = ("Ship it", "Wait")
_DIGITS: Final = 3
_OPEN: Final = "Nobody has answered yet."
_LOOK_SECONDS: Final = 50
_CARD_SECONDS: Final = 20.0


@dataclass(slots=True, eq=False)
class DemoQuestion:
    """One question, from the card to the answer."""

    world: World
    screen: DemoScreen
    page: DemoHub
    _card: "Message | None" = field(default=None, init=False)
    _waiting: asyncio.Task[None] | None = field(default=None, init=False)
    is_open: bool = field(default=False, init=False)
    """True from the question to the answer, wherever that is given."""

    async def ask(self) -> None:
        """Ask, and return once the card stands in the group. Raises DemoError."""
        before = len(self.world.bot_messages)
        asked = await self.page.call(
            "ask_question",
            project_directory=self.world.group.name,
            question=said("The changelog of 2.0 is ready. Ship it now?"),
            agent_name=self.world.alpha.name,
            options=[said(option) for option in _OPTIONS],
            chat=self.world.key,
            timeout=86_400,
            wait=0,
            id="demo",
        )
        if not asked.startswith(_OPEN):
            raise DemoError(said("The question was not asked: {why}", why=asked))
        try:
            await self.world.feishu.wait_for(lambda: len(self.world.bot_messages) > before, _CARD_SECONDS)
        except TimeoutError as error:
            raise DemoError(said("Alpha's question did not reach the group.")) from error
        self._card = self.world.bot_messages[before]
        self.is_open = True
        self._waiting = asyncio.create_task(self._heard())

    async def answer(self, text: str) -> None:
        """The person answers here: a reply to the card, as in the group."""
        world = self.world
        await world.feishu.say(world.group, world.you, text, reply_to=self._card, in_thread=True)

    async def close(self) -> None:
        """Stop waiting for the answer. A failure of the waiting is not reported: nobody needs the answer any more."""
        if self._waiting is not None:
            self._waiting.cancel()
            await asyncio.gather(self._waiting, return_exceptions=True)

    async def _heard(self) -> None:
        while (answer := await self.page.call("get_answer", id="demo", wait=_LOOK_SECONDS)).startswith(_OPEN):
            continue
        self.is_open = False
        with self.screen.above():
            self.screen.verdict(said("Alpha has your answer: {answer}", answer=answer))
        noted, outbox = said("Noted: “{answer}”.", answer=answer), self.world.record.outbox
        await asyncio.to_thread(outbox.post, self.world.key, noted, agent="Alpha", wants_answers=False)


def objection(text: str, *, is_open: bool) -> str:
    """Why ``text`` is no answer to the question, in a sentence; ``""`` when it is one."""
    choices = said(" or ").join(f"/answer {number}" for number in range(1, len(_OPTIONS) + 1))
    if not is_open:
        return said("Alpha's question has already been answered.")
    if not text:
        return said("Say which: {choices}, or /answer and your own words.", choices=choices)
    if is_number(text) and not 1 <= int(text) <= len(_OPTIONS):
        return said("There is no option {text}: {choices}.", text=text, choices=choices)
    return ""


def is_number(text: str) -> bool:
    """True for what was probably meant as the number of an option."""
    return text.isdecimal() and len(text) <= _DIGITS
