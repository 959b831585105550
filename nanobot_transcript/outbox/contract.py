"""What an outbox does, wherever its posts lie."""

from collections.abc import Collection
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Protocol, Self

from nanobot_transcript.coordination.contract import Ear
from nanobot_transcript.entry import Entry
from nanobot_transcript.outbox.values import Action, Answer, Job, OutboxLimits, PostStatus, Receipt, Revision

__all__ = ["Postbox"]


class Postbox(Protocol):
    """Posts on their way into groups, and the answers. For any process and any thread; plain calls may wait.

    A post is queued until a runner or a plugin whose bot is in the chat has taken and sent it. The posts of a chat are
    sent in order, those for one agent separately from the others; none is handed out before those ahead of it have
    ended, even while one of them waits for its next attempt.
    """

    limits: OutboxLimits

    # -- whoever wants to say something

    def post(
        self,
        session_key: str,
        content: str | None = None,
        *,
        card: dict[str, Any] | None = None,
        idempotency_key: str | None = None,
        agent: str | None = None,
        reply_to: str | None = None,
        wants_answers: bool = True,
        expires_in: float | None = None,
    ) -> str:
        """Queue a text or a card for a chat and return the post's id; when this returns, it is saved.

        The same ``idempotency_key`` gives the same id (``post_id_for``) and nothing is posted twice. ``agent`` names
        the only bot that may send it. ``reply_to`` is the message it answers. With ``wants_answers``, replies in its
        thread and buttons pressed on its card come back as ``answers`` and start no turn of an agent. After
        ``expires_in`` seconds, by default those of ``limits``, it is dropped if nobody has sent it.

        Raises InvalidPostError, PostConflictError (the key belongs to another post) and StoreError kinds.
        """
        ...

    def status(self, post_id: str) -> PostStatus:
        """How a post is doing. Raises UnknownPostError."""
        ...

    def answers(self, post_id: str, after: int = 0) -> list[Answer]:
        """The answers behind the number ``after``, oldest first."""
        ...

    def news(self, after: int = 0, limit: int = 500) -> list[tuple[str, Answer]]:
        """Answers to all posts behind the number ``after``, each with its post's id, oldest first."""
        ...

    def open_posts(self) -> list[PostStatus]:
        """The posts that want answers, oldest first."""
        ...

    def close_answers(self, post_id: str) -> None:
        """Want no more answers: further replies are for the agents again."""
        ...

    def revise(self, post_id: str, card: dict[str, Any]) -> None:
        """Replace the card of a post as soon as it is in the chat; of several cards the newest counts.

        The bot that sent the post does it. Raises UnknownPostError, InvalidPostError and StoreError kinds.
        """
        ...

    async def wait_sent(self, post_id: str, timeout: float) -> PostStatus:  # noqa: ASYNC109 - no error
        """The status as soon as the post is no longer queued, after at most ``timeout`` seconds."""
        ...

    async def wait_answer(self, post_id: str, timeout: float, after: int = 0) -> Answer | None:  # noqa: ASYNC109 - no error
        """The next answer, None when there is none within ``timeout`` seconds."""
        ...

    def listen(self) -> AbstractContextManager[Ear]:
        """Be notified of each change by any process for as long as the ``with`` lasts. For event loops."""
        ...

    # -- whoever sits in the chat

    def waiting(self, agent: str | None = None) -> list[str]:
        """The chats for which this agent could take a post now."""
        ...

    def take(self, holder: str, session_keys: Collection[str], agent: str | None = None) -> Job | None:
        """The next post for one of these chats, for ``lease`` seconds; None when there is none.

        The taker ends with ``sent`` or ``failed``; otherwise the post is handed out again when the lease runs out.
        """
        ...

    def sent(self, job: Job, receipt: Receipt | str, agent: str | None = None) -> None:
        """The platform confirmed it to ``agent``. Counts even when the lease has run out meanwhile."""
        ...

    def failed(self, job: Job, error: str, retry_after: float | None = None, *, doubtful: bool = False) -> None:
        """It was not sent. It is tried again after ``retry_after`` seconds, or never when that is None.

        ``doubtful``: it may have arrived. Ignored when another process holds the job by now.
        """
        ...

    def take_revision(self, holder: str, agent: str) -> Revision | None:
        """The next card with which this agent has to replace one it sent, for ``lease`` seconds.

        The taker ends with ``revised`` or ``revision_failed``; otherwise it is handed out again when the lease runs
        out.
        """
        ...

    def revised(self, revision: Revision) -> None:
        """The platform shows it."""
        ...

    def revision_failed(self, revision: Revision, retry_after: float | None = None) -> None:
        """It is not shown. Tried again after ``retry_after`` seconds, or never when that is None."""
        ...

    def offer_reply(self, entry: Entry, session_key: str | None = None, *, max_wait: float | None = None) -> bool:
        """True when a person's message answers a post that wants answers: then it is kept, and no agent needs to be
        asked.

        It does when it replies to the post or is in its thread. All bots of a chat may offer it; it counts once. While
        a post is being sent, nobody knows yet its place in the chat: a possible answer is kept, too, but the result is
        False, so that the agents get it in any case. ``session_key`` is the chat; without it a post of any chat may be
        meant. ``max_wait`` (seconds) bounds the wait for another transaction; always give the same value.
        """
        ...

    def offer_action(self, action: Action, *, max_wait: float | None = None) -> bool:
        """True when a button of a post that wants answers was pressed: it is kept, once. Early ones as in
        ``offer_reply``.
        """
        ...

    def clean(self) -> int:
        """Drop what is overdue and remove what ended long ago; returns how many posts were removed."""
        ...

    def forget(self, *, session_key: str | None = None, sender: str | None = None) -> int:
        """Erase the posts of a chat, or a person's answers; together, this person's answers there.

        Returns how many were erased. Raises InvalidPostError when neither is given.
        """
        ...

    def edition(self) -> object:
        """Changes when this outbox is replaced by a new one, which knows no post and numbers answers from 1; None while
        there is none.
        """
        ...

    def close(self) -> None:
        """Release what is open; it opens again when needed."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None: ...
