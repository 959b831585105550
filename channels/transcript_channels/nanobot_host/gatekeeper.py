"""Decides which messages become turns of this process's bots: in mode ``gate`` all of them, else those of other bots.

Everything here runs on nanobot's event loop. The messages of a chat are decided in order. A message that mentions the
bot never waits for a judge: it needs none itself, and it interrupts the judge of a message before it.
"""

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Final, cast
from weakref import WeakValueDictionary

from nanobot_transcript.conversation.composition import Conversation
from nanobot_transcript.conversation.decision import Choice, Decider
from nanobot_transcript.conversation.ports import InboundMessage
from nanobot_transcript.coordination.async_fronts import ask
from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import StoreError
from nanobot_transcript.identity import is_bot
from nanobot_transcript.relevance import Judge, RelevanceGate
from nanobot_transcript.relevance.decision import TurnOutcome
from nanobot_transcript.session_key import split
from nanobot_transcript.turns import GUARD_HISTORY, Claim
from nanobot_transcript.turns.addressees import hop_of
from transcript_channels.feishu.platform import FEISHU
from transcript_channels.nanobot_host.bot import Bot, Objection, Objects
from transcript_channels.nanobot_host.judge import HURRY

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

__all__ = ["Gatekeeper", "PossibleTurn"]

logger = logging.getLogger(__name__)

_HISTORY: Final = 120
# reasons by which a command is not for this bot
_FOR_OTHERS: Final = frozenset({"command_for_other", "other_mentioned", "duplicate", "recalled", "stale", "own"})

Begin = Callable[[bool], Awaitable[None]]
"""Hands a message to nanobot. True: it was decided that it becomes a turn; False: nanobot decides by its own rules."""
_COMMAND: Final = re.compile(r"\s*(?:@\S{1,100}\s+){0,4}(/[A-Za-z][\w-]{0,40})(?![\w/])")
_LOOKED_AT: Final = 500


@dataclass(frozen=True, slots=True, eq=False)
class PossibleTurn:
    """A message that may become a turn of ``bot``; ``begin`` hands it to nanobot.

    ``recorded``: it is in the record; if it is gone from there, it was recalled.
    """

    bot: "Bot"
    session_key: str
    entry: Entry
    begin: Begin
    recorded: bool

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
        """Wait for the chat, in order. An ``urgent`` message interrupts the judges of those before it."""
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
    """Decides which messages become turns, and claims those that several bots could answer."""

    def __init__(self, conversation: Conversation, judge: Judge | None) -> None:
        self._conversation: Conversation = conversation
        self._judge: Judge | None = judge
        self._lanes: WeakValueDictionary[tuple[str, str], _Lane] = WeakValueDictionary()

    async def admit(self, turn: PossibleTurn) -> None:
        """Let the message begin a turn, now or later, or not at all. What ``begin`` raises goes to the caller.

        When deciding itself fails, nanobot gets the message, as if there were no gate.
        """
        try:
            decider = self.decider(turn.bot.app_id)
            command = _is_command(turn.entry["content"]) and not is_bot(turn.entry)
            urgent = command or decider.is_addressed(turn.inbound)
        except Exception:
            logger.exception("Could not decide who is meant by %s", turn.message_id)
            return await turn.begin(False)
        lane = self._lane(turn)
        async with lane.place(urgent=urgent):
            token = HURRY.set(lane.hurry)
            try:
                choice = await self._choice(turn, decider, urgent=urgent)
                claim = await self._claim(turn, decider, choice) if _is_to_be_claimed(choice) and not command else None
            except Exception:
                logger.exception("Could not decide whether %s is for %s", turn.message_id, decider.agent.name)
                return await turn.begin(False)
            finally:
                HURRY.reset(token)
            if command:
                await self._command(turn, choice)
            elif claim is not None or (choice.respond and not choice.contested):
                await self.begin(turn, choice, claim)
        return None

    async def relay(self, turn: PossibleTurn) -> None:
        """Let a bot's message begin a turn where no gate decides; the loop guard has the last word."""
        decider = self.decider(turn.bot.app_id)
        async with self._lane(turn).place(urgent=False):
            history = await self._history(turn.session_key, wait=False)
            verdict = self._conversation.guard.allows(turn.entry, history, decider.agent)
            if verdict.allowed:
                hop = 1 + max(verdict.hops, hop_of(turn.entry))
                await self.begin(turn, Choice(True, verdict.reason, hop))
            else:
                decider.stopped(turn.session_key, turn.entry, verdict.reason)

    @cached_property
    def gate(self) -> RelevanceGate:
        """The gate of all bots of this process; for nanobot's event loop."""
        return self._conversation.gate(self._judge)

    def decider(self, app_id: str) -> Decider:
        """What decides for a bot, as it is known now."""
        return self._conversation.decider(self._conversation.profile(app_id), self.gate)

    def ended(self, app_id: str, session_key: str, message_id: str, outcome: TurnOutcome, why: str = "") -> None:
        """Log what became of a bot's answer to a message."""
        message = cast("Entry", {"message_id": message_id})  # nothing else of it is noted
        private = not FEISHU.is_group(split(session_key)[1])
        self.decider(app_id).ended(InboundMessage(session_key, message, private=private), outcome, why)

    def _lane(self, turn: PossibleTurn) -> _Lane:
        key = (turn.bot.app_id, turn.session_key)
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = _Lane()
        return lane

    # --- deciding

    async def _choice(self, turn: PossibleTurn, decider: Decider, *, urgent: bool) -> Choice:
        history = await self._history(turn.session_key, wait=not urgent)
        choice = await decider.choose(turn.inbound, history, time.time() * 1000)
        name, does = decider.agent.name, "answers" if choice.respond else "leaves"
        logger.info("%s %s %s: %s", name, does, turn.message_id, choice.reason)
        return choice

    async def _claim(self, turn: PossibleTurn, decider: Decider, choice: Choice) -> Claim | None:
        """The claim of a message that several bots may feel meant by; None when another bot has it, or may have it."""

        async def take_over(claim: Claim) -> None:
            async with self._lane(turn).place(urgent=False):
                await self.begin(turn, choice, claim)

        return await decider.claim(turn.inbound, choice, take_over)

    async def _history(self, session_key: str, *, wait: bool) -> list[Entry]:
        """The newest entries of a chat; with ``wait``, after a gap that is being filled has been filled.

        Empty when the record cannot be read: a mention, for example, is clear from the message alone.
        """
        try:
            if wait:
                return (await self._conversation.store.recent(session_key, _HISTORY)).entries
            return await self._newest(session_key, _HISTORY)
        except StoreError as error:
            logger.error("Deciding about a message without the record: %s %s", error, error.hint)
            return []

    async def _newest(self, session_key: str, limit: int) -> list[Entry]:
        """Without waiting for a gap to be filled."""
        store = self._conversation.store.sync
        return (await ask(store.backend.blocking, store.recent, session_key, limit)).entries

    # --- beginning

    async def _is_taken_back(self, turn: PossibleTurn) -> bool:
        """True for a message that was recorded and is gone from the record; False when the record cannot be read."""
        if not turn.recorded:
            return False
        try:
            store = self._conversation.store.sync
            return await ask(store.backend.blocking, store.get, turn.session_key, turn.message_id) is None
        except StoreError as error:
            logger.error("Could not tell whether %s was recalled: %s %s", turn.message_id, error, error.hint)
            return False

    async def _command(self, turn: PossibleTurn, choice: Choice) -> None:
        """Leave a command to nanobot, unless it is for another bot."""
        if choice.reason not in _FOR_OTHERS:
            await turn.begin(False)

    async def begin(self, turn: PossibleTurn, choice: Choice, claim: Claim | None = None) -> None:
        """Hand the message to nanobot and expect an answer, unless it was recalled meanwhile."""
        bot, message_id = turn.bot, turn.message_id
        if await self._is_taken_back(turn):
            logger.info("%s was recalled and gets no answer", message_id)
            self._ended(turn, "withdrawn")
            if claim is not None:
                with suppress(StoreError):  # the claim expires by itself
                    claim.settle()
            return
        bot.answers.expect(message_id, choice.hop, self._objection(turn))
        if claim is not None:
            bot.answers.hold(message_id, claim)
        try:
            await turn.begin(True)
        finally:
            if not bot.turns.began(message_id):  # nanobot may refuse it by rules of its own
                bot.answers.drop(message_id)
                self._ended(turn, "withdrawn", "nanobot did not take the message; its log says why.")

    def _ended(self, turn: PossibleTurn, outcome: TurnOutcome, why: str = "") -> None:
        self.decider(turn.bot.app_id).ended(turn.inbound, outcome, why)

    def _objection(self, turn: PossibleTurn) -> Objects:
        """What is asked when the answer is ready: the message may have been recalled, or other bots may have used up
        the loop guard's limit.
        """

        async def objection() -> Objection | None:
            if await self._is_taken_back(turn):
                return Objection("withdrawn", "it was taken back")
            if not is_bot(turn.entry):
                return None
            return await self._stopped(turn)

        return objection

    async def _stopped(self, turn: PossibleTurn) -> Objection | None:
        """Why a bot's message is not to be answered any more. Raises StoreError."""
        decider, history = self.decider(turn.bot.app_id), await self._newest(turn.session_key, GUARD_HISTORY)
        verdict = self._conversation.guard.allows(turn.entry, history, decider.agent)
        if verdict.allowed:
            return None
        decider.stopped(turn.session_key, turn.entry, verdict.reason)
        return Objection(None, f"bots have said enough to each other ({verdict.reason})")


def _is_to_be_claimed(choice: Choice) -> bool:
    return choice.respond and choice.contested


def _is_command(text: str) -> bool:
    """True for a text that begins with one of nanobot's commands, perhaps behind a mention."""
    match = _COMMAND.match(text[:_LOOKED_AT])
    return match is not None and match[1].casefold() in _known()


@cache
def _known() -> frozenset[str]:
    try:
        from nanobot.command.builtin import BUILTIN_COMMAND_SPECS

        return frozenset(spec.command.casefold() for spec in BUILTIN_COMMAND_SPECS)
    except (ImportError, AttributeError):  # `seams` has reported it at the start
        return frozenset()
