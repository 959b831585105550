"""What goes into the outbox, what comes out of it, and what comes back."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from nanobot_transcript.errors import InvalidPostError

__all__ = ["Action", "Answer", "Job", "OutboxLimits", "PostState", "PostStatus", "Receipt", "Revision", "post_id_for"]

PostState = Literal["queued", "sent", "failed", "expired"]


@dataclass(frozen=True, slots=True)
class OutboxLimits:
    """``max_attempts`` to send a post; ``expires_in`` seconds until a post that nobody sent is dropped.

    ``lease`` seconds a job belongs to the process that took it, so a send may take that long. ``keep`` seconds after
    its end a post and its answers are removed; a sent post that wants answers stays at least until it would have
    expired.
    """

    max_attempts: int = 8
    expires_in: float = 86_400.0
    lease: float = 60.0
    keep: float = 7 * 86_400.0


@dataclass(frozen=True, slots=True)
class Job:
    """A post to be sent now by the process that took it.

    ``uuid`` (32 characters) is the same at every attempt; the platform delivers at most one message an hour under it.
    ``content`` is the text, ``card`` a card of the platform that replaces it; one of them may be missing. ``in_doubt``:
    an earlier attempt may have arrived.
    """

    id: str
    session_key: str
    content: str | None
    card: dict[str, Any] | None
    agent: str | None
    reply_to: str | None
    uuid: str
    attempt: int
    holder: str
    in_doubt: bool = False


@dataclass(frozen=True, slots=True)
class Receipt:
    """The platform's answer to a send: the message's id, those of all its parts, and the thread it started."""

    message_id: str
    thread_id: str | None = None
    message_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Revision:
    """A new card for a post that is in its chat as ``message_id``; ``number`` grows from card to card."""

    post_id: str
    session_key: str
    message_id: str
    card: dict[str, Any]
    number: int
    attempt: int
    holder: str


@dataclass(frozen=True, slots=True)
class PostStatus:
    """How a post is doing. ``error`` is the last failure; times are in milliseconds since 1970."""

    id: str
    session_key: str
    state: PostState
    message_id: str | None
    error: str | None
    attempts: int
    created_ms: int
    expires_ms: int


@dataclass(frozen=True, slots=True)
class Action:
    """Somebody used a button of a card: ``message_id`` is the card's, ``value`` what the button carries.

    ``action_id`` is the platform's id of the event. Without one, the same value from the same person counts once.
    ``session_key`` is the chat; it may be missing.
    """

    message_id: str
    value: Mapping[str, Any]
    operator: str = ""
    operator_name: str = ""
    form: Mapping[str, Any] = field(default_factory=dict)
    action_id: str = ""
    session_key: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to a post: a ``reply`` in its thread with a ``text``, or an ``action`` with the ``value`` of a button.

    ``seq`` grows from answer to answer; ``message_id`` is the reply's, or the card's.
    """

    seq: int
    kind: Literal["reply", "action"]
    message_id: str
    sender: str
    sender_name: str
    ts: int
    text: str = ""
    value: dict[str, Any] = field(default_factory=dict)
    form: dict[str, Any] = field(default_factory=dict)


def post_id_for(idempotency_key: str) -> str:
    """The id of the post with this key in any outbox, whether it exists or not. Raises InvalidPostError."""
    if not isinstance(idempotency_key, str) or not idempotency_key:
        raise InvalidPostError("An idempotency key is a text of at least one character.", hint="Leave it out.")
    return hashlib.sha256(idempotency_key.encode("utf-8", "surrogatepass")).hexdigest()[:32]
