"""What is being delivered, noted beforehand, so that a delivery that was killed in the middle can be finished.

A note lies in the sender's mailbox, outside the boxes, locked by the process that delivers. A note nobody holds any
more is an accident: the mail has arrived without a copy in the sender's outbox, or has not arrived at all.
"""

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

import msgspec

from transcript_mcp.filebox.files import WORKSHOP, names, read
from transcript_mcp.filebox.folders import STATE, MailboxFolder

__all__ = ["Intent", "Note", "abandoned", "announced"]

_FOLDER: Final = (STATE, "pending")
_CREATE: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN: Final = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Intent(msgspec.Struct, frozen=True):
    """A mail on its way to an agent: its id, and the time of the entry that is on the way."""

    id: str
    receiver: str
    time_ms: int


@dataclass(slots=True)
class Note:
    """The note of one delivery; ``keep`` leaves it behind for somebody to finish the work."""

    intent: Intent
    keep: bool = False


@contextmanager
def announced(sender: MailboxFolder, intent: Intent) -> Iterator[Note]:
    """Note the intent for as long as the block runs. Raises MailboxUnavailableError and ConfigError."""
    name = f"{secrets.token_hex(8)}.json"
    note = Note(intent)
    with sender.opened(*_FOLDER) as folder:
        descriptor = _published(sender, folder, name, intent)
        try:
            yield note
        finally:
            if not note.keep:
                with suppress(OSError):
                    os.unlink(name, dir_fd=folder)
            os.close(descriptor)


def abandoned(sender: MailboxFolder) -> Iterator[Note]:
    """Notes that nobody holds any more, each held while it is looked at and removed after that unless ``keep``."""
    with sender.looked_at(*_FOLDER) as folder:
        for name in names(folder):
            try:
                descriptor = os.open(name, _OPEN, dir_fd=folder)
            except OSError:
                continue  # its delivery has just ended
            try:
                yield from _held(folder, name, descriptor)
            finally:
                os.close(descriptor)


def _published(sender: MailboxFolder, folder: int, name: str, intent: Intent) -> int:
    """Locked before it can be seen, so that nobody takes it for an abandoned one."""
    with sender.opened(*WORKSHOP) as workshop:
        try:
            descriptor = os.open(name, _CREATE, 0o600, dir_fd=workshop)
        except OSError as error:
            sender.failed("note what is sent", error)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.write(descriptor, msgspec.json.encode(intent))
            os.rename(name, name, src_dir_fd=workshop, dst_dir_fd=folder)
        except OSError as error:
            os.close(descriptor)
            with suppress(OSError):
                os.unlink(name, dir_fd=workshop)
            sender.failed("note what is sent", error)
    return descriptor


def _held(folder: int | None, name: str, descriptor: int) -> Iterator[Note]:
    assert folder is not None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        taken = read(folder, name)
    except OSError:
        return  # somebody is at it
    if taken is None:
        return
    try:
        note = Note(msgspec.json.decode(taken.body, type=Intent))
    except msgspec.MsgspecError:
        note = None  # not ours
    if note is not None:
        yield note
    if note is None or not note.keep:
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)
