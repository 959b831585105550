"""What this process's bots decide with, made from the settings once it is needed: gate, guard, claims, budget."""

import logging
from functools import cached_property
from typing import cast

from nanobot_transcript.conversation.decision import Decider, Informed
from nanobot_transcript.conversation.people import Members, People
from nanobot_transcript.conversation.ports import InboundMessage
from nanobot_transcript.coordination.doors import ask
from nanobot_transcript.entry import Entry
from nanobot_transcript.errors import StoreError
from nanobot_transcript.identity import AgentProfile
from nanobot_transcript.record import Record
from nanobot_transcript.relevance import RelevanceGate
from nanobot_transcript.relevance.decision import Outcome
from nanobot_transcript.settings import Settings
from nanobot_transcript.store.async_front import AsyncGroupTranscriptStore
from nanobot_transcript.turns import GUARD_HISTORY, AnswerClaims, LoopGuard
from transcript_channels.nanobot_host.judging import HostModel, judge_of

__all__ = ["Deciders"]

logger = logging.getLogger(__name__)


class Deciders:
    """What the bots of this process decide with. Raises ConfigError for a judge that cannot be."""

    def __init__(
        self,
        settings: Settings,
        record: Record,
        store: AsyncGroupTranscriptStore,
        people: People,
        informed: Informed,
    ) -> None:
        turns = settings.turns
        self._record: Record = record
        self.store: AsyncGroupTranscriptStore = store
        self._people: People = people
        self._informed: Informed = informed
        self.model: HostModel = HostModel()
        self._known: dict[str, Decider] = {}
        self.guard: LoopGuard = LoopGuard(turns.limits())
        self._settings: Settings = settings
        if settings.gate.judge.kind == "openai":
            settings.require("gate.judge")
        self._judge = judge_of(settings.gate.judge, self.model)

    def profile(self, app_id: str) -> AgentProfile:
        """Who a bot is now; the same object as long as nothing changes, by which the gate knows it again."""
        return self._people.look().profile(app_id)

    def members(self, app_id: str) -> Members:
        """The members of chats for a bot, itself among them."""
        return lambda session_key: self._people.look().members(session_key, app_id)

    @cached_property
    def gate(self) -> RelevanceGate:
        """The gate; for nanobot's event loop."""
        gate = self._settings.gate
        log = self._record.decisions if gate.log else None
        return RelevanceGate(gate.options(), self._judge, log, allow=gate.judge.allowance(self._record.budgets))

    def of(self, app_id: str) -> Decider:
        """What decides for a bot, as it is known now."""
        agent, decider = self.profile(app_id), self._known.get(app_id)
        if decider is None or decider.agent.name != agent.name:
            turns = self._settings.turns
            claims = AnswerClaims(self._record.leases, self.store, agent.name, turns.claim.limits())
            decider = Decider(
                agent, self.gate, self.guard, self.members(app_id), claims, turns.claim.answer, informed=self._informed
            )
            self._known[app_id] = decider
        decider.agent = agent
        return decider

    async def close(self) -> None:
        """Stand by no more, and let go of the judge."""
        for decider in self._known.values():
            await decider.close()
        await self.gate.aclose()

    async def history(self, session_key: str, limit: int, *, wait: bool) -> list[Entry]:
        """The newest entries of a chat; with ``wait`` once a gap that is being filled is filled.

        Nothing when the record cannot be read: what is certain by the message itself is certain all the same.
        """
        try:
            if wait:
                return (await self.store.recent(session_key, limit)).entries
            return await self._newest(session_key, limit)
        except StoreError as error:
            logger.error("A message is decided without the record: %s %s", error, error.hint)
            return []

    async def _newest(self, session_key: str, limit: int) -> list[Entry]:
        """Without waiting for a gap to be filled."""
        store = self.store.sync
        return (await ask(store.backend.blocking, store.recent, session_key, limit)).entries

    async def is_recorded(self, session_key: str, message_id: str) -> bool | None:
        """True for what stands in the record, False for what does not (any more); None when that cannot be told."""
        try:
            store = self.store.sync
            return await ask(store.backend.blocking, store.get, session_key, message_id) is not None
        except StoreError as error:
            logger.error("Whether %s was taken back cannot be told: %s %s", message_id, error, error.hint)
            return None

    async def limit_passed(self, session_key: str, message: Entry, app_id: str) -> str:
        """Why a bot's message is not to be answered any more; an empty text when it may. Raises StoreError."""
        decider, history = self.of(app_id), await self._newest(session_key, GUARD_HISTORY)
        verdict = self.guard.allows(message, history, decider.agent)
        if verdict.allowed:
            return ""
        decider.stopped(session_key, message, verdict.reason)
        return f"bots have said enough to each other ({verdict.reason})"

    def ended(self, app_id: str, session_key: str, message_id: str, outcome: Outcome, why: str = "") -> None:
        """Note what became of the answer of a bot to a message of a group."""
        message = cast("Entry", {"message_id": message_id})  # nothing else of it is noted
        self.of(app_id).ended(InboundMessage(session_key, message), outcome, why)
