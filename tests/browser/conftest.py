"""A real browser before a real hub: Debian's Chromium, driven by Playwright. Skipped with a reason where there is none.

``WEB_SCREENSHOTS=FOLDER`` keeps a picture of each page.
"""

import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browser.people import Agent
from browser.windows import BROKEN_LINE, FLAGS, OpenPage, Windows
from support.hubs import Served, listening
from support.line import Line
from support.needs import lacks
from support.web_home import WebHome

from transcript_mcp.hub import create_app

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[2]
AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
needs_axe = pytest.mark.skipif(not AXE.exists(), reason=lacks("no axe-core", "make web"))
CHROMIUMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""By how much they cost: one that can show no window takes half the processor time."""


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """One Chromium for the tests of a module. While it is there, Playwright's event loop is this thread's, so that no
    asynchronous test can run."""
    playwright = pytest.importorskip("playwright.sync_api", reason=lacks("no Playwright", "make test"))
    found = next((path for name in CHROMIUMS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(lacks("no Chromium", "apt-get install chromium"))
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=found, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebHome]:
    """The stores that the pages show."""
    found = WebHome(tmp_path_factory.mktemp("home"))
    found.furnish()
    yield found
    found.close()


@pytest.fixture(scope="module")
def hub(home: WebHome, browser: "Browser") -> Iterator[str]:
    """The address of a hub over them; not started where there is no browser."""
    with Served(_hub(home)) as served:
        yield served.address


@pytest.fixture(scope="module")
def locked_hub(home: WebHome, browser: "Browser") -> Iterator[str]:
    """The same behind a token."""
    with Served(_hub(home, hub={"page_token": "token-of-mine"})) as served:
        yield served.address


@pytest.fixture
def serve(home: WebHome, tmp_path: Path, browser: "Browser") -> Iterator[Callable[..., str]]:
    """``serve(assistant={…})`` starts another hub with these settings and questions of its own, and gives its address.

    A test names it before ``open_page``, so that it outlives the pages.
    """
    with ExitStack() as served:

        def serving(**settings: Any) -> str:
            settings["hub"] = {"data_dir": tmp_path / "hub"} | settings.get("hub", {})
            return served.enter_context(Served(_hub(home, **settings))).address

        yield serving


@asynccontextmanager
async def _hub(home: WebHome, **settings: Any) -> AsyncIterator[str]:
    async with listening(create_app(home.settings(**settings))) as address:
        yield address


@pytest.fixture(scope="module")
def windows(browser: "Browser", hub: str) -> Iterator[Windows]:
    """The windows of a module's tests."""
    found = Windows(browser, hub)
    yield found
    found.close()


@pytest.fixture
def open_page(windows: Windows, hub: str) -> Iterator[OpenPage]:
    """Opens pages; one that logs an error fails the test."""
    opening = OpenPage(windows, hub)
    yield opening
    opening.close()
    assert [text for text in opening.wrong if not any(piece in text for piece in opening.expected)] == []


@pytest.fixture
def agent(hub: str) -> Iterator[Agent]:
    """An agent at the hub."""
    with ThreadPoolExecutor(4) as calls:
        agent = Agent(hub, calls)
        yield agent
        agent.leave()


@pytest.fixture
def line(hub: str, open_page: OpenPage) -> Iterator[Line]:
    """A line to the hub that can be cut. That the browser itself says so is no mistake of a page."""
    open_page.expected = BROKEN_LINE
    with Line(hub) as laid:
        yield laid


@pytest.fixture
def picture() -> Callable[["Page", str], None]:
    """Keeps a picture of a page, where pictures are wanted."""

    def keep(page: "Page", name: str) -> None:
        if folder := os.environ.get("WEB_SCREENSHOTS"):
            Path(folder).mkdir(parents=True, exist_ok=True)
            page.screenshot(path=Path(folder) / f"{name}.png")

    return keep
