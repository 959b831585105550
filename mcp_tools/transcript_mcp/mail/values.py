"""Values of Agent Mail: options, agents, messages, receipts. Times are seconds since 1970, to the millisecond."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeAlias, TypeVar

from transcript_mcp.mail.store import Shard

__all__ = [
    "END_OF_TIME",
    "IMPORTANCES",
    "Agent",
    "Delivery",
    "Draft",
    "ImagePolicy",
    "Importance",
    "InboxQuery",
    "Kind",
    "Letter",
    "LetterPage",
    "LetterThread",
    "MailOptions",
    "Project",
    "ReadReceipt",
    "Registration",
    "Sent",
    "iso",
    "to_the_millisecond",
]

Importance: TypeAlias = Literal["low", "normal", "high", "urgent"]
IMPORTANCES: Final[tuple[Importance, ...]] = ("low", "normal", "high", "urgent")
Kind: TypeAlias = Literal["to", "cc", "bcc"]
ImagePolicy: TypeAlias = Literal["auto", "file", "inline"]
END_OF_TIME: Final = 2.0**53
"""Seconds since 1970, later than any time that is ever stored."""

_T = TypeVar("_T")


class LetterPage(list[_T]):
    """One page of a long list, from its beginning or from where an earlier page ended.
    ``more`` is how many come after it; pass ``before`` to continue with them (None when there are none).
    """

    __slots__ = ("before", "more")

    def __init__(self, items: Iterable[_T] = (), more: int = 0, before: str | None = None) -> None:
        super().__init__(items)
        self.more: int = more
        self.before: str | None = before if more else None


@dataclass(frozen=True, slots=True)
class MailOptions:
    """Options of the mail.
    With ``require_agent_token`` nobody sends, reads or releases as an agent without the token that was given at its
    registration. ``shard``: one folder per day or per month in the archive. ``max_body`` is in bytes of UTF-8;
    ``active_within`` (seconds) is how long after its last action an agent counts as active; ``busy`` limits (seconds)
    the wait for another process's transaction.
    """

    require_agent_token: bool = False
    shard: Shard = "day"
    max_body: int = 1024 * 1024
    max_recipients: int = 100
    active_within: float = 7 * 86_400.0
    busy: float = 30.0


@dataclass(frozen=True, slots=True)
class Project:
    """What agents work on together: usually a code base, with its absolute path as ``key``. ``slug`` is its folder."""

    id: int
    key: str
    slug: str
    created_ts: float


@dataclass(frozen=True, slots=True)
class Agent:
    """A sender and recipient of mail. ``project`` is its home project's key, ``project_id`` and ``id`` are rows."""

    id: int
    project_id: int
    project: str
    name: str
    program: str
    model: str
    task: str
    inception_ts: float
    last_active_ts: float


@dataclass(frozen=True, slots=True)
class Registration:
    """The result of a registration. ``token`` is given only once, for a new agent; None for a known one.
    ``job`` is the number of the archive job, None when nothing had to be archived.
    """

    agent: Agent
    token: str | None
    job: int | None


@dataclass(frozen=True, slots=True)
class Draft:
    """A message to be sent.

    A reply may omit ``to`` (default: the original's author), ``subject`` (``Re:`` and the original's) and
    ``thread_id``. With ``reply_all`` it also goes to everyone named in the original except the sender.
    ``original_body`` is what the sender wrote, if ``body`` was changed since (images, quotes): an ``idempotency_key``
    compares it. ``attachments`` are JSON objects as in the archive; ``present`` are files already in the repository
    that belong to the message.
    """

    subject: str = ""
    body: str = ""
    to: Sequence[str] | None = None
    cc: Sequence[str] | None = None
    bcc: Sequence[str] | None = None
    importance: str = "normal"
    ack_required: bool = False
    thread_id: str | None = None
    idempotency_key: str | None = None
    original_body: str | None = None
    attachments: Sequence[Mapping[str, Any]] = ()
    present: Sequence[str] = ()
    reply_all: bool = False


@dataclass(frozen=True, slots=True)
class Sent:
    """A message that was accepted and is in the recipients' inboxes.
    ``recipients`` are the names by kind. ``repeated``: it had been accepted before, under the same idempotency key.
    ``job`` is the number of the archive job: when that is done, the message is in git.
    """

    id: str
    project: str
    thread_id: str | None
    subject: str
    created_ts: float
    recipients: Mapping[Kind, Sequence[str]]
    attachments: Sequence[Mapping[str, Any]]
    job: int
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Letter:
    """A message as everyone may see it. ``body`` is None where it was not asked for, or ``left_out`` for its size."""

    id: str
    project: str
    thread_id: str | None
    subject: str
    body: str | None
    sender: str
    to: tuple[str, ...]
    cc: tuple[str, ...]
    created_ts: float
    importance: Importance
    ack_required: bool
    attachments: tuple[Mapping[str, Any], ...]
    reply_to: str | None
    left_out: bool = False


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message in an inbox: as what kind of recipient, and when it was read and acknowledged."""

    letter: Letter
    kind: Kind
    read_ts: float | None
    ack_ts: float | None


@dataclass(frozen=True, slots=True)
class InboxQuery:
    """Selects messages of an inbox: sent after ``since_ts``, of high or urgent importance, not yet read.
    ``before`` is a message's id: only messages accepted before it.
    """

    since_ts: float | None = None
    urgent_only: bool = False
    unread_only: bool = False
    include_bodies: bool = False
    limit: int = 20
    before: str | None = None


@dataclass(frozen=True, slots=True)
class LetterThread:
    """A conversation in a project, the oldest message first; ``more`` counts older ones that ``letters`` lacks."""

    id: str
    project: str
    letters: tuple[Letter, ...]
    more: int = 0

    @property
    def before(self) -> str | None:
        """Pass this to continue with older messages; None when there are none."""
        return self.letters[0].id if self.more else None


@dataclass(frozen=True, slots=True)
class ReadReceipt:
    """When a recipient read and acknowledged a message. ``job`` is the number of the archive job, if there is one.
    ``changed`` is False when nothing new was recorded.
    """

    message_id: str
    agent: str
    read_ts: float
    ack_ts: float | None
    job: int | None
    changed: bool = True


def to_the_millisecond(seconds: float) -> float:
    """The time as it is stored: a value that survives writing to a file and reading back."""
    return round(seconds, 3)


def iso(seconds: float) -> str:
    """The time for people, in whole seconds of UTC.

    >>> iso(1761232934.5)
    '2025-10-23T15:22:14Z'
    """
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
