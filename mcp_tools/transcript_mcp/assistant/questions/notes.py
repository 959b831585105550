"""Gives agents what people wrote to them unasked: with the answer to a question or report, and with ``i_tool``.

What goes with an answer is lent until that was written to who asked: then it is picked up. What ``i_tool`` gives is
lent until the agent is heard of again, by its next call in the session or its next question or report. What did not
arrive can be had again at once, what nobody confirms to ``i_tool`` after ``lease`` seconds.
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
from transcript_mcp.assistant.questions.store import QuestionStore
from transcript_mcp.assistant.questions.values import Inquiry, Question, QuestionEvent

__all__ = ["Lent", "WaitingNotes"]

logger = logging.getLogger(__name__)

_AGAIN: Final = 5.0
"""Seconds until what could not be written down is tried again."""

_Agent: TypeAlias = tuple[str, str, str]


@dataclass(frozen=True, eq=False, slots=True)
class Lent:
    """Messages on their way to an agent. Say by ``arrived`` whether its client got them."""

    taker: Question
    session: str
    until: float
    messages: Sequence[Inquiry]
    arrived: Callable[[bool], None]


class WaitingNotes:
    """Messages by agent, for one event loop. ``begin`` comes before all, ``tell`` spreads news."""

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
        self._lent: dict[str, Lent] = {}
        self._news: dict[_Agent, set[asyncio.Event]] = {}
        self._tasks: set[asyncio.Task[object]] = set()

    @contextmanager
    def news(self, agent: Question) -> Iterator[asyncio.Event]:
        """Set when there may be something for the agent of a question, until the end of the ``with`` block."""
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

    def heard(self, event: QuestionEvent) -> None:
        """News of the assistant."""
        if event.kind == "message":
            self._wake(event.record.question)

    async def bring(self, question: Question) -> Sequence[Inquiry]:
        """What goes with the answer to a question, the oldest first; the same again when it is asked for again.

        ``brought`` has to follow. Raises StoreError kinds.
        """
        try:
            return await self._store.lend(question)
        except BaseException:
            self.brought(question, arrived=False)  # they may be lent by now
            raise

    def brought(self, question: Question, *, arrived: bool) -> None:
        """Whether the answer to a question was written to who asked."""
        self._start(self._settle_at_last(question, got=arrived))

    async def lend(self, agent: Question, session: str) -> Lent | None:
        """What waits for the agent of a question, given to it in a session. Raises StoreError kinds."""
        await self._begin()
        now = asyncio.get_running_loop().time()
        for lent in [each for each in self._to(agent) if each.until <= now]:
            await self._settle(lent.taker, got=False)
        taker = replace(agent, id=f"i_tool/{session}/{uuid4().hex}")
        try:
            messages = await self._store.lend(taker)
        except BaseException:
            self._give_back(taker)  # they may be lent by now
            raise
        if not messages:
            return None
        lent = Lent(taker, session, now + self._lease, messages, lambda arrived: self._arrived(taker.id, arrived))
        self._lent[taker.id] = lent
        return lent

    async def confirm(self, scope: str, session: str) -> int:
        """The agent of a session has what it was lent there; how many messages. Raises StoreError kinds."""
        mine = [each for each in self._lent.values() if (each.taker.scope, each.session) == (scope, session)]
        return sum([await self._settle(lent.taker, got=True) for lent in mine])

    async def asked(self, question: Question) -> None:
        """The agent of a new question has what it was lent."""
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
        """Nobody else would: what goes with an answer has no time after which it is free again."""
        settled = await self._settle_if_possible(taker, got=got)
        while not settled:
            await asyncio.sleep(_AGAIN)
            settled = await self._settle_if_possible(taker, got=got)

    async def _settle_if_possible(self, taker: Question, *, got: bool) -> bool:
        try:
            await self._settle(taker, got=got)
        except StoreError as error:  # it stays lent until its time is over
            logger.warning("What became of a message cannot be saved yet: %s", error)
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

    def _to(self, agent: Question) -> list[Lent]:
        return [each for each in self._lent.values() if _agent(each.taker) == _agent(agent)]

    def _wake(self, agent: Question) -> None:
        for event in self._news.get(_agent(agent), ()):
            event.set()


def _agent(question: Question) -> _Agent:
    return question.scope, question.project, question.agent
