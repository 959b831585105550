"""A journal of deliveries in progress, so that one that was killed in the middle can be finished.

The sender's copy is written first, outside the boxes, and locked (flock) by the delivering process. Once the mail was
delivered, the copy is renamed into the outbox. A copy without a lock is left from a crash: its mail was delivered but
is missing in the sender's outbox, or was not delivered at all.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

import msgspec

from nanobot_transcript.files.descriptors import to_create
from transcript_mcp.filebox.file_names import shown_name
from transcript_mcp.filebox.files import fill, names, read, unused_name
from transcript_mcp.filebox.folders import STATE, MailboxFolder, OpenMailbox
from transcript_mcp.filebox.message import MARKER, parsed

__all__ = ["Intent", "Note", "Sending", "abandoned", "announced"]

_FOLDER: Final = (STATE, "sending")
_EARLIER: Final = (STATE, "pending")
"""The folder of earlier versions, which would remove a copy there as a foreign file; so new copies are elsewhere."""
_OPEN: Final = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Intent(msgspec.Struct, frozen=True):
    """A delivery in progress: the mail's id, its receiver, and the time of the entry being delivered.

    Earlier versions wrote this as JSON instead of the copy.
    """

    id: str
    receiver: str
    time_ms: int


@dataclass(slots=True)
class Note:
    """An unfinished delivery; with ``keep`` it stays in the journal to be finished later."""

    intent: Intent
    keep: bool = False


@dataclass(slots=True)
class Sending:
    """A delivery in progress; with ``keep`` the copy stays in the journal and is moved to the outbox by a repair."""

    sender: OpenMailbox
    name: str
    keep: bool = False

    def into_outbox(self, name: str) -> None:
        """Move the copy to the outbox. Raises MailboxUnavailableError and ConfigError."""
        outbox = self.sender.folder("outbox")
        try:
            os.rename(self.name, name, src_dir_fd=self.sender.folder(*_FOLDER), dst_dir_fd=outbox)
            self.sender.mailbox.force(outbox)
        except OSError as error:
            self.sender.mailbox.failed(f"write outbox/{shown_name(name)}", error)


@contextmanager
def announced(sender: OpenMailbox, text: bytes) -> Iterator[Sending]:
    """Keep the sender's copy in the journal during the block. Raises MailboxUnavailableError and ConfigError."""
    folder = sender.folder(*_FOLDER)
    name, descriptor = _begun(sender, folder)
    sending = Sending(sender, name)
    try:
        try:
            fill(sender.mailbox, descriptor, text)
        except OSError as error:
            sender.mailbox.failed("note what is sent", error)
        yield sending
    finally:
        if not sending.keep:
            with suppress(OSError):
                os.unlink(name, dir_fd=folder)
        os.close(descriptor)


def abandoned(sender: MailboxFolder) -> Iterator[Note]:
    """Deliveries of crashed processes. Each is locked while the caller handles it, then removed unless ``keep``."""
    for place in (_FOLDER, _EARLIER):
        with sender.looked_at(*place) as folder:
            for name in names(folder):
                try:
                    descriptor = os.open(name, _OPEN, dir_fd=folder)
                except OSError:
                    continue  # the delivery has just ended
                try:
                    yield from _locked(folder, name, descriptor)
                finally:
                    os.close(descriptor)


def _begun(sender: OpenMailbox, folder: int) -> tuple[str, int]:
    """A new, empty, locked file.

    Between creating and locking it, ``abandoned`` of another process may lock it or remove it; then another is created.
    """
    while True:
        name = f"{unused_name()}.md"
        try:
            descriptor = to_create(name, folder)
        except OSError as error:
            sender.mailbox.failed("note what is sent", error)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
        except OSError as error:
            os.close(descriptor)
            with suppress(OSError):
                os.unlink(name, dir_fd=folder)
            sender.mailbox.failed("note what is sent", error)
        else:
            if os.fstat(descriptor).st_nlink:
                return name, descriptor
            os.close(descriptor)


def _locked(folder: int | None, name: str, descriptor: int) -> Iterator[Note]:
    assert folder is not None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        taken = read(folder, name)
    except OSError:
        return  # locked: its delivery is still running
    if taken is None:
        return
    intent = _intent(taken.body)
    note = Note(intent) if intent is not None else None
    if note is not None:
        yield note
    if note is None or not note.keep:
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)


def _intent(body: bytes) -> Intent | None:
    """The delivery that a file describes; None for a foreign file, or one that was not written completely."""
    with suppress(msgspec.MsgspecError):
        return msgspec.json.decode(body, type=Intent)
    text = body.decode("utf-8", "replace")
    mail = parsed("", text, (0, 0, 0))
    complete = mail.id and mail.receiver and MARKER in text
    return Intent(mail.id, mail.receiver, mail.time_ms) if complete else None
