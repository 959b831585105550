"""One hub over a furnished home for all tests of a module."""

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from aiohttp import ClientSession
from support.hubs import listening
from support.web_home import WebHome

from transcript_mcp.hub import create_app


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebHome]:
    """The stores the hub shows."""
    found = WebHome(tmp_path_factory.mktemp("home"))
    found.furnish()
    yield found
    found.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def page(home: WebHome) -> AsyncIterator[ClientSession]:
    """A client of the hub, as the page is one."""
    async with listening(create_app(home.settings())) as address, ClientSession(address) as session:
        yield session
