"""Windows of the browser, and the pages in them."""

from itertools import chain
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from browser.people import BOUND

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

__all__ = ["BROKEN_LINE", "FLAGS", "OpenPage", "Windows"]

FLAGS = ["--no-sandbox", "--disable-gpu", "--in-process-gpu", "--renderer-process-limit=1"]
"""A process less is a tenth of the work, and a page in a process that has shown one costs half of the first."""

BROKEN_LINE = ("net::ERR", "WebSocket connection to")
"""What the browser itself says of one."""


class Windows:
    """Windows that keep nothing from one test to the next, but the process that draws them."""

    def __init__(self, browser: "Browser", hub: str) -> None:
        self._browser = browser
        self._hub = hub
        self._idle: dict[str, list[BrowserContext]] = {}

    def take(self, **options: Any) -> "BrowserContext":
        """A window nobody else has, made with these options of Playwright's ``new_context``."""
        idle = self._idle.setdefault(repr(options), [])
        if idle:
            return idle.pop()
        window = self._browser.new_context(**options)
        window.new_page().goto(f"{self._hub}/favicon.svg")  # keeps the process alive
        return window

    def give_back(self, window: "BrowserContext", **options: Any) -> None:
        """Close its pages and forget what they kept, permissions and all."""
        first, *others = window.pages
        addresses = [self._hub, *(page.url for page in others)]
        for page in others:
            page.close()
        window.set_offline(False)
        window.clear_permissions()
        window.clear_cookies()
        memory = window.new_cdp_session(first)
        for origin in {f"{parts.scheme}://{parts.netloc}" for parts in map(urlsplit, addresses) if parts.netloc}:
            memory.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
        memory.detach()
        self._idle[repr(options)].append(window)

    def close(self) -> None:
        """All of them."""
        for window in chain.from_iterable(self._idle.values()):
            window.close()


class OpenPage:
    """``open_page("#/groups")`` in a window of its own.

    ``wrong`` is what pages have logged as errors, ``expected`` pieces of those that are none of theirs.
    """

    def __init__(self, windows: Windows, hub: str) -> None:
        self.wrong: list[str] = []
        self.expected: tuple[str, ...] = ()
        self._windows = windows
        self._hub = hub
        self._taken: list[tuple[BrowserContext, dict[str, Any] | None]] = []

    def __call__(
        self,
        place: str = "",
        *,
        base: str = "",
        phone: bool = False,
        width: int | None = None,
        dark: bool = False,
        language: str = "en-US",
        script: str = "",
        clock: bool = False,
    ) -> "Page":
        """A page of the hub, or of the one at ``base``. ``script`` runs before the page's own. With a ``clock`` of its
        own (``page.clock``), which belongs to its window, nobody else has that window afterwards.
        """
        size = {"width": 390, "height": 844} if phone else {"width": 1360, "height": 850}
        if width is not None:
            size = {"width": width, "height": 800}
        theme = "dark" if dark else "light"
        options: dict[str, Any] = {"viewport": size, "color_scheme": theme, "locale": language, "has_touch": phone}
        window = self._windows.take(**options)
        self._taken.append((window, None if clock else options))
        page = window.new_page()
        if clock:
            page.clock.install()
        page.add_init_script(script)
        page.set_default_timeout(BOUND)
        page.on("console", lambda said: self.wrong.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.goto(f"{base or self._hub}/{place}")
        return page

    def close(self) -> None:
        """All windows."""
        for window, options in self._taken:
            if options is None:
                window.close()
            else:
                self._windows.give_back(window, **options)
