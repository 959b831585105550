"""Finds all copies of a mail by its id, in every box of the mailboxes concerned.

All copies have the same file name, which contains the beginning of the id. So usually a few known names are tried. Only
if a mailbox seems to have no copy are its folders read again, and only if there is no copy at all are headers compared.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from nanobot_transcript.errors import InvalidMailError
from transcript_mcp.filebox.cache import Views
from transcript_mcp.filebox.file_names import id_suffix, shown_name
from transcript_mcp.filebox.files import read
from transcript_mcp.filebox.folders import MailboxFolder
from transcript_mcp.filebox.message import parsed
from transcript_mcp.filebox.values import BOXES, Box, Mail

__all__ = ["Copy", "copies_of"]

_COMPLETE: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_BEGINNING: Final = re.compile(r"[0-9a-f]{8}[0-9a-f-]*", re.IGNORECASE)
_SHOWN: Final = 5

_Search = Callable[[str, MailboxFolder, Views], set[str]]


@dataclass(frozen=True, slots=True)
class Copy:
    """One file of a mail. Bytes that are not UTF-8 become surrogates in ``text``, so writing it back loses nothing."""

    mailbox: MailboxFolder
    box: Box
    name: str
    mail: Mail
    text: str

    @property
    def order(self) -> tuple[int, int]:
        """Sort key, largest for the newest copy: by the header's time, then by the length of its text."""
        return self.mail.time_ms, len(self.text)


def copies_of(message_id: str, mailboxes: Sequence[MailboxFolder], views: Views, *, whole: bool = False) -> list[Copy]:
    """All copies of a mail, newest first; empty when there is none.

    ``message_id`` may be a prefix of 8 characters or more, unless it must be ``whole``. Raises InvalidMailError when
    several mails have the prefix, MailboxUnavailableError and ConfigError.
    """
    searches: list[_Search] = [_names_known, _names_there] if _COMPLETE.fullmatch(message_id) else [_names_there]
    tried: set[str] = set()
    found: list[Copy] = []
    for search in [*searches, _names_in_headers]:
        without = [mailbox for mailbox in mailboxes if all(copy.mailbox.key != mailbox.key for copy in found)]
        if not without or (found and search is _names_in_headers):
            break
        names = set[str]().union(*(search(message_id, mailbox, views) for mailbox in without)) - tried
        tried |= names
        probed = (copy for mailbox in mailboxes for copy in _probe(mailbox, names, message_id))
        found += [copy for copy in probed if not whole or copy.mail.id.lower() == message_id.lower()]
    return _of_one_mail(message_id, sorted(found, key=lambda copy: copy.order, reverse=True))


def _names_known(message_id: str, mailbox: MailboxFolder, views: Views) -> set[str]:
    """Names with the ending of the id, from the cache."""
    suffix = id_suffix(message_id) or ""
    return set[str]().union(*(views.box(mailbox, box).ending(suffix, fresh=False) for box in BOXES))


def _names_there(message_id: str, mailbox: MailboxFolder, views: Views) -> set[str]:
    """Names with that ending now; where names contain no id, also by headers."""
    suffix = id_suffix(message_id)
    names: set[str] = set()
    for view in (views.box(mailbox, box) for box in BOXES):
        ending = view.ending(suffix or "/")
        names |= ending | (view.with_id(message_id) if view.has_odd_names() else set[str]())
    return names


def _names_in_headers(message_id: str, mailbox: MailboxFolder, views: Views) -> set[str]:
    return set[str]().union(*(views.box(mailbox, box).with_id(message_id) for box in BOXES))


def _fits(known: str, wanted: str) -> bool:
    if known == wanted:
        return bool(known)
    return _BEGINNING.fullmatch(wanted) is not None and known.lower().startswith(wanted.lower())


def _probe(mailbox: MailboxFolder, names: set[str], message_id: str) -> Iterator[Copy]:
    for box in BOXES if names else ():
        with mailbox.looked_at(box) as folder:
            if folder is None:
                continue
            for name in sorted(names):
                copy = _copy(mailbox, box, folder, name)
                if copy is not None and _fits(copy.mail.id, message_id):
                    yield copy


def _copy(mailbox: MailboxFolder, box: Box, folder: int, name: str) -> Copy | None:
    try:
        taken = read(folder, name)
    except OSError as error:
        mailbox.unreadable(f"{box}/{shown_name(name)}", error)
    if taken is None:
        return None
    text = taken.body.decode("utf-8", "surrogateescape")
    return Copy(mailbox, box, name, parsed(shown_name(name), text, taken.stamp), text)


def _of_one_mail(message_id: str, found: list[Copy]) -> list[Copy]:
    exact = [copy for copy in found if copy.mail.id == message_id]
    ids = sorted({copy.mail.id for copy in found})
    if exact or len(ids) <= 1:
        return exact or found
    raise InvalidMailError(
        f"Several messages have an id that begins with {message_id}: {', '.join(ids[:_SHOWN])}.",
        hint="Give the whole Message ID.",
    )
