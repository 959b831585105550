"""HTTP through the bridge: what clients do that are not polite, and how the process ends."""

import asyncio
import io
import json
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from support.loop_clock import later
from support.mcp_server import mount
from support.waiting import PATIENCE, until

from transcript_mcp.sdk import Server, http_app

pytestmark = pytest.mark.mcp

HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


class HttpClient:
    """Plain HTTP, as a client without an SDK would do it."""

    def __init__(self, http: aiohttp.ClientSession, url: str, **headers: str) -> None:
        self._http = http
        self._url = url
        self.headers = HEADERS | headers
        self._id = 0

    def post(self, method: str, /, **params: Any) -> Any:
        """A request (aiohttp's, to be awaited or used with ``async with``)."""
        self._id += 1
        body = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}
        return self._http.post(
            self._url, data=io.BytesIO(json.dumps(body, ensure_ascii=False).encode()), headers=self.headers
        )

    def stream(self) -> Any:
        """The stream on which a server tells things by itself."""
        return self._http.get(self._url, headers=self.headers)

    async def begin(self) -> None:
        """The handshake."""
        self.headers.pop("Mcp-Session-Id", None)
        client = {"name": "plain", "version": "0"}
        async with self.post(
            "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client
        ) as response:
            assert response.status == 200, await response.text()
            self.headers["Mcp-Session-Id"] = response.headers["Mcp-Session-Id"]
        body = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        async with self._http.post(self._url, json=body, headers=self.headers) as response:
            assert response.status == 202

    async def ask(self, method: str, /, **params: Any) -> Any:
        """The result of a request."""
        async with self.post(method, **params) as response:
            text = await response.text()
        data = text if text.startswith("{") else text.split("data: ", 1)[1].splitlines()[0]
        return json.loads(data)["result"]

    async def call(self, tool: str, /, **arguments: Any) -> str:
        """The text of a tool's answer."""
        return (await self.ask("tools/call", name=tool, arguments=arguments))["content"][0]["text"]


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    """Closed at the end."""
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(PATIENCE)) as session:
        yield session


async def repeated(true: Callable[[], Awaitable[bool]], pause: float = 0.1) -> None:
    """Ask until it is true; fails after the deadline."""
    async with asyncio.timeout(PATIENCE):
        while not await true():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(pause)


async def test_without_sessions_a_call_needs_no_handshake(shared_server: Any, http: aiohttp.ClientSession) -> None:
    client = HttpClient(http, shared_server.url("/plain"))
    assert await client.call("echo", text="小") == "小"
    async with client.post("tools/call", name="echo", arguments={"text": "小"}) as response:
        assert response.content_type == "application/json"


async def test_a_session_belongs_to_whoever_opened_it(shared_server: Any, http: aiohttp.ClientSession) -> None:
    ada = HttpClient(http, shared_server.url(), **{"X-Caller": "ada"})
    await ada.begin()
    assert await ada.call("who") == "token/ada with plain"
    for name in ("bo", ""):
        thief = HttpClient(http, shared_server.url())
        thief.headers = ada.headers | {"X-Caller": name}
        async with thief.post("tools/call", name="who", arguments={}) as response:
            assert response.status == 404
    assert await ada.call("who") == "token/ada with plain"


async def test_a_client_that_leaves_during_a_call_disturbs_nobody(
    shared_server: Any, http: aiohttp.ClientSession
) -> None:
    client = HttpClient(http, shared_server.url())
    await client.begin()
    async with client.post("tools/call", name="wait", arguments={"name": "left"}) as response:
        response.close()
    assert await client.call("echo", text="x") == "x"


async def test_a_stream_can_be_opened_again_after_it_was_lost(shared_server: Any, http: aiohttp.ClientSession) -> None:
    client = HttpClient(http, shared_server.url())
    await client.begin()
    async with client.stream() as response:
        assert response.status == 200
        response.close()

    async def again() -> bool:
        async with client.stream() as response:
            return response.status == 200

    await repeated(again)


async def test_a_body_may_come_in_pieces(shared_server: Any, http: aiohttp.ClientSession) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "echo", "arguments": {"text": "小"}},
        }
        for byte in json.dumps(body, ensure_ascii=False).encode():
            yield bytes([byte])

    async with http.post(shared_server.url("/plain"), data=pieces(), headers=HEADERS) as response:
        assert (await response.json())["result"]["content"][0]["text"] == "小"


async def test_megabytes_pass_both_ways(shared_server: Any, http: aiohttp.ClientSession) -> None:
    text = "群" * 1_000_000
    for path in ("/mcp", "/plain"):
        client = HttpClient(http, shared_server.url(path))
        if path == "/mcp":
            await client.begin()
        assert await client.call("echo", text=text) == text


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
async def test_the_process_ends_although_streams_are_open(
    http_server: Any, http: aiohttp.ClientSession, how: signal.Signals
) -> None:
    client = HttpClient(http, http_server.url())
    await client.begin()
    async with client.stream() as standing, client.post("tools/call", name="wait", arguments={"name": "a"}) as calling:
        assert (standing.status, calling.status) == (200, 200)
        http_server.process.send_signal(how)
        # aiohttp alone would wait a minute for open streams
        assert await asyncio.to_thread(http_server.process.wait, PATIENCE) == 0
    _, errors = http_server.process.communicate(timeout=PATIENCE)
    assert "Traceback" not in errors


@asynccontextmanager
async def served(server: Server, **options: Any) -> AsyncIterator[str]:
    """The URL of a server in this process."""
    app = web.Application()
    mount(app, http_app(server, **options), "/mcp", "/mcp/")
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/mcp"
    finally:
        await runner.cleanup()


def quiet_server() -> Server:
    server = Server("quiet", version="1.0")

    @server.tool
    def nothing() -> str:
        """Does nothing."""
        return "nothing"

    return server


async def test_a_body_that_is_too_large_is_refused(http: aiohttp.ClientSession) -> None:
    async with served(quiet_server(), max_body=1000, stateless=True) as url:
        for data in (b"x" * 1001, _pieces()):
            async with http.post(url, data=data, headers=HEADERS) as response:
                assert response.status == 413


async def _pieces() -> AsyncIterator[bytes]:
    for _ in range(3):
        yield b"x" * 500


async def test_strange_hosts_and_pages_are_refused_where_that_is_asked_for(http: aiohttp.ClientSession) -> None:
    hosts, origins = ["127.0.0.1:*"], ["http://127.0.0.1:*"]
    async with served(quiet_server(), allowed_hosts=hosts, allowed_origins=origins, stateless=True, json=True) as url:
        assert await HttpClient(http, url).call("nothing") == "nothing"
        for name in ("Host", "Origin"):
            async with HttpClient(http, url, **{name: "http://evil.example"}).post("ping") as response:
                assert response.status in (403, 421)


async def test_both_addresses_lead_to_the_same_sessions(http: aiohttp.ClientSession) -> None:
    async with served(quiet_server()) as url:
        client = HttpClient(http, url)
        await client.begin()
        slashed = HttpClient(http, url + "/")
        slashed.headers = client.headers
        assert await slashed.call("nothing") == "nothing"


async def test_a_session_that_nobody_uses_ends(http: aiohttp.ClientSession) -> None:
    async with served(quiet_server(), idle_timeout=3600) as url:
        client, statuses = HttpClient(http, url), list[int]()
        await client.begin()
        while 404 not in statuses and len(statuses) < 100:
            async with client.post("ping") as response:
                statuses.append(response.status)
            later(3600)  # again where the server has not noticed yet that its last answer is out
        assert statuses[0] == 200
        assert statuses[-1] == 404


async def test_an_application_can_be_started_again() -> None:
    http = http_app(quiet_server())
    for _ in range(2):
        async with http.running():
            pass
    with pytest.raises(RuntimeError, match="inside of running"):
        await http({"type": "http"}, _never, _never)


async def _never(*_: Any) -> Any:
    raise AssertionError


async def test_a_session_that_ended_leaves_no_subscription(http: aiohttp.ClientSession) -> None:
    server = quiet_server()
    heard: list[str] = []
    server.on_subscribe(lambda uri: heard.append(f"+{uri}"))
    server.on_unsubscribe(lambda uri: heard.append(f"-{uri}"))

    def one() -> str:
        """A resource."""
        return ""

    server.resource("a://one", one)
    async with served(server) as url:
        client = HttpClient(http, url)
        await client.begin()
        await client.ask("resources/subscribe", uri="a://one")
        assert heard == ["+a://one"]
        async with http.delete(url, headers=client.headers) as response:
            assert response.status in (200, 204)
        await until(lambda: heard == ["+a://one", "-a://one"])
        await client.begin()
        await client.ask("resources/subscribe", uri="a://one")
    assert heard == ["+a://one", "-a://one"] * 2
