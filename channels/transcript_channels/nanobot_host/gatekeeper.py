"""Stands before the turns of this process's bots: in mode ``gate`` it decides which messages become one.

Everything here runs on nanobot's event loop. The messages of a chat are decided one after the other; a message that
mentions the bot does not wait for a judge, neither for its own sake nor behind another message.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from nanobot_transcript.conversation.decision import Choice
from nanobot_transcript.conversation.ports import InboundMessage
from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import StoreError
from nanobot_transcript.identity import AgentProfile, is_bot
from nanobot_transcript.relevance.decision import Outcome
from nanobot_transcript.turns import Claim
from nanobot_transcript.turns.speakers import addresses, hop_of
from transcript_channels.nanobot_host.answers import Objection, Objects
from transcript_channels.nanobot_host.commands import is_command
from transcript_channels.nanobot_host.judging import HURRY

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from transcript_channels.nanobot_host.deciders import Deciders
    from transcript_channels.nanobot_host.host import Bot

__all__ = ["Gatekeeper", "Turn"]

logger = logging.getLogger(__name__)

_HISTORY: Final = 120
_FOR_OTHERS: Final = frozenset({"command_for_other", "other_mentioned", "duplicate", "recalled", "stale", "own"})

Begin = Callable[[bool], Awaitable[None]]
"""Hands a message to nanobot. True: it was decided that it becomes a turn; False: nanobot decides by its own rules."""


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """A message that may become a turn of ``bot``; ``begin`` hands it to nanobot.

    ``recorded``: it stood in the record when it was looked at first, and so it does unless it is taken back.
    """

    bot: "Bot"
    session_key: str
    entry: Entry
    begin: Begin
    recorded: bool = False

    @property
    def message_id(self) -> str:
        """The platform's id of the message."""
        return self.entry["message_id"] or ""

    @property
    def inbound(self) -> InboundMessage:
        """The message as it is decided about."""
        return InboundMessage(self.session_key, self.entry, relayed=is_bot(self.entry))


@dataclass(eq=False)
class _Lane:
    """One chat of one bot."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    hurry: asyncio.Event = field(default_factory=asyncio.Event)
    urgent: int = 0

    @asynccontextmanager
    async def place(self, *, urgent: bool) -> "AsyncIterator[None]":
        """The lane to oneself, in the order of asking; whoever is urgent ends the waiting for judges before it."""
        if urgent:
            self.urgent += 1
            self.hurry.set()
        try:
            async with self.lock:
                if urgent:
                    self._arrived()
                    urgent = False
                yield
        finally:
            if urgent:
                self._arrived()

    def _arrived(self) -> None:
        self.urgent -= 1
        if not self.urgent:
            self.hurry.clear()


class Gatekeeper:
    """Decides and, where several bots could answer, claims."""

    def __init__(self, deciders: "Deciders") -> None:
        self._deciders: Deciders = deciders
        self._lanes: WeakValueDictionary[tuple[str, str], _Lane] = WeakValueDictionary()

    async def admit(self, turn: Turn) -> None:
        """Let the message begin a turn, now or later, or not at all. What ``begin`` raises goes to the caller.

        When deciding itself fails, nanobot gets the message, as if there were no gate.
        """
        turn = await self._looked_at(turn)
        try:
            agent = self._deciders.profile(turn.bot.app_id)
            command = is_command(turn.entry["content"]) and not is_bot(turn.entry)
            members = self._deciders.members(turn.bot.app_id)(turn.session_key)
            urgent = command or addresses(turn.entry, agent, members)
        except Exception:
            logger.exception("It could not be decided who is meant by %s", turn.message_id)
            return await turn.begin(False)
        lane = self._lane(turn)
        async with lane.place(urgent=urgent):
            token = HURRY.set(lane.hurry)
            try:
                choice = await self._choice(turn, agent, urgent=urgent)
                claim = await self._claim(turn, choice) if _is_to_be_claimed(choice) and not command else None
            except Exception:
                logger.exception("It could not be decided whether %s is for %s", turn.message_id, agent.name)
                return await turn.begin(False)
            finally:
                HURRY.reset(token)
            if command:
                await self._command(turn, choice)
            elif claim is not None or (choice.respond and not choice.contested):
                await self.begin(turn, choice, claim)
        return None

    async def relay(self, turn: Turn) -> None:
        """Let a bot's message begin a turn where no gate decides; the loop guard has the last word."""
        turn, agent = await self._looked_at(turn), self._deciders.profile(turn.bot.app_id)
        async with self._lane(turn).place(urgent=False):
            history = await self._deciders.history(turn.session_key, _HISTORY, wait=False)
            verdict = self._deciders.guard.allows(turn.entry, history, agent)
            if verdict.allowed:
                hop = 1 + max(verdict.hops, hop_of(turn.entry))
                await self.begin(turn, Choice(True, verdict.reason, hop))
            else:
                self._deciders.of(turn.bot.app_id).stopped(turn.session_key, turn.entry, verdict.reason)

    async def close(self) -> None:
        """Stand by no more, and let go of the judge."""
        await self._deciders.close()

    def _lane(self, turn: Turn) -> _Lane:
        key = (turn.bot.app_id, turn.session_key)
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = _Lane()
        return lane

    # --- deciding

    async def _choice(self, turn: Turn, agent: AgentProfile, *, urgent: bool) -> Choice:
        history = await self._deciders.history(turn.session_key, _HISTORY, wait=not urgent)
        choice = await self._deciders.of(turn.bot.app_id).choose(turn.inbound, history, time.time() * 1000)
        logger.info(
            "%s %s %s: %s", agent.name, "answers" if choice.respond else "leaves", turn.message_id, choice.reason
        )
        return choice

    async def _claim(self, turn: Turn, choice: Choice) -> Claim | None:
        """The claim of a message that several bots may feel meant by; None when another bot has it, or may have it."""

        async def take_over(claim: Claim) -> None:
            async with self._lane(turn).place(urgent=False):
                await self.begin(turn, choice, claim)

        return await self._deciders.of(turn.bot.app_id).claim(turn.inbound, choice, take_over)

    # --- beginning

    async def _looked_at(self, turn: Turn) -> Turn:
        return replace(turn, recorded=await self._deciders.is_recorded(turn.session_key, turn.message_id) is True)

    async def _is_taken_back(self, turn: Turn) -> bool:
        return turn.recorded and await self._deciders.is_recorded(turn.session_key, turn.message_id) is False

    async def _command(self, turn: Turn, choice: Choice) -> None:
        """nanobot decides about its commands, apart from those that are another bot's."""
        if choice.reason not in _FOR_OTHERS:
            await turn.begin(False)

    async def begin(self, turn: Turn, choice: Choice, claim: Claim | None = None) -> None:
        """Hand the message to nanobot, and watch over the answer. Not when it was taken back meanwhile."""
        bot, message_id = turn.bot, turn.message_id
        if await self._is_taken_back(turn):
            logger.info("%s was taken back and gets no answer", message_id)
            self._ended(turn, "withdrawn")
            if claim is not None:
                with suppress(StoreError):  # it runs out by itself
                    claim.settle()
            return
        bot.answers.expect(message_id, choice.hop, self._objection(turn))
        if claim is not None:
            bot.answers.hold(message_id, claim)
        try:
            await turn.begin(True)
        finally:
            if not bot.turns.began(message_id):  # nanobot has its own reasons
                bot.answers.drop(message_id)
                self._ended(turn, "withdrawn", "nanobot did not take the message; its log says why.")

    def _ended(self, turn: Turn, outcome: Outcome, why: str = "") -> None:
        self._deciders.of(turn.bot.app_id).ended(turn.inbound, outcome, why)

    def _objection(self, turn: Turn) -> Objects:
        """Asked when an answer is ready. To a bot others may have used up the limit meanwhile."""

        async def objection() -> Objection | None:
            if await self._is_taken_back(turn):
                return Objection("withdrawn", "it was taken back")
            if not is_bot(turn.entry):
                return None
            passed = await self._deciders.limit_passed(turn.session_key, turn.entry, turn.bot.app_id)
            return Objection(None, passed) if passed else None

        return objection


def _is_to_be_claimed(choice: Choice) -> bool:
    return choice.respond and choice.contested
