"""What people write to agents here, for the room in which agents get it: neither of the two knows the other."""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from nanobot_transcript.errors import TokenRefusedError
from transcript_mcp.assistant.protocol.frames import written_contents
from transcript_mcp.assistant.questions.notes import Lent, WaitingNotes
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
    lent: Lent

    def arrived(self, arrived: bool) -> None:
        self.lent.arrived(arrived)


class AgentNotes:
    """``Notes``. ``largest`` bounds what comes with a message, in bytes."""

    def __init__(self, unasked: WaitingNotes, tokens: Tokens, largest: int) -> None:
        self._unasked = unasked
        self._tokens = tokens
        self._largest = largest

    def news(self, agent: Addressee) -> AbstractContextManager[asyncio.Event]:
        """See ``Notes``."""
        return self._unasked.news(self._question(agent))

    async def take(self, agent: Addressee, session: str) -> _Shown | None:
        """See ``Notes``."""
        lent = await self._unasked.lend(self._question(agent), session)
        return None if lent is None else _Shown(shown(written_contents(lent.messages), self._largest), lent)

    async def confirm(self, caller: Caller | None, session: str) -> int:
        """See ``Notes``."""
        try:
            scope = self._tokens.asks_in(caller)
        except TokenRefusedError:
            return 0  # whoever has no scope was given nothing
        return await self._unasked.confirm(scope, session)

    def reaches(self, person: Caller, agent: Addressee) -> bool:
        """See ``Notes``."""
        try:
            return self._tokens.asks_in(agent.caller) in person.scopes
        except TokenRefusedError:
            return False

    def _question(self, agent: Addressee) -> Question:
        scope = self._tokens.asks_in(agent.caller)
        project, name = clean_name(agent.project), clean_name(agent.name)  # as what is written is kept
        return Question(scope, "", "question", "", project=project, agent=name)
