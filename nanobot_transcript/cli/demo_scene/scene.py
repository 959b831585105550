"""The script: three short acts, each followed by what it proves. What the screen claims was checked just before."""

import asyncio

from nanobot_transcript.cli.demo_scene.chronicle import Chronicle
from nanobot_transcript.cli.demo_scene.failure import DemoError
from nanobot_transcript.cli.demo_scene.screen import Screen
from nanobot_transcript.cli.demo_scene.tally import count
from nanobot_transcript.cli.demo_scene.world import World
from transcript_channels.simulator import App, Message, Person

__all__ = ["Scene"]


class Scene:
    """Plays in ``world``. Raises DemoError as soon as something does not happen."""

    def __init__(self, world: World, chronicle: Chronicle, screen: Screen) -> None:
        self._world: World = world
        self._chronicle: Chronicle = chronicle
        self._screen: Screen = screen

    async def play(self) -> None:
        """All acts."""
        await self._people_talk()
        answer = await self._alpha_is_asked()
        await self._beta_is_asked(answer)

    async def _people_talk(self) -> None:
        world = self._world
        self._screen.act("1", "People talk. Nobody mentions a bot.")
        await self._says(world.ada, "2.0 周五下午发布，大家看看还差什么？")
        await self._says(world.bo, "The changelog is empty, and nobody has tested the upgrade from 1.9.")
        await world.recorded()
        _expect(count(world).exact, "The record does not hold what people said exactly once.")
        self._screen.verdict("Both gateways received both messages. The record has each once.")

    async def _alpha_is_asked(self) -> Message:
        world = self._world
        self._screen.act("2", "Alpha is asked.")
        before = list(world.group.messages)
        answer = await self._ask(world.ada, world.alpha, "@Alpha 请把还差的事记成任务")
        self._expect_given(world.alpha, before)
        self._screen.verdict("Alpha knows what people said to each other.")
        return answer

    async def _beta_is_asked(self, said: Message) -> None:
        world = self._world
        self._screen.act("3", "Beta is asked what Alpha said.")
        answer = await self._ask(world.bo, world.beta, "@Beta what did Alpha just say?")
        pushed = {push.app for push in said.pushes}
        _expect(world.beta not in pushed, "The platform told Beta of Alpha's answer; the demo proves nothing then.")
        self._expect_given(world.beta, [said])
        if world.mind.scripted:
            _expect(said.text in answer.text, "Beta was given Alpha's answer but does not say it.")
        bots = [message.sender for message in world.bot_messages]
        _expect(not world.mind.scripted or bots == [world.alpha, world.beta], "A bot spoke that nobody had asked.")
        self._screen.verdict("Beta knows. The platform never told Beta; the record did.")

    async def _ask(self, person: Person, app: App, text: str) -> Message:
        question = await self._says(person, text)
        answer = await self._world.answer(app, question)
        await self._pause()
        return answer

    async def _says(self, person: Person, text: str) -> Message:
        message = await self._world.say(person, text)
        await self._pause()
        return message

    async def _pause(self) -> None:
        """Time to read, when somebody watches."""
        await asyncio.sleep(self._screen.reading_seconds)

    def _expect_given(self, app: App, messages: list[Message]) -> None:
        """The model request that the bot really sent holds these messages, and none of them twice."""
        turn = self._chronicle.turn_of(app)
        known = turn.known if turn else ()
        for message in messages:
            found = [line for line in known if line.message_id == message.message_id]
            _expect(len(found) == 1, f"{app.name}'s prompt holds “{message.text}” {len(found)} times, not once.")
            word_for_word = not self._world.mind.scripted or found[0].text == message.text
            _expect(word_for_word, f"{app.name}'s prompt holds “{message.text}” in other words.")


def _expect(fact: bool, otherwise: str) -> None:
    if not fact:
        raise DemoError(otherwise)
