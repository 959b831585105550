"""Waiting for mail: look first, then wait, then look again, so that nothing that arrives in between is missed."""

import asyncio
import time
from contextlib import suppress
from dataclasses import replace
from typing import Final

from nanobot_transcript.threads import in_thread
from transcript_mcp.filebox.mailbox import Mailbox
from transcript_mcp.filebox.values import Page

__all__ = ["wait_for_mail"]

_BEING_WRITTEN: Final = 1.0


async def wait_for_mail(mailbox: Mailbox, timeout: float, since_ms: int = 0) -> Page:  # noqa: ASYNC109 - not for errors
    """The unread mail of the inbox (newer than ``since_ms``): at once if there is any, else as soon as some comes.

    Empty after ``timeout`` seconds. What was read does not count, until its thread goes on.
    """
    loop, changed = asyncio.get_running_loop(), asyncio.Event()
    end = loop.time() + timeout

    def told() -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(changed.set)

    stop = mailbox.listen(told)
    try:
        while True:
            changed.clear()
            found = await in_thread(mailbox.page, "inbox", unread=True, since_ms=since_ms)
            page = _written(found)
            left = end - loop.time()
            if page.mails or left <= 0:
                return page
            with suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), min(left, _BEING_WRITTEN) if found.mails else left)
    finally:
        stop()


def _written(page: Page) -> Page:
    """Without what another program may be in the middle of writing; if that is all of it, it comes the next time."""
    recent = time.time_ns() - int(_BEING_WRITTEN * 1e9)
    mails = [mail for mail in page.mails if not mail.problem or mail.stamp[0] < recent]
    return replace(page, mails=mails, total=page.total - len(page.mails) + len(mails))
