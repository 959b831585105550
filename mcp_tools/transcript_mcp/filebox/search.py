"""Searches mail by words, sender, type and time."""

import errno
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import merge
from typing import Final

from transcript_mcp.filebox.cache import Views
from transcript_mcp.filebox.escapes import unescaped
from transcript_mcp.filebox.file_names import real_name
from transcript_mcp.filebox.files import read
from transcript_mcp.filebox.folders import MailboxFolder
from transcript_mcp.filebox.message import is_marker
from transcript_mcp.filebox.values import BOXES, Box, Mail

__all__ = ["FoundMail", "MailQuery", "search"]

_BEFORE: Final = 40
_SNIPPET: Final = 200
_NOT_SEARCHED: Final = "It is too large to be searched."


@dataclass(frozen=True, slots=True)
class MailQuery:
    """A search: all words of ``text`` (case-insensitive, anywhere in the file), and fields of the header.

    ``since_ms``: the earliest time of the newest entry. Empty and zero match anything.
    """

    text: str = ""
    boxes: tuple[Box, ...] = BOXES
    sender: str = ""
    type: str = ""
    since_ms: int = 0


@dataclass(frozen=True, slots=True)
class FoundMail:
    """A match: the mail, its box, and the text around the first word."""

    box: Box
    mail: Mail
    snippet: str


def search(query: MailQuery, mailbox: MailboxFolder, views: Views, limit: int) -> list[FoundMail]:
    """The newest mails that match. Files are read from the newest to the oldest until enough were found."""
    words = query.text.casefold().split()
    found: list[FoundMail] = []
    for box, mail in _newest_first(query, mailbox, views):
        snippet = _snippet(mailbox, box, mail, words)
        if snippet is not None:
            found.append(FoundMail(box, mail, snippet))
        if len(found) >= limit:
            break
    return found


def _newest_first(query: MailQuery, mailbox: MailboxFolder, views: Views) -> Iterator[tuple[Box, Mail]]:
    shelves = [_fitting(query, box, views.box(mailbox, box).mails()) for box in dict.fromkeys(query.boxes)]
    return merge(*shelves, key=lambda each: each[1].time_ms, reverse=True)


def _fitting(query: MailQuery, box: Box, mails: Iterable[Mail]) -> Iterator[tuple[Box, Mail]]:
    for mail in mails:
        wanted = (not query.type or mail.type == query.type) and mail.time_ms >= query.since_ms
        if wanted and query.sender in ("", mail.sender, mail.original_sender):
            yield box, mail


def _snippet(mailbox: MailboxFolder, box: Box, mail: Mail, words: list[str]) -> str | None:
    """The text around the first word, None when a word is missing."""
    if not words:
        return ""
    with mailbox.looked_at(box) as folder:
        try:
            taken = read(folder, real_name(mail.file)) if folder is not None else None
        except OSError as error:
            if error.errno == errno.EFBIG:
                return _NOT_SEARCHED
            return None  # unreadable; lists of the box say so
    if taken is None:
        return None
    text = taken.body.decode("utf-8", "replace")
    folded = text.casefold()
    if not all(word in folded for word in words):
        return None
    return " ".join(unescaped(_around(text, words)).split())


def _around(text: str, words: list[str]) -> str:
    """The text from the line with the most words on, preferring lines of text to the header and headings."""
    lines = text.split("\n")
    below = next((number for number, line in enumerate(lines) if is_marker(line)), -1) + 1

    def rank(number: int) -> tuple[bool, int]:
        folded = lines[number].casefold()
        count = sum(word in folded for word in words)
        return count > 0 and number >= below and not lines[number].startswith("## "), count

    best = max(range(len(lines)), key=rank)
    folded = lines[best].casefold()
    at = min((place for word in words if (place := folded.find(word)) >= 0), default=0)
    start = max(0, at - _BEFORE)
    return "\n".join([lines[best][start:], *lines[best + 1 : best + 1 + _SNIPPET]])[:_SNIPPET]
