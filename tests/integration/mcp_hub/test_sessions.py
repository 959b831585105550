"""How many sessions of MCP clients there may be at a time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import ClientSession, web
from aiohttp.test_utils import make_mocked_request
from aiohttp.typedefs import Handler
from support.hubs import listening, small_server
from support.waiting import until

from transcript_mcp.door.address import Addresses
from transcript_mcp.door.errors import RequestError
from transcript_mcp.door.guard import Door, Entrances, guard
from transcript_mcp.door.identity import Tokens
from transcript_mcp.hub.mounts import Mount
from transcript_mcp.hub.sessions import McpSessions

pytestmark = pytest.mark.mcp

BOTH = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
CLIENT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": CLIENT}


class Hub:
    """Two addresses of one hub, in which two sessions may be open."""

    def __init__(self) -> None:
        self.now = 100.0
        self.url = ""
        self.posts = 0
        self.sessions = McpSessions(2, 60.0, clock=lambda: self.now)

    async def __aenter__(self) -> "Hub":
        self._stack = AsyncExitStack()
        door, entrances = Door(Tokens(local=True), Addresses("127.0.0.1")), Entrances()
        app = web.Application(middlewares=[self._counting, guard(door, 1 << 20, entrances)])
        for path in ("/mcp", "/mcp/small"):
            mount = Mount(small_server(), ["small"], 1 << 20, lambda *_: None, self.sessions)
            entrances.add("mcp", app.router.add_routes([web.route("*", path, mount.handle)]), mount.names)
            await self._stack.enter_async_context(mount.running())
        self.url = await self._stack.enter_async_context(listening(app))
        return self

    @web.middleware
    async def _counting(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        self.posts += request.method == "POST"
        try:
            return await handler(request)
        finally:
            self.posts -= request.method == "POST"

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()


@pytest_asyncio.fixture
async def small() -> AsyncIterator[Hub]:
    """The hub."""
    async with Hub() as hub:
        yield hub


async def begun(http: ClientSession, hub: Hub, path: str = "/mcp") -> tuple[int, dict[str, str], Any]:
    async with http.post(hub.url + path, json=HELLO, headers=BOTH) as answer:
        session = {"Mcp-Session-Id": answer.headers.get("Mcp-Session-Id", "")}
        told = await answer.json() if answer.content_type == "application/json" else None
    await until(lambda: not hub.posts)  # a client has its answer a little before the hub is done with it
    return answer.status, BOTH | session, told


async def test_there_are_no_more_than_there_may_be_at_all_addresses_together(http: ClientSession, small: Hub) -> None:
    assert (await begun(http, small))[0] == 200
    _, second, _ = await begun(http, small, "/mcp/small")
    for path in ("/mcp", "/mcp/small"):
        status, _, told = await begun(http, small, path)
        assert (status, told["error"]["code"]) == (503, "too_many_sessions")
        assert told["error"]["hint"]
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "whoami", "arguments": {}}}
    async with http.post(f"{small.url}/mcp", json=call) as answer:
        assert answer.status == 200  # a call without a session needs no room
    async with http.delete(f"{small.url}/mcp/small", headers=second) as answer:
        assert answer.status == 200
    assert (await begun(http, small))[0] == 200


async def test_a_session_of_which_nothing_is_heard_makes_room_and_one_that_listens_does_not(
    http: ClientSession, small: Hub
) -> None:
    _, first, _ = await begun(http, small)
    await begun(http, small)
    async with http.get(f"{small.url}/mcp", headers=first) as stream:
        assert stream.status == 200
        small.now += 61
        assert (await begun(http, small))[0] == 200
        assert (await begun(http, small))[0] == 503


async def test_a_client_that_listens_before_its_session_is_listed_keeps_it() -> None:
    now = 100.0
    sessions = McpSessions(1, 60.0, clock=lambda: now)
    known = make_mocked_request("GET", "/mcp", {"Mcp-Session-Id": "s-1"})
    listening_ends = asyncio.Event()
    streams: list[asyncio.Task[web.StreamResponse]] = []

    async def listened() -> web.StreamResponse:
        await listening_ends.wait()
        return web.Response()

    async def answered() -> web.StreamResponse:
        streams.append(asyncio.create_task(sessions.go_on(known, listened)))
        await asyncio.sleep(0)
        return web.Response(headers={"Mcp-Session-Id": "s-1"})

    async def refused() -> web.StreamResponse:
        raise AssertionError("there is no room")

    assert (await sessions.begin(answered)).status == 200
    now += 61
    with pytest.raises(RequestError, match="the limit"):
        await sessions.begin(refused)
    listening_ends.set()
    await streams[0]
    now += 61
    assert (await sessions.begin(answered)).status == 200
    await streams[1]


async def test_a_session_that_is_ended_before_it_is_listed_takes_no_room() -> None:
    sessions = McpSessions(1, 60.0)
    ending = make_mocked_request("DELETE", "/mcp", {"Mcp-Session-Id": "s-1"})

    async def answered() -> web.StreamResponse:
        assert (await sessions.go_on(ending, ended)).status == 200
        return web.Response(headers={"Mcp-Session-Id": "s-1"})

    async def ended() -> web.StreamResponse:
        return web.Response()

    for _ in range(3):
        assert (await sessions.begin(answered)).status == 200


async def test_what_opens_no_session_takes_no_room(http: ClientSession, small: Hub) -> None:
    for _ in range(3):
        async with http.get(f"{small.url}/mcp", headers={"Accept": "text/event-stream"}) as answer:
            assert answer.status == 400
        async with http.post(f"{small.url}/mcp", json=HELLO | {"params": 5}, headers=BOTH) as answer:
            await answer.read()
            assert "Mcp-Session-Id" not in answer.headers or answer.status >= 400
    assert [(await begun(http, small))[0] for _ in range(3)] == [200, 200, 503]
