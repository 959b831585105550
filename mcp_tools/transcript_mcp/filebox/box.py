"""A cached view of a box.

File names are read again when the folder's mtime has changed. Headers are read once per file and cached with the file's
stamp (mtime, size, inode); an index file outside the boxes passes them to the next process. Other programs write here,
too, and may change a file in place, which does not change the folder; with ``certain=True`` every stamp is compared.
"""

import logging
import os
import threading
import time
from bisect import insort
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import msgspec

from nanobot_transcript.errors import TranscriptError
from transcript_mcp.filebox.file_names import shown_name, suffix_of_name
from transcript_mcp.filebox.files import LARGEST, read, read_head, stamp_of, write
from transcript_mcp.filebox.folders import STATE, MailboxFolder
from transcript_mcp.filebox.message import parsed
from transcript_mcp.filebox.values import Box, Mail

__all__ = ["BoxView", "Listing", "Moves", "load", "look_at", "save"]

logger = logging.getLogger(__name__)

_WHOLE_ID: Final = 36
_FEW: Final = 1000  # so many stamps are compared in a millisecond or two
_WORTH_SAVING: Final = 200
_WORTH_SORTING: Final = 100


class BoxView:
    """One box as this process knows it. Thread-safe."""

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
        """File names with this ending (``-1b1d8fc0.md``); ``fresh=False`` uses the names of the last look."""
        with self._mutex:
            if fresh:
                self._look()
            return self._listing.ending(suffix)

    def has_odd_names(self) -> bool:
        """True if some names, at the last look, do not contain the id of their mail."""
        return bool(self._listing.odd)

    def mails(self, *, certain: bool = False) -> list[Mail]:
        """All mails, newest first. Raises MailboxUnavailableError and ConfigError.

        Without ``certain``, in a box of more than a thousand mails, one that was changed in place may be outdated.
        """
        with self._mutex:
            self._current(certain=certain)
            return self._oldest_first[::-1]

    def with_id(self, message_id: str) -> set[str]:
        """Names of the mails with this id, else of those whose id begins with it (case-insensitive)."""
        with self._mutex:
            known = self._current(certain=False).items()
            exact = {name for name, mail in known if mail.id == message_id}
            if exact or len(message_id) >= _WHOLE_ID:
                return exact
            beginning = message_id.lower()
            return {name for name, mail in known if mail.id.lower().startswith(beginning)}

    def version(self) -> object:
        """Changes when a file is added or removed; costs one ``fstat``."""
        return self._listing.version()

    def edition(self) -> int:
        """Changes when a mail is added, removed or overwritten; compares the stamps of all files."""
        with self._mutex:
            self._current(certain=True)
            return self._edition

    def _look(self) -> None:
        moves = self._listing.refresh()
        self._came = (self._came - moves.went) | moves.came
        self._went = (self._went - moves.came) | moves.went

    def _current(self, *, certain: bool) -> dict[str, Mail]:
        """The mails by file name, brought up to date."""
        self._look()
        compare = certain or len(self._listing.inodes) <= _FEW
        if self._mails is None:
            self._mails = load(self._mailbox, self._box, self._listing.inodes)
            self._came, self._went, compare = set(), self._mails.keys() - self._listing.inodes.keys(), True
        if compare or self._came or self._went:
            self._refresh(self._mails, compare=compare)
        return self._mails

    def _refresh(self, known: dict[str, Mail], *, compare: bool) -> None:
        """Read the headers of new files and drop those of removed ones; with ``compare``, check the stamps of all."""
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
            save(self._mailbox, self._box, known)
            self._unsaved = 0


def look_at(folder: int, name: str) -> Mail | None:
    """The mail in one file, from its header; None when there is no such regular file."""
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
    """Names of files whose stamp differs from the cached one."""
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


_TICK: Final = 100_000_000  # ns; file systems with sub-second timestamps have finer ticks than this
_COARSE_TICK: Final = 2_000_000_000
_SECOND: Final = 1_000_000_000


class Moves(NamedTuple):
    """Names that were added or got another inode, and names that were removed."""

    came: set[str]
    went: set[str]


class Listing:
    """The names and inodes of the mails in a box: regular files that end in ``.md`` and are not hidden."""

    def __init__(self, mailbox: MailboxFolder, box: Box) -> None:
        self._mailbox: Final = mailbox
        self._box: Final = box
        self._version: object = None
        self._joined: str | None = None  # all names in one string: searching that is faster than ten thousand strings
        self.inodes: Final[dict[str, int]] = {}
        self.odd: Final[set[str]] = set()
        """Names that do not contain the id of their mail."""

    def version(self) -> object:
        """Changes whenever a file comes or goes; costs one look at the folder."""
        with self._mailbox.looked_at(self._box) as folder:
            return _version(os.fstat(folder)) if folder is not None else None

    def refresh(self) -> Moves:
        """Read the folder if it has changed. Raises MailboxUnavailableError and ConfigError."""
        with self._mailbox.looked_at(self._box) as folder:
            if folder is None:
                self._version = None
                return self._change({}, set(self.inodes))
            found = os.fstat(folder)
            if (now := _version(found)) == self._version:
                return Moves(set(), set())
            try:
                moves = self._read(folder)
            except OSError as error:
                self._mailbox.failed(f"look into {self._box}", error)
            self._version = now if _has_settled(found.st_mtime_ns) else None
            return moves

    def ending(self, suffix: str) -> set[str]:
        """The names with this ending, at the last look."""
        if self._joined is None:
            self._joined = "\n".join(["", *self.inodes, ""])
        found, at, wanted = set[str](), 0, f"{suffix}\n"
        while (at := self._joined.find(wanted, at)) >= 0:
            name = self._joined[self._joined.rindex("\n", 0, at) + 1 : at + len(suffix)]
            if name in self.inodes:
                found.add(name)
            at += len(wanted)
        return found

    def _read(self, folder: int) -> Moves:
        seen, came = set[str](), dict[str, int]()
        with os.scandir(folder) as found:
            for entry in found:
                name = entry.name
                if not name.endswith(".md") or name[0] == ".":
                    continue
                inode = entry.inode()
                if self.inodes.get(name) != inode:
                    if not entry.is_file(follow_symlinks=False):
                        continue
                    came[name] = inode
                seen.add(name)
        return self._change(came, self.inodes.keys() - seen)

    def _change(self, came: dict[str, int], went: set[str]) -> Moves:
        """Apply a change in place, so that unchanged names are not held in memory twice."""
        if came or went:
            for name in went:
                del self.inodes[name]
            self.inodes.update(came)
            self._joined = None
        self.odd.difference_update(went)
        self.odd.update(name for name in came if suffix_of_name(name) is None)
        return Moves(set(came), went)


def _version(folder: os.stat_result) -> tuple[int, int]:
    return folder.st_ino, folder.st_mtime_ns


def _has_settled(changed_ns: int) -> bool:
    """False while another write could still fall into the same tick of the file system's clock, and go unnoticed."""
    tick = _TICK if changed_ns % _SECOND else _COARSE_TICK
    return changed_ns < time.time_ns() - tick


_VERSION: Final = 1
_LARGEST: Final = 256 * 1024 * 1024
_REPEATED: Final = ("file", "type", "sender", "receiver", "original_sender")


class _Index(msgspec.Struct, array_like=True):
    version: int
    mails: list[Mail]


_decoder: Final = msgspec.msgpack.Decoder(_Index)


def load(mailbox: MailboxFolder, box: Box, names: Iterable[str] = ()) -> dict[str, Mail]:
    """The mails of the last ``save``, by file name; empty when there was none. Raises nothing.

    ``names``: the string objects of the box's names, which are shared to save memory.
    """
    try:
        with mailbox.looked_at(STATE) as folder:
            taken = read(folder, _name(box), _LARGEST) if folder is not None else None
        known = _decoder.decode(taken.body) if taken else None
    except (OSError, TranscriptError, msgspec.MsgspecError) as error:
        logger.info("Rebuilding the index of %s of %s: %s", box, mailbox.agent, error)
        return {}
    if known is None or known.version != _VERSION:
        return {}
    words = {name: name for name in names}
    for mail in known.mails:
        for name in _REPEATED:  # share equal strings: ten thousand mails name few agents
            word = getattr(mail, name)
            msgspec.structs.force_setattr(mail, name, words.setdefault(word, word))
    return {mail.file: mail for mail in known.mails}


def save(mailbox: MailboxFolder, box: Box, mails: Mapping[str, Mail]) -> None:
    """Save the headers for the next process. Raises nothing: without an index, things only take longer."""
    body = msgspec.msgpack.encode(_Index(_VERSION, [mail for name, mail in mails.items() if mail.file == name]))
    try:
        write(mailbox, STATE, _name(box), body)
    except TranscriptError as error:
        logger.warning("%s The index of the %s was not saved.", error, box)


def _name(box: Box) -> str:
    return f"{box}.index"
