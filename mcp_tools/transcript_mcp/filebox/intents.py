"""What is being delivered, so that a delivery that was killed in the middle can be finished.

The sender's copy is written first, outside the boxes, and locked by the process that delivers. Once the mail has
arrived, the copy is moved to the outbox. A copy that nobody holds any more is an accident: its mail has arrived without
a copy in the sender's outbox, or has not arrived at all.
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
"""Where earlier versions left their notes; they would take a copy there for somebody else's file, and remove it."""
_OPEN: Final = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Intent(msgspec.Struct, frozen=True):
    """A mail on its way to an agent: its id, and the time of the entry that is on the way.

    Earlier versions left this itself behind, as JSON, in place of the copy.
    """

    id: str
    receiver: str
    time_ms: int


@dataclass(slots=True)
class Note:
    """A delivery that was begun; ``keep`` leaves its traces behind for somebody to finish the work."""

    intent: Intent
    keep: bool = False


@dataclass(slots=True)
class Sending:
    """A delivery that goes on; ``keep`` leaves the copy where it is, to be put into the outbox another time."""

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
    """Keep the sender's copy for as long as the block runs. Raises MailboxUnavailableError and ConfigError."""
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
    """Deliveries that nobody goes on with, each held while it is looked at and forgotten after that unless ``keep``."""
    for place in (_FOLDER, _EARLIER):
        with sender.looked_at(*place) as folder:
            for name in names(folder):
                try:
                    descriptor = os.open(name, _OPEN, dir_fd=folder)
                except OSError:
                    continue  # its delivery has just ended
                try:
                    yield from _held(folder, name, descriptor)
                finally:
                    os.close(descriptor)


def _begun(sender: OpenMailbox, folder: int) -> tuple[str, int]:
    """An empty file of our own, locked.

    Whoever looks for abandoned ones may be quicker: it holds the file, or has removed it. Then there is another.
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


def _held(folder: int | None, name: str, descriptor: int) -> Iterator[Note]:
    assert folder is not None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        taken = read(folder, name)
    except OSError:
        return  # somebody is at it
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
    """What a file says of the mail that is on its way; None for one that is not ours, or was killed while written."""
    with suppress(msgspec.MsgspecError):
        return msgspec.json.decode(body, type=Intent)
    text = body.decode("utf-8", "replace")
    mail = parsed("", text, (0, 0, 0))
    complete = mail.id and mail.receiver and MARKER in text
    return Intent(mail.id, mail.receiver, mail.time_ms) if complete else None
