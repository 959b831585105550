"""What goes into Agent Mail and what comes out of it. Times are seconds since 1970, to the millisecond."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeAlias, TypeVar

from transcript_mcp.mail.store import Shard

__all__ = [
    "IMPORTANCES",
    "Agent",
    "Delivery",
    "Draft",
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

_T = TypeVar("_T")


class LetterPage(list[_T]):
    """Some of a long list, from its beginning or from where an earlier page ended.

    ``more`` is how many come behind, ``before`` what to pass to read on with them; None where nothing comes.
    """

    __slots__ = ("before", "more")

    def __init__(self, items: Iterable[_T] = (), more: int = 0, before: str | None = None) -> None:
        super().__init__(items)
        self.more: int = more
        self.before: str | None = before if more else None


@dataclass(frozen=True, slots=True)
class MailOptions:
    """What can be set.

    With ``require_agent_token`` nobody sends, reads or releases as an agent without the token that was given at its
    registration. ``shard`` says how finely the archive's folders are cut. ``max_body`` is in bytes of UTF-8;
    ``active_within`` (seconds) is how long after its last action an agent counts as active; ``busy`` bounds (seconds)
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
    """What agents share: usually a code base, with its absolute path as ``key``. ``slug`` names its folder."""

    id: int
    key: str
    slug: str
    created_ts: float


@dataclass(frozen=True, slots=True)
class Agent:
    """Somebody who sends and receives mail. ``project`` is the key of its home, ``project_id`` and ``id`` are rows."""

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
    """An agent after its registration. ``token`` is given once, when the agent is new; None for one that was known.

    ``job`` is the number of the archive's job, None when nothing had to be archived.
    """

    agent: Agent
    token: str | None
    job: int | None


@dataclass(frozen=True, slots=True)
class Draft:
    """A message that is about to be sent.

    A reply may leave out ``to`` (whom it answers), ``subject`` (``Re:`` and that of the original) and ``thread_id``.
    With ``reply_all`` it also goes to all who are named in the original, but to the sender.
    ``original_body`` is what the sender wrote when ``body`` was changed since (images, quotes): by it an
    ``idempotency_key`` knows whether it is the same message. ``attachments`` are JSON objects as the archive shows
    them; ``present`` are files in the repository's folder that belong to the message.
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
    """A message that was accepted: it is in the recipients' inboxes.

    ``recipients`` are the names by kind. ``repeated`` says that it had been accepted before, under the same key.
    ``job`` is the number of an archive's job: when it is done, the message is in git.
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
    """A message as all may see it. ``body`` is None where bodies were not asked for, or ``left_out`` of the answer."""

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
    """A message in somebody's inbox: how it came there, when it was read and acknowledged."""

    letter: Letter
    kind: Kind
    read_ts: float | None
    ack_ts: float | None


@dataclass(frozen=True, slots=True)
class InboxQuery:
    """Which messages of an inbox: only those sent after ``since_ts``, of high or urgent importance, not yet read.

    ``before`` is the id of a message: only what was accepted before it.
    """

    since_ts: float | None = None
    urgent_only: bool = False
    unread_only: bool = False
    include_bodies: bool = False
    limit: int = 20
    before: str | None = None


@dataclass(frozen=True, slots=True)
class LetterThread:
    """A conversation in a project, the oldest message first; ``more`` older ones are not among ``letters``."""

    id: str
    project: str
    letters: tuple[Letter, ...]
    more: int = 0

    @property
    def before(self) -> str | None:
        """What to pass to read on with the older ones; None where there are none."""
        return self.letters[0].id if self.more else None


@dataclass(frozen=True, slots=True)
class ReadReceipt:
    """When a recipient read and acknowledged a message. ``job`` is what carries it into git, if anything does.

    ``changed`` is False when that had been known before.
    """

    message_id: str
    agent: str
    read_ts: float
    ack_ts: float | None
    job: int | None
    changed: bool = True


def to_the_millisecond(seconds: float) -> float:
    """The time as it is kept, so that it is the same after a way through a file."""
    return round(seconds, 3)


def iso(seconds: float) -> str:
    """The time for people, in whole seconds of UTC.

    >>> iso(1761232934.5)
    '2025-10-23T15:22:14Z'
    """
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
