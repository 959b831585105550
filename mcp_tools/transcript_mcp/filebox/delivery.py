"""Sends mail: writes to the receiver's inbox, then to the sender's outbox, then removes outdated copies.

If the process is killed at any moment, the worst result is a delivered mail without a copy in the outbox; never a mail
that claims to be sent but was not delivered, and never a thread without its newest text. A new mail costs two files,
each written once and renamed once; until the end, the sender's file is the intent from which a crash is repaired.
"""

import os
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from nanobot_transcript.errors import ConfigError, InvalidMailError, MailboxUnavailableError, MailNotFoundError
from transcript_mcp.filebox.cache import Views
from transcript_mcp.filebox.delivery_journal import announced
from transcript_mcp.filebox.file_names import file_name, numbered, shown_name
from transcript_mcp.filebox.files import LARGEST, exists, put
from transcript_mcp.filebox.folders import MailboxFolder, OpenMailbox
from transcript_mcp.filebox.locks import locked
from transcript_mcp.filebox.mail_copies import Copy, copies_of
from transcript_mcp.filebox.message import new_message, timestamp
from transcript_mcp.filebox.options import FileBoxOptions
from transcript_mcp.filebox.thread import entries, joined, with_reply
from transcript_mcp.filebox.values import Draft, Sent

__all__ = ["remove", "reply", "send_new"]

_TOLERATED_FUTURE: Final = 300_000  # ms; a time further ahead is a mistake and not waited for


def send_new(draft: Draft, sender: MailboxFolder, receiver: MailboxFolder, now_ms: int) -> Sent:
    """Deliver a new mail. Raises InvalidMailError, MailboxUnavailableError and ConfigError; then nothing was sent."""
    with receiver.entered() as theirs, sender.entered() as own:
        message_id, name = _unused_name(draft, theirs.folder("inbox"), now_ms)
        text = new_message(draft, message_id, timestamp(now_ms)).encode("utf-8", "surrogateescape")
        if len(text) > LARGEST:
            raise InvalidMailError(
                f"With its header the message would have {len(text):,} bytes; {LARGEST:,} are allowed.",
                hint="Put long text into a file and send its path, or send several messages.",
            )
        note = _deliver(own, theirs, name, text)
    return Sent(message_id, name, sender.agent, receiver.agent, reply=False, note=note)


def reply(
    draft: Draft, sender: MailboxFolder, receiver: MailboxFolder, views: Views, options: FileBoxOptions, now_ms: int
) -> tuple[Sent, str]:
    """Add an entry to the top of a thread and deliver it. Returns the thread's title, too.

    The text is built from the newest copy in either mailbox, merged with entries that only older copies have.
    Afterwards the receiver has the thread in the inbox, the sender in the outbox, and neither has another copy. Unless
    ``options.run_as`` is ``any``, agents that take no part in a thread do not find it. Raises MailNotFoundError,
    InvalidMailError, MailboxBusyError, MailboxUnavailableError and ConfigError.
    """
    with locked([sender, receiver], options.lock_wait):
        copies = copies_of(draft.original_id, [receiver, sender], views, whole=True)
        if not copies or not (options.run_as == "any" or _takes_part(sender, copies)):
            raise MailNotFoundError(
                f"Original message {draft.original_id} not found in the mailboxes of {sender.agent} and "
                f"{receiver.agent}.",
                hint="Take the whole Message ID from the message's header; for a new message leave it out.",
            )
        base = copies[0]
        moment = _later(now_ms, base.mail.time_ms)
        text = _grown(draft, copies, timestamp(moment), options)
        name = _name_for(base.name, copies, sender, receiver)
        with receiver.entered() as theirs, sender.entered() as own:
            note = _deliver(own, theirs, name, text, _outdated(copies, name, sender, receiver))
    return Sent(base.mail.id, shown_name(name), sender.agent, receiver.agent, reply=True, note=note), base.mail.title


def remove(copies: Sequence[Copy]) -> str:
    """Remove outdated copies. Returns a sentence if one could not be removed."""
    for copy in copies:
        try:
            with copy.mailbox.looked_at(copy.box) as folder:
                if folder is not None:
                    os.unlink(copy.name, dir_fd=folder)
        except FileNotFoundError:
            continue
        except OSError as error:
            return f"An older copy stays in {copy.box} of {copy.mailbox.agent}: {error.strerror}."
    return ""


def _deliver(own: OpenMailbox, theirs: OpenMailbox, name: str, text: bytes, outdated: Sequence[Copy] = ()) -> str:
    """Write both copies and remove the old ones. Returns a sentence if anything but the delivery failed."""
    with announced(own, text) as sending:
        put(theirs, "inbox", name, text)
        try:
            if not outdated:
                sending.into_outbox(name)
                return ""
            put(own, "outbox", name, text)  # the intent stays until the old copies are removed
        except (MailboxUnavailableError, ConfigError) as error:
            sending.keep = True
            return f"It was delivered, but the copy in your outbox is missing for now: {error}"
        return remove(outdated)


def _unused_name(draft: Draft, inbox: int, now_ms: int) -> tuple[str, str]:
    while True:
        message_id = str(uuid.uuid4())
        name = file_name(datetime.fromtimestamp(now_ms / 1000, UTC), draft.type, draft.title, message_id)
        if not exists(inbox, name):
            return message_id, name


def _takes_part(sender: MailboxFolder, copies: Sequence[Copy]) -> bool:
    """True if the sender has a copy or is named in an entry: knowing the id alone must not give access to a thread."""
    if any(copy.mailbox.key == sender.key for copy in copies):
        return True
    written = (entry for copy in copies for entry in entries(copy.text))
    return any(sender.agent in (entry.sender, entry.receiver) for entry in written)


def _later(now_ms: int, before_ms: int) -> int:
    """A time for the reply that is later than the original's: copies are ordered by it."""
    return max(now_ms, before_ms + 1) if before_ms <= now_ms + _TOLERATED_FUTURE else now_ms


def _grown(draft: Draft, copies: Sequence[Copy], time: str, options: FileBoxOptions) -> bytes:
    newest = copies[0].text
    base = joined(newest, [copy.text for copy in copies[1:] if copy.text != newest])
    text = with_reply(base, draft, time).encode("utf-8", "surrogateescape")
    if len(text) > (most := min(options.max_thread, LARGEST)):
        raise InvalidMailError(
            f"With this reply the thread would have {len(text):,} bytes; {most:,} are allowed.",
            hint="Send a new message that refers to this one.",
        )
    return text


def _name_for(name: str, copies: Sequence[Copy], sender: MailboxFolder, receiver: MailboxFolder) -> str:
    """The thread's file name, or a numbered one if another mail has that name in the boxes concerned."""
    own = {(copy.mailbox.key, copy.box, copy.name) for copy in copies}
    candidates = [name, *(numbered(name, number) for number in range(2, 100))]
    return next(
        (
            candidate
            for candidate in candidates
            if _is_free(receiver, "inbox", candidate, own) and _is_free(sender, "outbox", candidate, own)
        ),
        candidates[-1],
    )


def _is_free(mailbox: MailboxFolder, box: str, name: str, own: set[tuple[str, str, str]]) -> bool:
    with mailbox.looked_at(box) as folder:
        return (mailbox.key, box, name) in own or folder is None or not exists(folder, name)


def _outdated(copies: Sequence[Copy], name: str, sender: MailboxFolder, receiver: MailboxFolder) -> list[Copy]:
    new = {(receiver.key, "inbox", name), (sender.key, "outbox", name)}
    return [copy for copy in copies if (copy.mailbox.key, copy.box, copy.name) not in new]
