"""Hubs that serve the IO bridge: one for all tests of a module, and processes that are ended with their test."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import pytest_asyncio
from aiohttp import ClientSession
from support.io_hub import Person
from support.mail_hub import HubProcess

StartHub = Callable[..., HubProcess]


@pytest.fixture
def start_hub(tmp_path: Path) -> Iterator[StartHub]:
    """``start_hub(VARIABLE="value")``: one more hub on the test's folder."""
    with ExitStack() as stack:

        def start(**variables: str) -> HubProcess:
            return stack.enter_context(HubProcess(tmp_path, tmp_path / "mail", **variables))

        yield start


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    """The hub of the module."""
    home = tmp_path_factory.mktemp("hub")
    with HubProcess(home, home / "mail", NANOBOT_TRANSCRIPT_IO__MAX_ITEMS="50") as started:
        yield started


@pytest_asyncio.fixture
async def person(hub: HubProcess) -> AsyncIterator[Person]:
    """Somebody at the module's hub."""
    async with ClientSession() as http:
        yield Person(http, hub.root)
