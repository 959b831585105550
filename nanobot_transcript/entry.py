"""The shape of one transcript line, as dictionaries: callers get what the file holds.

A line always has the five keys ``role``, ``content``, ``sender``, ``message_id``, ``ts``; the others are present only
when known. Keys that this version does not know survive every read and rewrite.
"""

from typing import Final, Literal, NotRequired, Required, TypeAlias, TypedDict

__all__ = [
    "OPTIONAL_FIELDS",
    "Entry",
    "EntryFields",
    "Ids",
    "Mention",
    "Op",
    "RecentMessage",
    "Source",
    "storable",
    "well_formed",
]

SenderKind = Literal["human", "bot"]
Source = Literal["event", "send", "stream", "peer_event", "history", "import"]
Op = Literal["edit", "recall", "redact"]


Ids: TypeAlias = dict[str, str]
"""Platform ids of a sender, by kinds that the platform names. The record itself knows ``app_id``, the account of a bot,
and ``open_id``, the id that one account uses for a member.
"""


class Mention(TypedDict, total=False):
    """A member named in a message: ``id`` is the stable sender where it is known.

    ``account`` is a bot's; it stays when the bot's name changes because another one of that name appears.
    """

    name: str
    id: str
    account: str


class EntryFields(TypedDict, total=False):
    """The optional fields of an entry; the keywords of ``append``."""

    sender_name: str | None
    sender_kind: SenderKind | None
    ids: Ids | None
    msg_type: str | None
    mentions: list[Mention] | None
    reply_to: str | None
    root_id: str | None
    thread_id: str | None
    pos: int | None
    message_ids: list[str] | None
    agent: str | None
    hop: int | None
    source: Source | None


OPTIONAL_FIELDS: Final = frozenset(EntryFields.__annotations__)


class Entry(TypedDict, total=False):
    """One line of a transcript after decoding.

    ``ts`` is the platform's time and ``rts`` the time of receipt, both in milliseconds since 1970. ``op`` lines
    (``edit``, ``recall``, ``redact``) point at an earlier message by ``target``; readers fold them away. An edit with a
    ``mark`` is recorded once, however often it comes.
    """

    role: Required[str]
    content: Required[str]
    sender: Required[str]
    message_id: Required[str | None]
    ts: Required[float]
    sender_name: NotRequired[str]
    sender_kind: NotRequired[str]
    ids: NotRequired[Ids]
    msg_type: NotRequired[str]
    mentions: NotRequired[list[Mention]]
    reply_to: NotRequired[str]
    root_id: NotRequired[str]
    thread_id: NotRequired[str]
    pos: NotRequired[int]
    message_ids: NotRequired[list[str]]
    agent: NotRequired[str]
    hop: NotRequired[int]
    source: NotRequired[str]
    op: NotRequired[str]
    target: NotRequired[str]
    mark: NotRequired[str]
    rts: NotRequired[int]
    v: NotRequired[int]
    edited: NotRequired[bool]


class RecentMessage(TypedDict):
    """What ``get_recent`` returns: compatible with a chat session's history."""

    role: str
    content: str
    sender: str


def well_formed(text: str) -> str:
    """The text as UTF-8 can encode it: surrogate pairs joined, a lone surrogate replaced by U+FFFD.

    >>> well_formed("a\\ud83d b")
    'a\ufffd b'
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def storable(text: str) -> str:
    """The text as any database can store it: well-formed, and U+FFFD for NUL.

    >>> storable("a\\0b")
    'a\ufffdb'
    """
    return well_formed(text).replace("\0", "\ufffd")
