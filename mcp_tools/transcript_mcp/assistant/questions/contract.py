"""The contract of a store of questions."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol, TypeAlias

from nanobot_transcript.sql.group_commit import Then
from transcript_mcp.assistant.questions.values import Ending, HistoryPage, HistoryQuery, Inquiry, Question

__all__ = ["LARGEST_PAGE", "End", "Ended", "QuestionStore"]

LARGEST_PAGE: Final = 8 * 1024 * 1024
"""Bytes of a page of the history, roughly; a single record may be larger."""

Ended: TypeAlias = tuple[Inquiry, bool] | None
"""The inquiry now, and whether this call ended it; None for an unknown id."""


class End(NamedTuple):
    """How the question ``id`` of a scope ends. ``known``: the inquiry if it is open here, which saves reading it.
    ``origin``: the connection that need not be told. ``unless``: called in a thread right before the end; with True the
    question stays open.
    """

    scope: str
    id: str
    ending: Ending
    known: Inquiry | None = None
    origin: str = ""
    unless: Callable[[], bool] | None = None

    @property
    def stays_open(self) -> bool:
        """Whether the question stays open."""
        return self.unless is not None and self.unless()


class QuestionStore(Protocol):
    """What a method has returned is durable. Calls may be concurrent, from several processes.

    Every method raises StoreError. Ids belong to their scope: an id of another scope is unknown.
    """

    async def put(self, question: Question, state: str, then: Then | None = None) -> tuple[Inquiry, bool]:
        """Store a question in its first ``state`` (``waiting`` or ``notified``); True when it is new.

        For a known id, returns the stored inquiry, with its answer if there is one. ``then`` is called with the return
        value as the only outcome.
        """
        ...

    async def get(self, scope: str, id: str) -> Inquiry | None:
        """The stored inquiry."""
        ...

    async def end_all(self, ends: Sequence[End], then: Then | None = None) -> Sequence[Ended | Exception]:
        """End open questions; True for the call that did, so the first ending stays. None for an unknown id.

        The outcome of one that fails is its exception.
        """
        ...

    async def shown(self, scope: str, id: str, clients: int) -> None:
        """Count ``clients`` more that were sent the question."""
        ...

    async def waiting(self, scope: str | None = None) -> Sequence[Inquiry]:
        """Open questions and reports, the oldest first; of all scopes with None."""
        ...

    async def ended(self, since: float, limit: int = 10_000) -> Sequence[tuple[str, str]]:
        """Scope and id of questions in chats that have ended since then (seconds since 1970), the newest first."""
        ...

    async def write(self, message: Question, ending: Ending) -> tuple[Inquiry, bool]:
        """Store a person's message to an agent, with ``by``, ``where`` and ``contents`` of the ending; True when it is
        new.
        """
        ...

    async def lend(self, taker: Question) -> Sequence[Inquiry]:
        """Lend the messages that wait for this question's agent to its id, the oldest first.

        They stay waiting, but nobody else gets them until ``settle``, which must follow. The same id gets the same
        messages again, even those that it has picked up.
        """
        ...

    async def settle(self, taker: Question, *, got: bool) -> Sequence[Inquiry]:
        """Mark what was lent to this id as picked up (``got``), or free it for others. Returns those messages."""
        ...

    async def free(self) -> None:
        """Free all lent messages: processes that have ended will not settle them."""
        ...

    async def history(self, scopes: tuple[str, ...], query: HistoryQuery) -> HistoryPage:
        """Inquiries of these scopes, the newest first: as many as fit into ``LARGEST_PAGE``, but at least one."""
        ...

    def close(self) -> None:
        """Release what is open."""
        ...
