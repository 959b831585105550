"""Playwright's ``expect``, which waits until a page shows what it should; a plain ``assert`` looks once, too early."""

from typing import TYPE_CHECKING

from browser.people import BOUND

if TYPE_CHECKING:
    from playwright.sync_api import Locator, LocatorAssertions


def expect(found: "Locator", about: str | None = None) -> "LocatorAssertions":
    """What is to hold of ``found`` within `BOUND`; ``about`` begins the message where it does not.

    Imported when called: without Playwright these tests are skipped.
    """
    from playwright.sync_api import expect as expecting

    expecting.set_options(timeout=BOUND)
    return expecting(found, about)
