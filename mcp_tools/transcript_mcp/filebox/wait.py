"""Waits for mail: listens first, then looks, so that nothing that arrives in between is missed."""

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
    """The unread mail of the inbox (newer than ``since_ms``), at once if there is any, else as soon as some arrives.

    Empty after ``timeout`` seconds. Read mail counts again when its thread continues.
    """
    loop, changed = asyncio.get_running_loop(), asyncio.Event()
    end = loop.time() + timeout

    def told() -> None:
        with suppress(RuntimeError):  # the event loop is closed
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
    """The page without broken mails written less than a second ago: another program may still be writing them."""
    recent = time.time_ns() - int(_BEING_WRITTEN * 1e9)
    mails = [mail for mail in page.mails if not mail.problem or mail.stamp[0] < recent]
    return replace(page, mails=mails, total=page.total - len(page.mails) + len(mails))
