"""The questions that wait, as long as this process runs: who waits for the answer to each, until when, and how many
they are.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from nanobot_transcript.coordination.clock import moment
from nanobot_transcript.errors import InvalidQuestionError
from transcript_mcp.assistant.questions.rules import size_of
from transcript_mcp.assistant.questions.values import Inquiry, Question

__all__ = ["Held", "Holding", "Key", "TimeUp", "seconds_left"]

_MOST_WAITING: Final = 1000
_MOST_BYTES: Final = 32 * 1024 * 1024
"""Of all that waits in a scope: everybody who looks there is sent it."""

Key: TypeAlias = tuple[str, str]
"""Scope and id."""

TimeUp: TypeAlias = Literal["timeout", "cancelled"]


@dataclass(eq=False, slots=True)
class Held:
    """A question that waits. ``size`` is about how many bytes it has; ``is_back``: since the last one left who waited,
    somebody has asked it again, and is about to wait.
    """

    record: Inquiry
    size: int
    deadline: asyncio.TimerHandle | None = None
    leaving: asyncio.TimerHandle | None = None
    waiters: "set[asyncio.Future[Inquiry]]" = field(default_factory=set)
    is_over: bool = False
    is_back: bool = False

    def is_wanted(self) -> bool:
        """Whether somebody waits for it now, or is about to."""
        return bool(self.waiters) or self.is_back

    def end(self, record: Inquiry) -> None:
        """Tell those who wait."""
        self.is_over = True
        self.stay()
        if self.deadline is not None:
            self.deadline.cancel()
        for caller in self.waiters:
            if not caller.done():
                caller.set_result(record)

    def stay(self) -> None:
        """It is not closed because nobody waits."""
        if self.leaving is not None:
            self.leaving.cancel()
            self.leaving = None

    def fail(self, error: Exception) -> None:
        """Tell those who wait now; who comes later waits anew."""
        for caller in self.waiters:
            if not caller.done():
                caller.set_exception(error)


class Holding:
    """For one event loop. ``expire`` is called when the time of a question is over (``timeout``), or when nobody has
    waited for its answer for ``grace`` seconds (``cancelled``).
    """

    def __init__(self, expire: Callable[[Key, TimeUp], None], *, grace: float) -> None:
        self._expire = expire
        self._grace = grace
        self._held: dict[Key, Held] = {}
        self._asked: dict[Key, int] = {}
        """The sizes of those that are being written down."""
        self._number: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()

    def get(self, scope: str, id: str) -> Held | None:
        """A question that waits."""
        return self._held.get((scope, id))

    def records(self, scope: str | None) -> list[Inquiry]:
        """What waits, the oldest first; of all scopes with None."""
        return [held.record for (whose, _), held in self._held.items() if scope is None or whose == scope]

    @contextmanager
    def room_for(self, question: Question) -> Iterator[None]:
        """Counts a question while it is being asked. Raises InvalidQuestionError where too much waits already."""
        key = question.key
        if key in self._held:
            self._held[key].is_back = True
        if key in self._held or key in self._asked:  # it counts already
            yield
            return
        size = size_of(question)
        self._check(question.scope, size)
        self._asked[key] = size
        self._count(question.scope, 1, size)
        try:
            yield
        finally:
            self._asked_no_more(key)

    def hold(self, record: Inquiry, left: float) -> None:
        """It waits for so many seconds."""
        question = record.question
        self._asked_no_more(question.key)
        held = self._held[question.key] = Held(record, size_of(question))
        self._count(question.scope, 1, held.size)
        self.expire_in(held, left)
        self._begin_grace(held)

    def expire_in(self, held: Held, seconds: float) -> None:
        """Its time is over then."""
        loop = asyncio.get_running_loop()
        held.deadline = loop.call_later(seconds, self._expire, held.record.question.key, "timeout")

    def let_go(self, record: Inquiry) -> bool:
        """It has ended, and everybody who waits is told; False when it did not wait."""
        held = self._held.pop(record.question.key, None)
        if held is None:
            return False
        self._count(record.question.scope, -1, -held.size)
        held.end(record)
        return True

    def join(self, held: Held, caller: "asyncio.Future[Inquiry]") -> None:
        """A caller waits for the answer."""
        held.waiters.add(caller)
        held.stay()

    def leave(self, held: Held, caller: "asyncio.Future[Inquiry]") -> None:
        """A caller waits no more. With the last one begins the time after which the question is closed."""
        held.waiters.discard(caller)
        self._begin_grace(held)

    def not_closed(self, held: Held) -> None:
        """It stays open, as long as somebody waits for it or comes in time."""
        self._begin_grace(held)

    def _begin_grace(self, held: Held) -> None:
        held.stay()
        held.is_back = False
        question = held.record.question
        if not (held.waiters or question.fetched or held.is_over):
            loop = asyncio.get_running_loop()
            held.leaving = loop.call_later(self._grace, self._expire, question.key, "cancelled")

    def _asked_no_more(self, key: Key) -> None:
        size = self._asked.pop(key, None)
        if size is not None:
            self._count(key[0], -1, -size)

    def _count(self, scope: str, number: int, size: int) -> None:
        self._number[scope] += number
        self._bytes[scope] += size
        if not self._number[scope]:
            del self._number[scope], self._bytes[scope]

    def _check(self, scope: str, size: int) -> None:
        if self._number[scope] >= _MOST_WAITING:
            raise InvalidQuestionError(
                f"{_MOST_WAITING} questions are already waiting for an answer.",
                hint="Wait for answers, or withdraw some.",
            )
        if self._bytes[scope] + size > _MOST_BYTES:
            raise InvalidQuestionError(
                f"The questions waiting for an answer already have about {_MOST_BYTES} bytes.",
                hint="Wait for answers, withdraw some, or ask in fewer words.",
            )


def seconds_left(record: Inquiry, overdue: float) -> float:
    """How long a question waits that waited when the last process ended: for ``overdue`` seconds at least.

    Whatever was done to the clock since it was asked, it waits no longer than it may, and as long where the machine
    was not started anew.
    """
    timeout, passed = float(record.question.timeout), record.asked_at.until(moment())
    if passed is None:
        passed = time.time() - record.asked_ts
    return min(max(timeout - passed, overdue), timeout)
