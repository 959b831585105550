"""The conversation put together: everything that happens with messages of one platform's groups, for the bots of this
process.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from nanobot_transcript.conversation.arrivals import Reader
from nanobot_transcript.conversation.background import Background
from nanobot_transcript.conversation.decision import Decider, Gate
from nanobot_transcript.conversation.lists import Lists
from nanobot_transcript.conversation.people import Members, People
from nanobot_transcript.conversation.policy import Policy
from nanobot_transcript.conversation.prompt import ContextLimits
from nanobot_transcript.conversation.thanks import Thanks
from nanobot_transcript.coordination.contract import HOUR, Budget
from nanobot_transcript.errors import StoreError
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.platform import Platform
from nanobot_transcript.record import Record
from nanobot_transcript.relevance import GateOptions, Judge, RelevanceGate
from nanobot_transcript.relevance.choice import ClaimOpen
from nanobot_transcript.relevance.judge import QUESTIONS
from nanobot_transcript.session_key import split
from nanobot_transcript.store.async_front import AsyncGroupTranscriptStore
from nanobot_transcript.turns import AnswerClaims, ClaimLimits, LoopGuard, LoopLimits, Relay, RelaySettings

__all__ = ["Conversation", "Options"]

logger = logging.getLogger(__name__)

_LAST_WORDS: Final = 5.0
"""Seconds that closing waits until everything learned is saved."""


@dataclass(frozen=True, slots=True)
class Options:
    """How the bots of a process take part.

    ``agents`` is what the settings say of bots, by account; ``only`` names the only bot of this process.
    ``questions_per_hour`` is how often all bots of the record together may ask a judge; ``log``: log decisions.
    ``claim_open``: see ``Decider``; ``courtesy_reaction``: see ``Thanks``.
    """

    agents: Mapping[str, AgentProfile] = field(default_factory=dict)
    only: str = ""
    policy: Policy = field(default_factory=Policy)
    context: ContextLimits = field(default_factory=ContextLimits)
    gate: GateOptions = field(default_factory=GateOptions)
    log: bool = True
    questions_per_hour: int = 60
    guard: LoopLimits = field(default_factory=LoopLimits)
    claim: ClaimLimits = field(default_factory=ClaimLimits)
    claim_open: ClaimOpen = "questions"
    relay: RelaySettings = field(default_factory=RelaySettings)
    courtesy_reaction: str = ""


class Conversation:
    """Who is here, what comes in, what is decided; each part knows only the parts it needs.

    ``store`` is the record's, for the event loop. ``is_private`` tells for a chat id that it is not a group. ``hourly``
    runs once an hour, such as the maintenance of the record, which one of the processes does.
    """

    def __init__(
        self,
        record: Record,
        platform: Platform,
        options: Options,
        store: AsyncGroupTranscriptStore,
        *,
        is_private: Callable[[str], bool] = lambda chat_id: False,
        hourly: Sequence[Callable[[], object]] = (),
    ) -> None:
        self.record: Record = record
        self.platform: Platform = platform
        self.options: Options = options
        self.policy: Policy = options.policy
        self.store: AsyncGroupTranscriptStore = store
        self.people: People = People(record.store.members, platform, options.agents, only=options.only)
        self.lists: Lists = Lists(self.people, self.records)
        self.background: Background = Background(self._maintain)
        self.reader: Reader = Reader(self.people, self.background.submit, record.store, self.records)
        self.guard: LoopGuard = LoopGuard(options.guard)
        self.thanks: Thanks = Thanks(options.courtesy_reaction)
        self._is_private: Callable[[str], bool] = is_private
        self._hourly: Sequence[Callable[[], object]] = hourly
        self._gates: list[RelevanceGate] = []
        self._deciders: dict[str, Decider] = {}

    @property
    def is_far(self) -> bool:
        """True when reading the record may take long, as over a network."""
        return self.store.sync.backend.blocking

    @property
    def hears_slowly(self) -> bool:
        """True when recording a message may take long, so that it is done in a thread."""
        return self.is_far or self.store.sync.backend.append_blocks

    def records(self, session_key: str) -> bool:
        """True for groups of this platform whose messages are recorded."""
        platform, chat_id = split(session_key)
        return platform == self.platform.name and self.policy.records(chat_id) and not self._is_private(chat_id)

    def shares(self, session_key: str) -> bool:
        """True for groups of this platform in which an agent is told what was said, and may answer."""
        return self.records(session_key) and self.policy.shares(split(session_key)[1])

    def profile(self, account: str) -> AgentProfile:
        """Who a bot is now; the same object as long as nothing changes, because the gate caches by identity."""
        return self.people.look().profile(account)

    def members(self, account: str) -> Members:
        """The members of chats for a bot, itself among them."""
        return lambda session_key: self.people.look().members(session_key, account)

    def gate(self, judge: Judge | None) -> RelevanceGate:
        """A new gate, for one event loop. It is closed with the conversation."""
        options, log = self.options, self.record.decisions if self.options.log else None
        gate = RelevanceGate(
            options.gate, judge, log, allow=_allowance(self.record.budgets, options.questions_per_hour)
        )
        self._gates.append(gate)
        return gate

    def decider(self, agent: AgentProfile, gate: Gate) -> Decider:
        """What decides for a bot with this profile."""
        account, options = agent.account, self.options
        decider = self._deciders.get(account)
        if decider is None or decider.agent.name != agent.name:
            claims = AnswerClaims(self.record.leases, self.store, agent.name, options.claim)
            members, informed = self.members(account), self.lists.known
            thanked = partial(self.thanks.take, account)
            decider = Decider(
                agent, gate, self.guard, members, claims, options.claim_open, informed=informed, thanked=thanked
            )
            self._deciders[account] = decider
        decider.agent = agent
        return decider

    def relay(self, agent: AgentProfile, *, seen: Callable[[str], bool] = lambda message_id: False) -> Relay:
        """Brings a bot the messages of other bots from the record; ``seen`` tells what it was told already."""
        return Relay(
            self.store,
            agent,
            self.options.relay,
            guard=self.guard,
            members=self.members(agent.account),
            seen=seen,
            marks=self.record.marks,
        )

    async def aclose(self) -> None:
        """Stop deciding, close the judges, and save what was learned. The record stays open."""
        async with AsyncExitStack() as ends:  # each is closed even when another one fails
            ends.push_async_callback(asyncio.to_thread, self.write_down)
            for gate in self._gates:
                ends.push_async_callback(gate.aclose)
            for decider in self._deciders.values():
                ends.push_async_callback(decider.close)

    def write_down(self) -> None:
        """Save what was learned last, within a few seconds; nothing is learned after that."""
        until = time.monotonic() + _LAST_WORDS
        try:
            done = self.background.close(_LAST_WORDS)
            done &= self.record.members.flush(max(0.0, until - time.monotonic()))
        except StoreError as error:
            logger.warning("The latest changes to members and groups could not be saved: %s", error)
            return
        if not done:
            logger.warning("The latest changes to members and groups may not have been saved")

    def _maintain(self) -> None:
        for work in (self.people.still_here, *self._hourly):
            try:
                work()
            except Exception:  # the other tasks still run
                logger.exception("An hourly task failed")


def _allowance(budget: Budget, per_hour: int) -> Callable[[], bool]:
    """Takes one question from the budget shared by all bots of the record; False when it is used up."""
    return lambda: per_hour > 0 and budget.take(QUESTIONS, limit=per_hour, window=HOUR)
