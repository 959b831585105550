"""From the inbox to ``done`` or ``cancel``. What already lies there under the name is never overwritten."""

import os
from typing import Final, NamedTuple

import msgspec

from nanobot_transcript.errors import MailNotFoundError
from transcript_mcp.filebox.file_names import numbered, shown_name
from transcript_mcp.filebox.files import exists, read, write
from transcript_mcp.filebox.folders import MailboxFolder
from transcript_mcp.filebox.locks import locked
from transcript_mcp.filebox.message import parsed
from transcript_mcp.filebox.thread import joined
from transcript_mcp.filebox.values import Box, Mail
from transcript_mcp.filebox.view import look_at

__all__ = ["move"]

_ENCODING: Final = ("utf-8", "surrogateescape")


class _Joined(NamedTuple):
    text: bytes
    changed: bool
    """True when it is not what lies in the inbox."""


def move(mailbox: MailboxFolder, name: str, to: Box, lock_wait: float) -> Mail:
    """Move one mail out of the inbox; the mail, with the name it has now.

    An earlier copy of the same thread that lies there is joined with it; another mail of that name keeps it. Raises
    MailNotFoundError, MailboxBusyError, MailboxUnavailableError and ConfigError.
    """
    with locked([mailbox], lock_wait), mailbox.entered() as opened:
        inbox = opened.folder("inbox")
        mail = look_at(inbox, name)
        if mail is None:
            raise MailNotFoundError(
                f"Message not found: {shown_name(name)} is not in the inbox of {mailbox.agent}.",
                hint="List the inbox; perhaps it was resolved, rejected or answered already.",
            )
        target = opened.folder(to)
        try:
            return msgspec.structs.replace(mail, file=shown_name(_put(mailbox, inbox, target, name, to)))
        except OSError as error:
            mailbox.failed(f"move {shown_name(name)} to {to}", error)


def _put(mailbox: MailboxFolder, inbox: int, target: int, name: str, to: Box) -> str:
    """The name under which it lies in the target then."""
    wanted = name
    if exists(target, name):
        both = _joined(inbox, target, name)
        if both is None:
            wanted = next(other for n in range(2, 10_000) if not exists(target, other := numbered(name, n)))
        elif both.changed:
            write(mailbox, to, name, both.text)
            os.unlink(name, dir_fd=inbox)
            return name
    os.rename(name, wanted, src_dir_fd=inbox, dst_dir_fd=target)
    mailbox.force(target)
    mailbox.force(inbox)
    return wanted


def _joined(inbox: int, target: int, name: str) -> _Joined | None:
    """What two copies of one mail know together; None when they are not of one mail."""
    here, there = read(inbox, name), read(target, name)
    if here is None or there is None:
        return None
    texts = [taken.body.decode(*_ENCODING) for taken in (here, there)]
    mails = [parsed(name, text, taken.stamp) for text, taken in zip(texts, (here, there), strict=True)]
    if not mails[0].id or mails[0].id != mails[1].id:
        return None
    newest, older = texts if mails[0].time_ms >= mails[1].time_ms else reversed(texts)
    text = joined(newest, [older])
    return _Joined(text.encode(*_ENCODING), text != texts[0])
