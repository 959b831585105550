"""The demo's scene: short acts, each followed by what it proves. Whatever the screen claims has just been checked."""

import asyncio
from dataclasses import dataclass
from typing import Final

from nanobot_transcript.cli.terminal.language import said
from nanobot_transcript.demo.chronicle import Chronicle
from nanobot_transcript.demo.errors import DemoError
from nanobot_transcript.demo.screen import DemoScreen
from nanobot_transcript.demo.tally import count
from nanobot_transcript.demo.who_answers import Noted
from nanobot_transcript.demo.world import World
from transcript_channels.simulator import App, Message, Person

__all__ = ["DemoScene", "why"]

_QUIET: Final = 1.5


@dataclass(slots=True, eq=False)
class DemoScene:
    """Plays in ``world``. Raises DemoError as soon as something does not happen."""

    world: World
    chronicle: Chronicle
    screen: DemoScreen

    async def play(self) -> None:
        """All acts."""
        await self._people_talk()
        answer = await self._alpha_is_asked()
        await self._beta_is_asked(answer)
        self.screen.brief = True
        await self._nobody_is_asked()
        await self._bots_discuss()
        await self._a_person_goes_on()
        self.screen.brief = False

    # -- one record --------------------------------------------------------------------------------------------

    async def _people_talk(self) -> None:
        world = self.world
        self.screen.act("1", said("People talk. Nobody mentions a bot."))
        await self._says(world.ada, said("2.0 ships on Friday afternoon if nothing is missing."))
        newest = await self._says(world.bo, said("The changelog is empty, and nobody has tested the upgrade from 1.9."))
        await world.recorded()
        await world.settled(newest)
        tally = await asyncio.to_thread(count, world)
        _expect(tally.exact, said("The record does not hold what people said exactly once."))
        _expect(not world.bot_messages, said("A bot answered what was not said to it."))
        self.screen.verdict(said("Both bots received both messages. The record has each once."))

    async def _alpha_is_asked(self) -> Message:
        world = self.world
        self.screen.act("2", said("Alpha is asked."))
        before = list(world.group.messages)
        answer = await self._ask(world.ada, world.alpha, said("@Alpha please note what is missing as a task"))
        self._expect_given(world.alpha, before)
        self.screen.verdict(said("Alpha knows what people said to each other."))
        return answer

    async def _beta_is_asked(self, told: Message) -> None:
        world = self.world
        self.screen.act("3", said("Beta is asked what Alpha said."))
        answer = await self._ask(world.bo, world.beta, said("@Beta what did the other bot just say?"))
        pushed = {push.app for push in told.pushes}
        proves_nothing = said("The platform told Beta of Alpha's answer; the demo proves nothing then.")
        _expect(world.beta not in pushed, proves_nothing)
        self._expect_given(world.beta, [told])
        if world.mind.scripted:
            _expect(told.text in answer.text, said("Beta was given Alpha's answer but does not say it."))
        bots = [message.sender for message in world.bot_messages]
        as_asked = not world.mind.scripted or bots == [world.alpha, world.beta]
        _expect(as_asked, said("A bot spoke that nobody had asked."))
        self.screen.verdict(said("Beta knows. The platform never told Beta; the record did."))

    # -- who answers -------------------------------------------------------------------------------------------

    async def _nobody_is_asked(self) -> None:
        world = self.world
        self.screen.act("4", said("An open question. Nobody is addressed."))
        question = await self._says(world.dana, said("I just joined. Does anybody know when 2.0 ships?"))
        answers = await world.settled(question, quiet=_QUIET)
        _expect(len(answers) == 1, said("The open question got {count} answers, not one.", count=len(answers)))
        answered, noted = answers[0].sender.name, await asyncio.to_thread(world.turns.noted, question)
        _expect(all(one.open for one in noted.values()), said("A bot thought that it alone was asked."))
        self.screen.noted(said("why, from each bot's decision log"), _reasons(noted, answered))
        self.screen.verdict(said("One answer, not two: {name} was the first to claim it.", name=answered))
        await self._pause()

    async def _bots_discuss(self) -> None:
        world, screen = self.world, self.screen
        screen.act("5", said("Two bots are asked to discuss. Nobody tells them to stop."))
        question = said("@Alpha discuss it with the other bot: the changelog first, or the upgrade test?")
        turns = await world.settled(await self._says(world.ada, question), quiet=_QUIET)
        hops = await asyncio.to_thread(self._hops, turns)
        screen.noted(said("hops in the record: bot turns since a person spoke"), [hops])
        limit, reasons = world.turns.limit, await asyncio.to_thread(self._reasons_to_stop, turns)
        if world.mind.scripted:
            self._expect_discussed(turns)
            unstopped = said("The loop guard did not stop the bots: {reasons}.", reasons=", ".join(reasons))
            _expect(reasons == {"hop_limit"}, unstopped)
        if reasons == {"hop_limit"}:
            screen.verdict(said("The loop guard of each bot stopped it after {limit} hops (hop_limit).", limit=limit))
        else:
            by_themselves = "They came to an end by themselves; the loop guard's limit is {limit} hops."
            screen.verdict(said(by_themselves, limit=limit))

    async def _a_person_goes_on(self) -> None:
        """Whatever comes after the scene is counted from here, also what is posted in the name of a bot."""
        world = self.world
        closing = await self._says(world.bo, said("@Ada the changelog first. I write it now, then I test the upgrade."))
        _expect(not await world.settled(closing), said("A bot answered what was said to a person."))
        for app in world.group.apps:
            reason = (await asyncio.to_thread(world.turns.verdict, app, closing)).reason
            not_a_person = said("The loop guard did not take a person's words for such: {reason}.", reason=reason)
            _expect(reason == "person", not_a_person)
        self.screen.verdict(said("A person spoke: the hops are counted from 0 again."))

    def _reasons_to_stop(self, turns: list[Message]) -> set[str]:
        """What the loop guard of each bot says to the newest words of another one."""
        reasons: set[str] = set()
        for app in self.world.group.apps:
            heard = [message for message in turns if message.sender is not app]
            reasons.update(self.world.turns.verdict(app, message).reason for message in heard[-1:])
        return reasons

    def _hops(self, turns: list[Message]) -> str:
        hops = [(self.world.entry(message) or {}).get("hop") for message in turns]
        return " → ".join(f"{message.sender.name} {hop}" for message, hop in zip(turns, hops, strict=True))

    def _expect_discussed(self, turns: list[Message]) -> None:
        limit, bots = self.world.turns.limit, self.world.group.apps
        _expect(len(turns) > len(bots), said("The bots did not answer each other."))
        # Who decides at the same moment cannot see the other's turn yet: one more each.
        went_on = said("The bots went on for {count} turns; the limit is {limit}.", count=len(turns), limit=limit)
        _expect(len(turns) <= limit + len(bots), went_on)

    # -- inside ------------------------------------------------------------------------------------------------

    async def _ask(self, person: Person, app: App, text: str) -> Message:
        question = await self._says(person, text)
        answer = await self.world.answer(app, question)
        await self._pause()
        return answer

    async def _says(self, person: Person, text: str) -> Message:
        message = await self.world.say(person, text)
        await self._pause()
        return message

    async def _pause(self) -> None:
        """Time to read, when somebody watches."""
        await asyncio.sleep(self.screen.reading_seconds)

    def _expect_given(self, app: App, messages: list[Message]) -> None:
        """The model request that the bot really sent holds these messages, and none of them twice."""
        turn = self.chronicle.turn_of(app)
        known = turn.known if turn else ()
        for message in messages:
            found = [line for line in known if line.message_id == message.message_id]
            about = {"bot": app.name, "text": message.text}
            not_once = said("{bot}'s prompt holds “{text}” {count} times, not once.", count=len(found), **about)
            _expect(len(found) == 1, not_once)
            word_for_word = not self.world.mind.scripted or found[0].text == message.text
            _expect(word_for_word, said("{bot}'s prompt holds “{text}” in other words.", **about))


def why(noted: Noted) -> str:
    """A bot's decision in a few words."""
    reason = f"{noted.reason} {noted.score:.2f}"
    return said("open to any bot ({reason})", reason=reason) if noted.open else reason


def _reasons(noted: dict[str, Noted], answered: str) -> list[str]:
    ends = {True: said("claimed it"), False: said("saw the claim")}
    return [f"{name}: {why(one)} → {ends[name == answered]}" for name, one in noted.items()]


def _expect(fact: bool, otherwise: str) -> None:
    if not fact:
        raise DemoError(otherwise)
