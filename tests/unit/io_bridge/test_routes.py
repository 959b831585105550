"""An output belongs to whoever it reached, and to the next reader when that was nobody."""

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import pytest_asyncio
from aiohttp import web
from support.hubs import listening

from transcript_mcp.door.address import Addresses
from transcript_mcp.door.guard import Door, Entrances, guard
from transcript_mcp.door.identity import Tokens
from transcript_mcp.io_bridge.bridge import Bridge
from transcript_mcp.io_bridge.routes import QueueRoutes

PATIENCE = 30.0


class Place:
    """The routes of a bridge behind an open door. With ``hangs_up`` readers leave before they are answered."""

    def __init__(self, bridge: Bridge) -> None:
        door = Door(Tokens(local=True), Addresses("127.0.0.1"))
        self.app = web.Application(middlewares=[guard(door, 1 << 20, Entrances())])
        self.app.add_routes(QueueRoutes(bridge)())
        self.app.on_response_prepare.append(self._prepared)
        self.hangs_up = False
        self.url = ""

    async def _prepared(self, request: web.Request, response: web.StreamResponse) -> None:
        if self.hangs_up and request.transport is not None:
            request.transport.close()

    async def read(self) -> bytes:
        """What a reader of the output has received when its connection ends. No client that asks again by itself."""
        at = urlsplit(self.url)
        reader, writer = await asyncio.open_connection(at.hostname, at.port)
        writer.write(f"GET /agent/output/s HTTP/1.1\r\nHost: {at.netloc}\r\nConnection: close\r\n\r\n".encode())
        async with asyncio.timeout(PATIENCE):
            received = await reader.read()
        writer.close()
        return received


@pytest_asyncio.fixture
async def place(bridge: Bridge) -> AsyncIterator[Place]:
    """The bridge's routes on a free port."""
    made = Place(bridge)
    async with listening(made.app) as url:
        made.url = url
        yield made


async def test_a_reader_that_leaves_while_it_is_answered_leaves_the_output_to_the_next(
    bridge: Bridge, place: Place
) -> None:
    await bridge.send_output("s", "result")
    place.hangs_up = True
    assert await place.read() == b""
    again = await bridge.read_output("s", wait=PATIENCE)
    assert again is not None
    assert again.text == "result"


async def test_an_output_that_was_read_is_not_there_for_the_next(bridge: Bridge, place: Place) -> None:
    await bridge.send_output("s", "result")
    assert b'{"output": "result"}' in await place.read()
    assert b"404 Not Found" in (await place.read()).splitlines()[0]
