"""Locks of mailboxes, for changing threads. New mail needs no lock, because its file name is unique."""

import os
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from nanobot_transcript.errors import MailboxBusyError
from nanobot_transcript.files.descriptors import to_append
from nanobot_transcript.files.lock import acquire
from transcript_mcp.filebox.folders import STATE, MailboxFolder

__all__ = ["locked"]

_LOCK: Final = "lock"
_MOST_WAITING: Final = 8

_mutex: Final = threading.Lock()
_waiting: Final[Counter[str]] = Counter()
"""Waiting threads of this process, by mailbox. The pool is shared: one busy mailbox must not use up all threads."""


@contextmanager
def locked(mailboxes: Iterable[MailboxFolder], wait: float) -> Iterator[None]:
    """Hold the locks of these mailboxes, always taken in the same order to avoid deadlocks.

    Raises MailboxBusyError after ``wait`` seconds, or at once when eight threads of this process are waiting already.
    The kernel frees the locks of a killed process.
    """
    deadline = time.monotonic() + wait
    wanted = {mailbox.key: mailbox for mailbox in mailboxes}
    with ExitStack() as held:
        for key in sorted(wanted):
            descriptor = _open(wanted[key])
            held.callback(os.close, descriptor)
            if not acquire(descriptor, 0.0):
                with _queue(wanted[key]):
                    if not acquire(descriptor, max(0.0, deadline - time.monotonic())):
                        raise _busy(f"{wanted[key].agent} has been in use by another process for {wait:g} seconds.")
        yield


@contextmanager
def _queue(mailbox: MailboxFolder) -> Iterator[None]:
    """Count a thread of this process that waits for a mailbox, up to the limit."""
    with _mutex:
        if _waiting[mailbox.key] >= _MOST_WAITING:
            raise _busy(f"{mailbox.agent} is in use, and {_MOST_WAITING} calls are already waiting for it.")
        _waiting[mailbox.key] += 1
    try:
        yield
    finally:
        with _mutex:
            _waiting[mailbox.key] -= 1
            if not _waiting[mailbox.key]:
                del _waiting[mailbox.key]


def _busy(whose: str) -> MailboxBusyError:
    return MailboxBusyError(f"The mailbox of {whose}", hint="Nothing was changed. Try again in a moment.")


def _open(mailbox: MailboxFolder) -> int:
    with mailbox.opened(STATE) as state:
        try:
            return to_append(_LOCK, state)
        except OSError as error:
            mailbox.failed("lock it", error)
