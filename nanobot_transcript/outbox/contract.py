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
    """Posts on their way into groups, and what comes back. For any process and any thread; plain calls may wait.

    A post is queued until a runner or a plugin that sits in its chat has taken and sent it. The posts of a chat go out
    in the order in which they came in, those for one agent apart from the others; none is given out before those ahead
    of it have ended, also while one of them has to wait for its next attempt.
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
        """Queue a text or a card for a chat and return the post's id; it is kept when this returns.

        The same ``idempotency_key`` gives the same id (``post_id_for``) and nothing is posted twice. ``agent`` names
        the only bot that may send it. ``reply_to`` is the message it answers. With ``wants_answers`` what people reply
        in its thread and press on its card comes back as ``answers`` and starts no turn of an agent. After
        ``expires_in`` seconds, by default those of ``limits``, it is given up if nobody has sent it.

        Raises InvalidPostError, PostConflictError (the key belongs to another post) and StoreError kinds.
        """
        ...

    def status(self, post_id: str) -> PostStatus:
        """How a post is doing. Raises UnknownPostError."""
        ...

    def answers(self, post_id: str, after: int = 0) -> list[Answer]:
        """What came back since the answer with the number ``after``, oldest first."""
        ...

    def news(self, after: int = 0, limit: int = 500) -> list[tuple[str, Answer]]:
        """Answers to all posts behind the number ``after``, each with its post's id, oldest first."""
        ...

    def open_posts(self) -> list[PostStatus]:
        """The posts that want answers, the oldest first."""
        ...

    def close_answers(self, post_id: str) -> None:
        """Enough answers: what is replied from now on is for the agents again."""
        ...

    def revise(self, post_id: str, card: dict[str, Any]) -> None:
        """Show another card in the place of a post's, as soon as that stands in the chat; of several the newest.

        The bot that sent the post does it. Raises UnknownPostError, InvalidPostError and StoreError kinds.
        """
        ...

    async def wait_sent(self, post_id: str, timeout: float) -> PostStatus:  # noqa: ASYNC109 - no error
        """The status as soon as the post is not queued any more, at the latest after ``timeout`` seconds."""
        ...

    async def wait_answer(self, post_id: str, timeout: float, after: int = 0) -> Answer | None:  # noqa: ASYNC109 - no error
        """The next answer, None when there is none within ``timeout`` seconds."""
        ...

    def listen(self) -> AbstractContextManager[Ear]:
        """Hear of each change by any process for as long as the ``with`` lasts. For event loops."""
        ...

    # -- whoever sits in the chat

    def waiting(self, agent: str | None = None) -> list[str]:
        """The chats for which this agent could take a post now."""
        ...

    def take(self, holder: str, session_keys: Collection[str], agent: str | None = None) -> Job | None:
        """The next post for one of these chats, for ``lease`` seconds; None when there is none.

        Whoever takes it ends with ``sent`` or ``failed``; else it is given to the next one when the lease runs out.
        """
        ...

    def sent(self, job: Job, receipt: Receipt | str, agent: str | None = None) -> None:
        """The platform confirmed it to ``agent``. That is a fact, also when the lease has run out meanwhile."""
        ...

    def failed(self, job: Job, error: str, retry_after: float | None = None, *, doubtful: bool = False) -> None:
        """It was not sent. It is tried again after ``retry_after`` seconds, and never again when that is None.

        ``doubtful``: it may have arrived. Ignored when another process holds the job by now.
        """
        ...

    def take_revision(self, holder: str, agent: str) -> Revision | None:
        """The next card that this agent has to show in place of one that it sent, for ``lease`` seconds.

        Whoever takes it ends with ``revised`` or ``revision_failed``; else it is given again when the lease runs out.
        """
        ...

    def revised(self, revision: Revision) -> None:
        """The platform shows it."""
        ...

    def revision_failed(self, revision: Revision, retry_after: float | None = None) -> None:
        """It is not shown. Tried again after ``retry_after`` seconds, and never again when that is None."""
        ...

    def offer_reply(self, entry: Entry, session_key: str | None = None, *, max_wait: float | None = None) -> bool:
        """True when a person's message answers a post that wants answers: it is kept, and no agent need be asked.

        It does when it replies to the post or stands in its thread. All bots of a chat may offer it; it counts once.
        While a post is being sent, nobody knows yet where it stands: what may answer it is kept, too, but False, so
        that the agents have it in any case. ``session_key`` is the chat; without it, a post of any chat may be meant.
        ``max_wait`` bounds (seconds) the wait for another transaction; give one and the same.
        """
        ...

    def offer_action(self, action: Action, *, max_wait: float | None = None) -> bool:
        """True when a button of a post that wants answers was pressed: it is kept, once. Early ones as in
        ``offer_reply``.
        """
        ...

    def clean(self) -> int:
        """Give up what is overdue and remove what ended long ago; returns how many posts were removed."""
        ...

    def forget(self, *, session_key: str | None = None, sender: str | None = None) -> int:
        """Erase the posts of a chat, or a person's answers; together, this person's answers there.

        Returns how many were erased. Raises InvalidPostError when neither is given.
        """
        ...

    def edition(self) -> object:
        """Tells this outbox from one that was begun anew in its place, which knows no post and numbers answers from 1;
        None while there is none.
        """
        ...

    def close(self) -> None:
        """Release what is open; it is opened again when it is needed."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None: ...
