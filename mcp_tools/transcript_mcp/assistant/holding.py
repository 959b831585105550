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

from nanobot_transcript.errors import InvalidQuestionError
from transcript_mcp.assistant.checking import size_of
from transcript_mcp.assistant.values import Question, Record

__all__ = ["Held", "Holding", "Key", "TimeUp", "seconds_left"]

_MOST_WAITING: Final = 1000
_MOST_BYTES: Final = 32 * 1024 * 1024
"""Of all that waits in a scope: everybody who looks there is sent it."""

Key: TypeAlias = tuple[str, str]
"""Scope and id."""

TimeUp: TypeAlias = Literal["timeout", "cancelled"]


@dataclass(eq=False, slots=True)
class Held:
    """A question that waits. ``size`` is about how many bytes it has."""

    record: Record
    size: int
    deadline: asyncio.TimerHandle | None = None
    leaving: asyncio.TimerHandle | None = None
    waiters: "set[asyncio.Future[Record]]" = field(default_factory=set)
    is_over: bool = False

    def end(self, record: Record) -> None:
        """Tell those who wait."""
        self.is_over = True
        for timer in (self.deadline, self.leaving):
            if timer is not None:
                timer.cancel()
        for caller in self.waiters:
            if not caller.done():
                caller.set_result(record)

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
        self._number: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()

    def get(self, scope: str, id: str) -> Held | None:
        """A question that waits."""
        return self._held.get((scope, id))

    def records(self, scope: str | None) -> list[Record]:
        """What waits, the oldest first; of all scopes with None."""
        return [held.record for (whose, _), held in self._held.items() if scope is None or whose == scope]

    @contextmanager
    def room_for(self, question: Question) -> Iterator[None]:
        """Counts a question while it is being asked. Raises InvalidQuestionError where too much waits already."""
        scope, size = question.scope, size_of(question)
        if (scope, question.id) not in self._held:
            self._check(scope, size)
        self._number[scope] += 1
        self._bytes[scope] += size
        try:
            yield
        finally:
            self._number[scope] -= 1
            self._bytes[scope] -= size

    def hold(self, record: Record, left: float) -> None:
        """It waits for so many seconds."""
        question = record.question
        key = question.scope, question.id
        held = self._held[key] = Held(record, size_of(question))
        self._number[question.scope] += 1
        self._bytes[question.scope] += held.size
        self.again(held, left)
        self.leave(held)

    def again(self, held: Held, left: float) -> None:
        """Its time is over in so many seconds."""
        question = held.record.question
        key = question.scope, question.id
        held.deadline = asyncio.get_running_loop().call_later(left, self._expire, key, "timeout")

    def let_go(self, record: Record) -> bool:
        """It has ended, and everybody who waits is told; False when it did not wait."""
        held = self._held.pop((record.question.scope, record.question.id), None)
        if held is None:
            return False
        self._number[record.question.scope] -= 1
        self._bytes[record.question.scope] -= held.size
        held.end(record)
        return True

    def join(self, held: Held, caller: "asyncio.Future[Record]") -> None:
        """A caller waits for the answer."""
        held.waiters.add(caller)
        if held.leaving is not None:
            held.leaving.cancel()
            held.leaving = None

    def leave(self, held: Held, caller: "asyncio.Future[Record] | None" = None) -> None:
        """A caller waits no more. With the last one begins the time after which the question is closed."""
        held.waiters.discard(caller)
        question = held.record.question
        if not (held.waiters or question.fetched or held.is_over):
            key = question.scope, question.id
            held.leaving = asyncio.get_running_loop().call_later(self._grace, self._expire, key, "cancelled")

    def _check(self, scope: str, size: int) -> None:
        if self._number[scope] >= _MOST_WAITING:
            raise InvalidQuestionError(
                f"{_MOST_WAITING} questions wait for an answer already.", hint="Wait for answers, or withdraw some."
            )
        if self._bytes[scope] + size > _MOST_BYTES:
            raise InvalidQuestionError(
                f"What waits for an answer already has about {_MOST_BYTES} bytes.",
                hint="Wait for answers, withdraw some, or ask in fewer words.",
            )


def seconds_left(record: Record, overdue: float) -> float:
    """How long a question waits that waited when the last process ended: for ``overdue`` seconds at least.

    Whatever the clock did since it was asked, it waits no longer than it may.
    """
    timeout = float(record.question.timeout)
    return min(max(record.asked_ts + timeout - time.time(), overdue), timeout)
