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

from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import StoreError
from nanobot_transcript.identity import AgentProfile, is_bot
from nanobot_transcript.runner import InboundMessage
from nanobot_transcript.runner.choosing import Chooser
from nanobot_transcript.runner.deciding import Choice
from nanobot_transcript.turns import AnswerClaims, Claim
from nanobot_transcript.turns.speakers import addresses, hop_of
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
        self._claims: dict[str, AnswerClaims] = {}
        self._standing_by: set[asyncio.Task[None]] = set()

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
                claim = await self._claim(turn, agent, choice) if _is_to_be_claimed(choice) and not command else None
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
                self._deciders.stopped(turn.session_key, turn.entry, agent, verdict.reason)

    async def close(self) -> None:
        """Stand by no more, and let go of the judge."""
        for waiting in self._standing_by:
            waiting.cancel()
        await asyncio.gather(*self._standing_by, return_exceptions=True)
        await self._deciders.gate.aclose()

    def _lane(self, turn: Turn) -> _Lane:
        key = (turn.bot.app_id, turn.session_key)
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = _Lane()
        return lane

    # --- deciding

    async def _choice(self, turn: Turn, agent: AgentProfile, *, urgent: bool) -> Choice:
        deciders, key = self._deciders, turn.session_key
        history = await deciders.history(key, _HISTORY, wait=not urgent)
        members = deciders.members(turn.bot.app_id)
        chooser = Chooser(agent, deciders.gate, deciders.guard, members, deciders.claim_open)
        relayed = is_bot(turn.entry)
        choice = await chooser.choose(InboundMessage(key, turn.entry, relayed=relayed), history, time.time() * 1000)
        logger.info(
            "%s %s %s: %s", agent.name, "answers" if choice.respond else "leaves", turn.message_id, choice.reason
        )
        return choice

    async def _claim(self, turn: Turn, agent: AgentProfile, choice: Choice) -> Claim | None:
        """The claim of a message that several bots may feel meant by; None when another bot has it, or may have it."""
        members = self._deciders.members(turn.bot.app_id)(turn.session_key)
        alone = sum(member.kind == "bot" for member in members) <= 1
        claims = self._claims_of(turn.bot.app_id, agent)
        try:
            claim = await claims.win(turn.session_key, turn.entry, score=choice.score, alone=alone, stand_by=False)
        except StoreError as error:  # better no answer than four
            logger.error("%s cannot claim %s: %s %s", agent.name, turn.message_id, error, error.hint)
            return None
        outcome = "claim_seen" if claim is None else "claimed"
        self._deciders.claimed(turn.session_key, turn.entry, agent, choice.score, outcome)
        if claim is None:
            waiting = asyncio.get_running_loop().create_task(self._stand_by(turn, agent, choice, claims))
            self._standing_by.add(waiting)
            waiting.add_done_callback(self._standing_by.discard)
        return claim

    def _claims_of(self, app_id: str, agent: AgentProfile) -> AnswerClaims:
        if app_id not in self._claims:
            self._claims[app_id] = self._deciders.claims(agent.name)
        return self._claims[app_id]

    async def _stand_by(self, turn: Turn, agent: AgentProfile, choice: Choice, claims: AnswerClaims) -> None:
        """Another bot answers. When it dies over it, the message comes to this one after all."""
        try:
            claim = await claims.win(turn.session_key, turn.entry, score=1.0, alone=True)
            if claim is None:
                logger.info("%s was answered by another bot", turn.message_id)
            else:
                self._deciders.claimed(turn.session_key, turn.entry, agent, choice.score, "taken_over")
                async with self._lane(turn).place(urgent=False):
                    await self.begin(turn, choice, claim)
        except StoreError as error:
            logger.warning("Nobody stands by for %s: %s", turn.message_id, error)
        except Exception:
            logger.exception("A message that another bot left unanswered could not be answered")

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

    def _objection(self, turn: Turn) -> Callable[[], Awaitable[str]]:
        """Asked when an answer is ready. To a bot others may have used up the limit meanwhile."""

        async def objection() -> str:
            if await self._is_taken_back(turn):
                return "it was taken back"
            if not is_bot(turn.entry):
                return ""
            agent = self._deciders.profile(turn.bot.app_id)
            return await self._deciders.limit_passed(turn.session_key, turn.entry, agent)

        return objection


def _is_to_be_claimed(choice: Choice) -> bool:
    return choice.respond and choice.contested
