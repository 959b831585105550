"""Where questions are kept: the contract that every backend fulfils."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol, TypeAlias

from nanobot_transcript.sql.group_commit import Then
from transcript_mcp.assistant.questions.values import Ending, HistoryPage, HistoryQuery, Inquiry, Question

__all__ = ["LARGEST_PAGE", "End", "Ended", "QuestionStore"]

LARGEST_PAGE: Final = 8 * 1024 * 1024
"""About how many bytes of a page of the history; one record may be larger."""

Ended: TypeAlias = tuple[Inquiry, bool] | None
"""The record as it stands, and whether this was what ended it; None for an unknown id."""


class End(NamedTuple):
    """How the question ``id`` of a scope ends. ``known`` is its record while it waits, which need not be read again.
    ``origin`` is the connection that needs not be told. ``unless`` is asked in a thread right before it ends: with True
    it waits on.
    """

    scope: str
    id: str
    ending: Ending
    known: Inquiry | None = None
    origin: str = ""
    unless: Callable[[], bool] | None = None

    @property
    def is_held(self) -> bool:
        """Whether it waits on."""
        return self.unless is not None and self.unless()


class QuestionStore(Protocol):
    """What has returned survives a kill. Calls may come at the same time and from several processes.

    Every method raises StoreError kinds. An id belongs to its scope: another scope's is as good as unknown.
    """

    async def put(self, question: Question, state: str, then: Then | None = None) -> tuple[Inquiry, bool]:
        """Keep a question in its first ``state`` (``waiting`` or ``notified``); True when it is new.

        An id that is there already gives the record as it stands, with an answer that came meanwhile. ``then`` is
        called with what this returns as the only outcome.
        """
        ...

    async def get(self, scope: str, id: str) -> Inquiry | None:
        """The record as it stands."""
        ...

    async def end_all(self, ends: Sequence[End], then: Then | None = None) -> Sequence[Ended | Exception]:
        """End what is waiting; True for the one call that did. None for an unknown id. The first ending stays.

        What one of them raises stands for its outcome.
        """
        ...

    async def shown(self, scope: str, id: str, clients: int) -> None:
        """So many more clients were sent it."""
        ...

    async def waiting(self, scope: str | None = None) -> Sequence[Inquiry]:
        """Questions and reports that wait for an answer, the oldest first; of all scopes with None."""
        ...

    async def ended(self, since: float, limit: int = 10_000) -> Sequence[tuple[str, str]]:
        """Scope and id of what was asked in a chat and has ended since then (seconds since 1970), the newest first."""
        ...

    async def write(self, message: Question, ending: Ending) -> tuple[Inquiry, bool]:
        """Keep a person's message to an agent (``by``, ``where`` and ``contents`` of the ending are those of the
        message); True when it is new."""
        ...

    async def lend(self, taker: Question) -> Sequence[Inquiry]:
        """Lend the messages that wait for this question's agent to its id, the oldest first.

        They wait on, but nobody else gets them before ``settle``, which has to follow. The same id gets the same
        messages again, also those that it has picked up.
        """
        ...

    async def settle(self, taker: Question, *, got: bool) -> Sequence[Inquiry]:
        """What was lent to this id was got, and is picked up; or it was not, and anybody may have it. What that was."""
        ...

    async def free(self) -> None:
        """Nothing is lent any more: processes that have ended will not settle it."""
        ...

    async def history(self, scopes: tuple[str, ...], query: HistoryQuery) -> HistoryPage:
        """Records of these scopes, the newest first: so many as fit into ``LARGEST_PAGE``, and one at least."""
        ...

    def close(self) -> None:
        """Release what is open."""
        ...
