"""Delivers messages that people wrote to agents unasked: with the answer to a question or report, and with ``i_tool``.

A message is lent to one receiver until it is known whether it arrived. With an answer, it counts as picked up once the
answer was written to the connection. With ``i_tool``, once the agent calls again in that session, or asks or reports
something. A message that did not arrive is free again at once; one that nobody confirms to ``i_tool``, after ``lease``
seconds.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from uuid import uuid4

from msgspec.structs import replace

from nanobot_transcript.errors import StoreError
from transcript_mcp.assistant.questions.contract import QuestionStore
from transcript_mcp.assistant.questions.values import Inquiry, Question, QuestionEvent

__all__ = ["LentNotes", "WaitingNotes"]

logger = logging.getLogger(__name__)

_AGAIN: Final = 5.0
"""Seconds until a failed write is tried again."""

_Agent: TypeAlias = tuple[str, str, str]


@dataclass(frozen=True, eq=False, slots=True)
class LentNotes:
    """Messages on their way to an agent. Call ``arrived`` with whether its client got them."""

    taker: Question
    session: str
    until: float
    messages: Sequence[Inquiry]
    arrived: Callable[[bool], None]


class WaitingNotes:
    """Messages that wait for agents. For one event loop.

    ``begin`` is awaited before the first use of the store; ``tell`` is called with each event.
    """

    def __init__(
        self,
        store: QuestionStore,
        begin: Callable[[], Awaitable[None]],
        tell: Callable[[QuestionEvent], None],
        *,
        lease: float = 60.0,
    ) -> None:
        self._store = store
        self._begin = begin
        self._tell = tell
        self._lease = lease
        self._lent: dict[str, LentNotes] = {}
        self._news: dict[_Agent, set[asyncio.Event]] = {}
        self._tasks: set[asyncio.Task[object]] = set()

    @contextmanager
    def news(self, agent: Question) -> Iterator[asyncio.Event]:
        """An event that is set when there may be a message for the question's agent; watched until the block ends."""
        event = asyncio.Event()
        waiting = self._news.setdefault(_agent(agent), set())
        waiting.add(event)
        try:
            yield event
        finally:
            waiting.discard(event)
            if not waiting:
                self._news.pop(_agent(agent), None)

    def is_awaited(self, agent: Question) -> bool:
        """True while the agent of a question waits for messages."""
        return _agent(agent) in self._news

    def on_event(self, event: QuestionEvent) -> None:
        """A listener of the assistant's events."""
        if event.kind == "message":
            self._wake(event.record.question)

    async def bring(self, question: Question) -> Sequence[Inquiry]:
        """The messages that go with the answer to a question, the oldest first; the same ones if called again.

        ``brought`` must be called afterwards. Raises StoreError.
        """
        try:
            return await self._store.lend(question)
        except BaseException:
            self.brought(question, arrived=False)  # the store may have lent them before it failed
            raise

    def brought(self, question: Question, *, arrived: bool) -> None:
        """Say whether the answer with the messages was written to the connection."""
        self._start(self._settle_at_last(question, got=arrived))

    async def lend(self, agent: Question, session: str) -> LentNotes | None:
        """Lend the messages that wait for the question's agent to a session. None without any. Raises StoreError."""
        await self._begin()
        now = asyncio.get_running_loop().time()
        for lent in [each for each in self._to(agent) if each.until <= now]:
            await self._settle(lent.taker, got=False)
        taker = replace(agent, id=f"i_tool/{session}/{uuid4().hex}")
        try:
            messages = await self._store.lend(taker)
        except BaseException:
            self._give_back(taker)  # the store may have lent them before it failed
            raise
        if not messages:
            return None
        lent = LentNotes(taker, session, now + self._lease, messages, lambda arrived: self._arrived(taker.id, arrived))
        self._lent[taker.id] = lent
        return lent

    async def confirm(self, scope: str, session: str) -> int:
        """What was lent to a session has arrived. Returns the number of messages. Raises StoreError."""
        mine = [each for each in self._lent.values() if (each.taker.scope, each.session) == (scope, session)]
        return sum([await self._settle(lent.taker, got=True) for lent in mine])

    async def on_new_question(self, question: Question) -> None:
        """The agent has asked something new, so what it was lent has arrived."""
        for lent in self._to(question):
            await self._settle_if_possible(lent.taker, got=True)

    def _arrived(self, id: str, arrived: bool) -> None:
        lent = self._lent.get(id)
        if lent is not None and arrived:
            asyncio.get_running_loop().call_at(lent.until, self._wake, lent.taker)
        elif lent is not None:
            self._give_back(lent.taker)

    def _give_back(self, taker: Question) -> None:
        self._start(self._settle_if_possible(taker, got=False))

    def _start(self, work: Coroutine[Any, Any, object]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _settle_at_last(self, taker: Question, *, got: bool) -> None:
        """Settle, with retries for ever: messages lent with an answer have no lease after which they would be free."""
        settled = await self._settle_if_possible(taker, got=got)
        while not settled:
            await asyncio.sleep(_AGAIN)
            settled = await self._settle_if_possible(taker, got=got)

    async def _settle_if_possible(self, taker: Question, *, got: bool) -> bool:
        try:
            await self._settle(taker, got=got)
        except StoreError as error:  # it stays lent, until its lease ends
            logger.warning("Whether a message was delivered cannot be saved yet: %s", error)
            return False
        return True

    async def _settle(self, taker: Question, *, got: bool) -> int:
        settled = await self._store.settle(taker, got=got)
        self._lent.pop(taker.id, None)
        for each in settled if got else ():
            self._tell(QuestionEvent("picked_up", each))
        if not got:
            self._wake(taker)
        return len(settled)

    def _to(self, agent: Question) -> list[LentNotes]:
        return [each for each in self._lent.values() if _agent(each.taker) == _agent(agent)]

    def _wake(self, agent: Question) -> None:
        for event in self._news.get(_agent(agent), ()):
            event.set()


def _agent(question: Question) -> _Agent:
    return question.scope, question.project, question.agent
