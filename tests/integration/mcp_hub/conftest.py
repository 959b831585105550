"""A hub that is ended with the test."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest_asyncio
from aiohttp import ClientSession
from support.hubs import listening, mailbox_server, small_server

from nanobot_transcript.settings import Settings
from transcript_mcp.hub import create_app
from transcript_mcp.room import OpenRoom

StartHub = Callable[..., Awaitable[str]]


@pytest_asyncio.fixture
async def hub() -> AsyncIterator[StartHub]:
    """``await hub(tokens={"laptop": "…"})`` starts a hub with these settings and returns its address."""
    async with AsyncExitStack() as stack:

        async def start(filebox: dict[str, Any] | None = None, **settings: Any) -> str:
            chosen = Settings.model_validate({"hub": settings, "filebox": filebox or {}})
            rooms = {"small": OpenRoom(small_server()), "filebox": OpenRoom(mailbox_server())}
            return await stack.enter_async_context(listening(create_app(chosen, rooms)))

        yield start


@pytest_asyncio.fixture
async def http() -> AsyncIterator[ClientSession]:
    """A client without headers of its own."""
    async with ClientSession() as session:
        yield session
