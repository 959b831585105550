"""Implements ``Notes``: other rooms, such as the IO bridge, deliver what people write to agents on this room's page."""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from nanobot_transcript.errors import TokenRefusedError
from transcript_mcp.assistant.protocol.frames import written_contents
from transcript_mcp.assistant.questions.notes import LentNotes, WaitingNotes
from transcript_mcp.assistant.questions.rules import clean_name
from transcript_mcp.assistant.questions.values import Question
from transcript_mcp.assistant.views import shown
from transcript_mcp.door.identity import Caller, Tokens
from transcript_mcp.room import Addressee
from transcript_mcp.sdk import Content

__all__ = ["AgentNotes"]


@dataclass(frozen=True, slots=True)
class _Shown:
    contents: Sequence[Content]
    lent: LentNotes

    def arrived(self, arrived: bool) -> None:
        self.lent.arrived(arrived)


@dataclass(eq=False)
class AgentNotes:
    """``largest``: bytes of an attachment that agents are shown."""

    unasked: WaitingNotes
    tokens: Tokens
    largest: int

    def news(self, agent: Addressee) -> AbstractContextManager[asyncio.Event]:
        """See ``Notes``."""
        return self.unasked.news(self._question(agent))

    async def take(self, agent: Addressee, session: str) -> _Shown | None:
        """See ``Notes``."""
        lent = await self.unasked.lend(self._question(agent), session)
        return None if lent is None else _Shown(shown(written_contents(lent.messages), self.largest), lent)

    async def confirm(self, caller: Caller | None, session: str) -> int:
        """See ``Notes``."""
        try:
            scope = self.tokens.asks_in(caller)
        except TokenRefusedError:
            return 0  # without a scope nothing was given out
        return await self.unasked.confirm(scope, session)

    def reaches(self, person: Caller, agent: Addressee) -> bool:
        """See ``Notes``."""
        try:
            return self.tokens.asks_in(agent.caller) in person.scopes
        except TokenRefusedError:
            return False

    def _question(self, agent: Addressee) -> Question:
        scope = self.tokens.asks_in(agent.caller)
        project, name = clean_name(agent.project), clean_name(agent.name)  # stored notes have cleaned names
        return Question(scope, "", "question", "", project=project, agent=name)
