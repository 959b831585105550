"""What goes into a mailbox and what comes out of it."""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import msgspec

__all__ = ["BOXES", "Box", "Draft", "Mail", "Page", "Reading", "Sent", "ThreadEntry"]

Box: TypeAlias = Literal["inbox", "outbox", "done", "cancel"]
BOXES: Final[tuple[Box, ...]] = ("inbox", "outbox", "done", "cancel")


class Mail(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One file of a box as its header describes it.

    ``stamp`` is (mtime_ns, size, inode) of the file when it was looked at. ``time_ms`` (since 1970) is the header's
    ``timestamp``, or the file's own time without one. ``problem`` says why a file is no mail that can be understood;
    then the header's fields are empty.
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
    """A mail that is about to be sent. ``original_id`` is the id of the mail it answers, empty for a new one."""

    sender: str
    receiver: str
    type: str
    title: str
    content: str
    original_id: str = ""


@dataclass(frozen=True, slots=True)
class Sent:
    """A mail that was delivered. ``note`` says what did not go well beside that, and may be empty."""

    id: str
    file: str
    sender: str
    receiver: str
    reply: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """Some mails of a box, newest first; ``total`` counts all that fit, ``offset`` those left out before.

    ``unread`` holds the file names of those that have not been read.
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
    """What somebody wrote in a thread. ``time`` is as the file says; ``text`` is as it was sent."""

    time: str
    sender: str
    receiver: str
    type: str
    text: str
