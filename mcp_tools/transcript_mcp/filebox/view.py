"""What is in a box, without looking at everything each time.

The names are read again when the folder has changed. Headers are read once per file and kept with the stamp (mtime,
size, inode) they were read at; an index file outside the boxes hands them to the next process. Other programs write
here too, so nothing is taken for granted for good: whoever needs certainty asks for ``certain=True``, and every stamp
is compared.
"""

import os
import threading
from bisect import insort
from collections.abc import Iterable, Mapping
from typing import Final

from transcript_mcp.filebox import index
from transcript_mcp.filebox.box_names import Listing
from transcript_mcp.filebox.file_names import shown_name
from transcript_mcp.filebox.files import LARGEST, read_head, stamp_of
from transcript_mcp.filebox.folders import MailboxFolder
from transcript_mcp.filebox.message import parsed
from transcript_mcp.filebox.values import Box, Mail

__all__ = ["BoxView", "look_at"]

_WHOLE_ID: Final = 36
_FEW: Final = 1000  # so many stamps are compared in a millisecond or two
_WORTH_SAVING: Final = 200
_WORTH_SORTING: Final = 100


class BoxView:
    """One box as this process knows it. May be used by several threads."""

    def __init__(self, mailbox: MailboxFolder, box: Box) -> None:
        self._mailbox: Final = mailbox
        self._box: Final = box
        self._mutex: Final = threading.RLock()
        self._listing: Final = Listing(mailbox, box)
        self._mails: dict[str, Mail] | None = None
        self._came: set[str] = set()
        self._went: set[str] = set()
        self._oldest_first: list[Mail] = []
        self._unsaved: int = 0
        self._edition: int = 1

    def ending(self, suffix: str, *, fresh: bool = True) -> set[str]:
        """Names of mails that end so (``-1b1d8fc0.md``); ``fresh=False`` is content with what was there last time."""
        with self._mutex:
            if fresh:
                self._look()
            return self._listing.ending(suffix)

    def has_odd_names(self) -> bool:
        """True when there are names, as of the last look, that do not tell their mails' ids."""
        return bool(self._listing.odd)

    def mails(self, *, certain: bool = False) -> list[Mail]:
        """All mails, newest first. Without ``certain`` a mail that another program has changed in place, in a box
        of more than a thousand, may still stand where it stood. Raises MailboxUnavailableError and ConfigError.
        """
        with self._mutex:
            self._known(certain=certain)
            return self._oldest_first[::-1]

    def with_id(self, message_id: str) -> set[str]:
        """Names of the mails whose id is this one, else of those whose id begins so (in any case of letters)."""
        with self._mutex:
            known = self._known(certain=False).items()
            exact = {name for name, mail in known if mail.id == message_id}
            if exact or len(message_id) >= _WHOLE_ID:
                return exact
            beginning = message_id.lower()
            return {name for name, mail in known if mail.id.lower().startswith(beginning)}

    def version(self) -> object:
        """Changes whenever a file comes or goes; costs one look at the folder."""
        return self._listing.version()

    def edition(self) -> int:
        """Changes with every mail that comes, goes or is written over; compares the stamps of all files."""
        with self._mutex:
            self._known(certain=True)
            return self._edition

    def _look(self) -> None:
        moves = self._listing.refresh()
        self._came = (self._came - moves.went) | moves.came
        self._went = (self._went - moves.came) | moves.went

    def _known(self, *, certain: bool) -> dict[str, Mail]:
        """The mails by file name, as certain as was asked for."""
        self._look()
        compare = certain or len(self._listing.inodes) <= _FEW
        if self._mails is None:
            self._mails = index.load(self._mailbox, self._box, self._listing.inodes)
            self._came, self._went, compare = set(), self._mails.keys() - self._listing.inodes.keys(), True
        if compare or self._came or self._went:
            self._refresh(self._mails, compare=compare)
        return self._mails

    def _refresh(self, known: dict[str, Mail], *, compare: bool) -> None:
        """Bring the headers up to date with what came and went; with ``compare`` no stamp is taken for granted."""
        outdated = [mail for name in self._went | self._came if (mail := known.pop(name, None)) is not None]
        fresh: list[Mail] = []
        with self._mailbox.looked_at(self._box) as folder:
            if folder is not None:
                changed = _changed(folder, known, self._listing.inodes.keys()) if compare else set[str]()
                outdated += [mail for name in changed if (mail := known.pop(name, None)) is not None]
                for name in self._came | changed:
                    mail = look_at(folder, name)
                    if mail is not None:
                        known[name] = mail
                        fresh.append(mail)
        self._came, self._went = set(), set()
        self._edition += bool(outdated or fresh)
        self._put_in_order(known, outdated, fresh)
        self._save(len(outdated) + len(fresh), known)

    def _put_in_order(self, known: dict[str, Mail], outdated: list[Mail], fresh: list[Mail]) -> None:
        if len(fresh) > _WORTH_SORTING or len(known) != len(self._oldest_first) - len(outdated) + len(fresh):
            self._oldest_first = sorted(known.values(), key=_age)
        elif outdated or fresh:
            gone = set(map(id, outdated))
            self._oldest_first = [mail for mail in self._oldest_first if id(mail) not in gone]
            for mail in fresh:
                insort(self._oldest_first, mail, key=_age)

    def _save(self, changes: int, known: dict[str, Mail]) -> None:
        self._unsaved += changes
        if self._unsaved >= _WORTH_SAVING:
            index.save(self._mailbox, self._box, known)
            self._unsaved = 0


def look_at(folder: int, name: str) -> Mail | None:
    """What the header of one file says; None when there is no such regular file."""
    shown = shown_name(name)
    try:
        taken = read_head(folder, name)
    except OSError as error:
        try:
            stamp = stamp_of(os.stat(name, dir_fd=folder, follow_symlinks=False))
        except FileNotFoundError:
            return None
        return Mail(shown, stamp, stamp[0] // 1_000_000, problem=f"cannot be read: {error.strerror}")
    if taken is None:
        return None
    if (size := taken.stamp[1]) > LARGEST:
        return Mail(shown, taken.stamp, taken.stamp[0] // 1_000_000, problem=f"is too large: {size:,} bytes")
    return parsed(shown, taken.body.decode("utf-8", "replace"), taken.stamp)


def _changed(folder: int, known: Mapping[str, Mail], names: Iterable[str]) -> set[str]:
    """Names of files that are not as they are known."""
    changed: set[str] = set()
    for name in names:
        mail = known.get(name)
        try:
            same = mail is not None and mail.stamp == stamp_of(os.stat(name, dir_fd=folder, follow_symlinks=False))
        except OSError:
            same = False
        if not same:
            changed.add(name)
    return changed


def _age(mail: Mail) -> tuple[int, str]:
    return mail.time_ms, mail.file
