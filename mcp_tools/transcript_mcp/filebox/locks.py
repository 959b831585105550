"""One writer at a time where threads are changed. New mail needs no lock, because its name is nobody else's."""

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from nanobot_transcript.errors import MailboxBusyError
from nanobot_transcript.store.jsonl.lock import acquire
from transcript_mcp.filebox.folders import STATE, MailboxFolder

__all__ = ["locked"]

_LOCK: Final = "lock"
_OPEN: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@contextmanager
def locked(mailboxes: Iterable[MailboxFolder], wait: float) -> Iterator[None]:
    """Hold the locks of these mailboxes, taken in one order by everybody, so that nobody waits in a circle.

    Raises MailboxBusyError after ``wait`` seconds. A killed holder's locks are free at once.
    """
    deadline = time.monotonic() + wait
    wanted = {mailbox.key: mailbox for mailbox in mailboxes}
    with ExitStack() as held:
        for key in sorted(wanted):
            descriptor = _open(wanted[key])
            held.callback(os.close, descriptor)
            if not acquire(descriptor, max(0.0, deadline - time.monotonic())):
                raise MailboxBusyError(
                    f"The mailbox of {wanted[key].agent} has been in use by another process for {wait:g} seconds.",
                    hint="Nothing was changed. Try again in a moment.",
                )
        yield


def _open(mailbox: MailboxFolder) -> int:
    with mailbox.opened(STATE) as state:
        try:
            return os.open(_LOCK, _OPEN, 0o600, dir_fd=state)
        except OSError as error:
            mailbox.failed("lock it", error)
