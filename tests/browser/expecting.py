"""Playwright's ``expect``, which waits until a page shows what it should; a plain ``assert`` looks once, too early."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from browser.people import BOUND
from support.waiting import PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Locator, LocatorAssertions, Page


def expect(found: "Locator", about: str | None = None) -> "LocatorAssertions":
    """What is to hold of ``found`` within `BOUND`; ``about`` begins the message where it does not.

    Imported when called: without Playwright these tests are skipped.
    """
    from playwright.sync_api import expect as expecting

    expecting.set_options(timeout=BOUND)
    return expecting(found, about)


def until(page: "Page", true: Callable[[], object]) -> None:
    """Return once ``true()`` is, of what a page's routes have noted. Raises TimeoutError when patience is over."""
    give_up = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > give_up:
            raise TimeoutError("it did not happen")
        page.wait_for_timeout(20)  # in which Playwright hears of the page


def drawn(page: "Page") -> None:
    """Return once the page has drawn what it knows, and what came of that: boxes scroll, and say so, before."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
