"""Marks of read mail in an inbox, kept in a file outside the boxes.

A mark names a mail and the time of its thread. So a thread with a new entry is unread again, whichever program wrote
it. Marks are appended to the file, one JSON line each; unreadable lines, such as a torn tail, are ignored.
"""

import errno
import os
import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

import msgspec

from nanobot_transcript.files.descriptors import to_append
from transcript_mcp.filebox.files import read, write
from transcript_mcp.filebox.folders import STATE, MailboxFolder
from transcript_mcp.filebox.values import Mail

__all__ = ["ReadMarks"]

_FILE: Final = "read.jsonl"
_CROWD: Final = 2000
_LARGEST: Final = 256 * 1024 * 1024


class ReadMarks:
    """The marks of one mailbox as this process knows them. Thread-safe."""

    def __init__(self, mailbox: MailboxFolder) -> None:
        self._mailbox: Final = mailbox
        self._mutex: Final = threading.Lock()
        self._marks: dict[str, str] = {}
        self._lines: int = 0
        self._kept: int = 0
        self._inode: int = 0
        self._length: int = 0

    def unread(self, mails: Iterable[Mail]) -> list[Mail]:
        """The mails, which must be in the inbox, that were not read in their current version."""
        with self._mutex:
            self._catch_up()
            return [mail for mail in mails if self._marks.get(_key(mail)) != _version(mail)]

    def mark(self, mails: Iterable[Mail]) -> None:
        """Mark them as read. Raises MailboxUnavailableError and ConfigError."""
        new = self.unread(mails)
        if not new:
            return
        lines = b"".join(_line(_key(mail), _version(mail)) for mail in new)
        with self._mailbox.opened(STATE) as folder:
            try:
                descriptor = to_append(_FILE, folder)
                try:
                    _append(descriptor, lines)
                finally:
                    os.close(descriptor)
            except OSError as error:
                self._mailbox.failed("mark it as read", error)

    @property
    def crowded(self) -> bool:
        """True when the file has many outdated lines."""
        return self._lines > max(_CROWD, 2 * self._kept)

    def tidy(self, inbox: Iterable[Mail]) -> None:
        """Rewrite the file without marks of mail that left the inbox. The caller holds the mailbox's lock.

        A mark that another process appends meanwhile may be lost; then a read mail is shown as unread. Raises
        MailboxUnavailableError and ConfigError.
        """
        with self._mutex:
            self._catch_up()
            here = {_key(mail) for mail in inbox}
            kept = {key: version for key, version in self._marks.items() if key in here}
            self._kept = len(kept)
            if self._lines > 2 * len(kept):
                write(self._mailbox, STATE, _FILE, b"".join(_line(*mark) for mark in kept.items()))

    def _catch_up(self) -> None:
        """Read what was appended since the last time, or everything if the file was replaced."""
        with self._mailbox.looked_at(STATE) as folder:
            taken = self._new_part(folder) if folder is not None else None
        if taken is None:
            self._marks, self._lines, self._inode, self._length = {}, 0, 0, 0
            return
        for line in taken.splitlines():
            with suppress(msgspec.MsgspecError, ValueError):
                key, version = msgspec.json.decode(line, type=tuple[str, str])
                self._marks[key] = version
            self._lines += 1

    def _new_part(self, folder: int) -> bytes | None:
        try:
            found = os.stat(_FILE, dir_fd=folder, follow_symlinks=False)
            if (found.st_ino, found.st_size) == (self._inode, self._length):
                return b""
            taken = read(folder, _FILE, _LARGEST)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._mailbox.failed("see what was read", error)
        if taken is None:
            return None
        inode, body = taken.stamp[2], taken.body
        complete = body.rfind(b"\n") + 1
        if inode != self._inode or complete < self._length:
            self._marks, self._lines, self._length = {}, 0, 0
        part = body[self._length : complete]
        self._inode, self._length = inode, complete
        return part


def _append(descriptor: int, lines: bytes) -> None:
    """Append lines, after a newline if the last line is torn (by a full disk), so that it does not swallow the next."""
    size = os.fstat(descriptor).st_size
    if size and os.pread(descriptor, 1, size - 1) != b"\n":
        lines = b"\n" + lines
    if os.write(descriptor, lines) < len(lines):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _line(key: str, version: str) -> bytes:
    return msgspec.json.encode([key, version]) + b"\n"


def _key(mail: Mail) -> str:
    return mail.id or f"file {mail.file}"


def _version(mail: Mail) -> str:
    return mail.timestamp if mail.id and mail.timestamp else "-".join(map(str, mail.stamp))
