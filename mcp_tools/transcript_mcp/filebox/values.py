"""The values of mailboxes: drafts, mails, pages and thread entries."""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import msgspec

__all__ = ["BOXES", "Box", "Draft", "Mail", "Page", "Reading", "Sent", "ThreadEntry"]

Box: TypeAlias = Literal["inbox", "outbox", "done", "cancel"]
BOXES: Final[tuple[Box, ...]] = ("inbox", "outbox", "done", "cancel")


class Mail(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One file of a box, with the fields of its header.

    ``stamp``: (mtime_ns, size, inode) of the file when it was read. ``time_ms`` (since 1970): the header's
    ``timestamp``, or the file's time without one. ``problem``: why the file cannot be parsed as a mail; then the
    header's fields are empty.
    """

    file: str
    stamp: tuple[int, int, int]
    time_ms: int
    id: str = ""
    type: str = ""
    title: str = ""
    sender: str = ""
    receiver: str = ""
    timestamp: str = ""
    original_sender: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Draft:
    """A mail to be sent. ``original_id``: the id of the mail it replies to, empty for a new one."""

    sender: str
    receiver: str
    type: str
    title: str
    content: str
    original_id: str = ""


@dataclass(frozen=True, slots=True)
class Sent:
    """A mail that was delivered. ``note``: what went wrong besides, usually empty."""

    id: str
    file: str
    sender: str
    receiver: str
    reply: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """Some mails of a box, newest first. ``total``: the number of all matching mails. ``offset``: how many newer ones
    were skipped. ``unread``: the file names of unread mails.
    """

    mails: list[Mail]
    total: int
    offset: int = 0
    unread: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Reading:
    """Part of a mail's text; ``total`` is the length of the whole, in characters."""

    file: str
    text: str
    offset: int
    total: int

    @property
    def end(self) -> int:
        """Where the next part begins."""
        return self.offset + len(self.text)


@dataclass(frozen=True, slots=True)
class ThreadEntry:
    """An entry of a thread. ``time`` is as written in the file, ``text`` as it was sent."""

    time: str
    sender: str
    receiver: str
    type: str
    text: str
