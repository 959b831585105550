"""Waiting for mail: look first, then wait, then look again, so that nothing that arrives in between is missed."""

import asyncio
import time
from dataclasses import replace
from typing import Final

from transcript_mcp.filebox.mailbox import Mailbox
from transcript_mcp.filebox.values import Page

__all__ = ["wait_for_mail"]

_GLANCE_EVERY: Final = 0.1
_BEING_WRITTEN: Final = 1_000_000_000  # ns
_LOOK_EVERY: Final = 1.0  # a program that writes over a file in place does not change the folder


async def wait_for_mail(mailbox: Mailbox, timeout: float, since_ms: int = 0) -> Page:  # noqa: ASYNC109 - not for errors
    """The unread mail of the inbox (newer than ``since_ms``): at once if there is any, else as soon as some comes.

    Empty after ``timeout`` seconds. What was read does not count, until its thread goes on.
    """
    end = time.monotonic() + timeout
    while True:
        version = mailbox.inbox_version()
        page = _written(await asyncio.to_thread(mailbox.page, "inbox", unread=True, since_ms=since_ms))
        left = end - time.monotonic()
        if page.mails or left <= 0:
            return page
        await _change(mailbox, version, min(left, _LOOK_EVERY))


def _written(page: Page) -> Page:
    """Without what another program may be in the middle of writing; if that is all of it, it comes the next time."""
    recent = time.time_ns() - _BEING_WRITTEN
    mails = [mail for mail in page.mails if not mail.problem or mail.stamp[0] < recent]
    return replace(page, mails=mails, total=page.total - len(page.mails) + len(mails))


async def _change(mailbox: Mailbox, version: object, longest: float) -> None:
    end = time.monotonic() + longest
    while (left := end - time.monotonic()) > 0 and mailbox.inbox_version() == version:  # noqa: ASYNC110 - files
        await asyncio.sleep(min(left, _GLANCE_EVERY))
