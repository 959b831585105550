"""The open questions, in memory: the callers that wait for each, the timers, and the limits per scope."""

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

__all__ = ["Key", "OpenQuestion", "OpenQuestions", "TimeUp", "seconds_left"]

_MOST_WAITING: Final = 1000
_MOST_BYTES: Final = 32 * 1024 * 1024
"""Bytes of the open questions of a scope: every client that logs in there is sent all of them."""

Key: TypeAlias = tuple[str, str]
"""Scope and id."""

TimeUp: TypeAlias = Literal["timeout", "cancelled"]


@dataclass(eq=False, slots=True)
class OpenQuestion:
    """One open question. ``size``: its bytes, roughly. ``is_back``: it was asked again after its last waiter left, and
    the caller is about to wait.
    """

    record: Inquiry
    size: int
    deadline: asyncio.TimerHandle | None = None
    leaving: asyncio.TimerHandle | None = None
    waiters: "set[asyncio.Future[Inquiry]]" = field(default_factory=set)
    is_over: bool = False
    is_back: bool = False

    def is_wanted(self) -> bool:
        """Whether a caller waits for it, or is about to."""
        return bool(self.waiters) or self.is_back

    def end(self, record: Inquiry) -> None:
        """Give the answer to all waiting callers."""
        self.is_over = True
        self.stay()
        if self.deadline is not None:
            self.deadline.cancel()
        for caller in self.waiters:
            if not caller.done():
                caller.set_result(record)

    def stay(self) -> None:
        """Stop the timer that would close it because nobody waits."""
        if self.leaving is not None:
            self.leaving.cancel()
            self.leaving = None

    def fail(self, error: Exception) -> None:
        """Raise the error in all waiting callers; later ones can wait again."""
        for caller in self.waiters:
            if not caller.done():
                caller.set_exception(error)


class OpenQuestions:
    """All open questions. For one event loop.

    ``expire`` is called when a question's time is over (``timeout``), and when nobody has waited for its answer for
    ``grace`` seconds (``cancelled``).
    """

    def __init__(self, expire: Callable[[Key, TimeUp], None], *, grace: float) -> None:
        self._expire = expire
        self._grace = grace
        self._held: dict[Key, OpenQuestion] = {}
        self._asked: dict[Key, int] = {}
        """Sizes of the questions that are being written to the store."""
        self._number: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()

    def get(self, scope: str, id: str) -> OpenQuestion | None:
        """The open question with this id."""
        return self._held.get((scope, id))

    def records(self, scope: str | None) -> list[Inquiry]:
        """Open questions, the oldest first; of all scopes with None."""
        return [held.record for (whose, _), held in self._held.items() if scope is None or whose == scope]

    @contextmanager
    def room_for(self, question: Question) -> Iterator[None]:
        """Count a question while it is being stored. Raises InvalidQuestionError when too many are open already."""
        key = question.key
        if key in self._held:
            self._held[key].is_back = True
        if key in self._held or key in self._asked:  # asked again; it is counted already
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

    def add(self, record: Inquiry, left: float) -> None:
        """Add a question that stays open for ``left`` seconds."""
        question = record.question
        self._asked_no_more(question.key)
        held = self._held[question.key] = OpenQuestion(record, size_of(question))
        self._count(question.scope, 1, held.size)
        self.expire_in(held, left)
        self._begin_grace(held)

    def expire_in(self, held: OpenQuestion, seconds: float) -> None:
        """Set when the question's time is over."""
        loop = asyncio.get_running_loop()
        held.deadline = loop.call_later(seconds, self._expire, held.record.question.key, "timeout")

    def close(self, record: Inquiry) -> bool:
        """Remove a question that has ended, and answer all who wait; False when it was not open."""
        held = self._held.pop(record.question.key, None)
        if held is None:
            return False
        self._count(record.question.scope, -1, -held.size)
        held.end(record)
        return True

    def join(self, held: OpenQuestion, caller: "asyncio.Future[Inquiry]") -> None:
        """Let a caller wait for the answer."""
        held.waiters.add(caller)
        held.stay()

    def leave(self, held: OpenQuestion, caller: "asyncio.Future[Inquiry]") -> None:
        """A caller stops waiting. After the last one, the question is closed in ``grace`` seconds."""
        held.waiters.discard(caller)
        self._begin_grace(held)

    def keep_open(self, held: OpenQuestion) -> None:
        """Keep a question open that was about to be closed, if somebody waits for it within ``grace`` seconds."""
        self._begin_grace(held)

    def _begin_grace(self, held: OpenQuestion) -> None:
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
    """How long a question from a previous process stays open: at least ``overdue`` seconds.

    Measured by the uptime, so that a changed clock matters only after a reboot; never longer than its timeout.
    """
    timeout, passed = float(record.question.timeout), record.asked_at.until(moment())
    if passed is None:
        passed = time.time() - record.asked_ts
    return min(max(timeout - passed, overdue), timeout)
