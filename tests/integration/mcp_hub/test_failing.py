"""What is answered, counted and logged when a request fails, its client leaves, or it is none."""

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from aiohttp import ClientSession, web
from support.hubs import listening
from support.loop_clock import later, outlast
from support.waiting import PATIENCE

from nanobot_transcript.settings import Settings
from transcript_mcp.door.guard import CALLER
from transcript_mcp.door.identity import Caller
from transcript_mcp.hub import create_app
from transcript_mcp.hub.asgi import AsgiApp

pytestmark = pytest.mark.mcp

ASK = "/agentassistproto.SrvAgentAssist/AskQuestion"
OPEN = re.compile(r"nanobot_transcript_hub_open_requests\b")
JSON = "Content-Type: application/json"

Serve = Callable[..., Awaitable[str]]


@pytest_asyncio.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    """``await serve(reading=0.2)``: the address of a hub with all servers."""
    async with AsyncExitStack() as stack:

        async def start(**options: Any) -> str:
            places = {"hub": {"data_dir": tmp_path / "hub"}, "store": {"dir": tmp_path / "groups"}}
            app = create_app(Settings.model_validate(places), **options)
            return await stack.enter_async_context(listening(app))

        yield start


class Line:
    """A connection on which anything can be said."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def answer(self) -> tuple[int, str]:
        """Everything until the hub closes it: status and body."""
        try:
            async with asyncio.timeout(PATIENCE):
                head, _, body = (await self.whole()).decode().partition("\r\n\r\n")
        finally:
            await self.hang_up()
        return int(head.split()[1]), body

    async def whole(self) -> bytes:
        """The same, as it comes and however long it takes."""
        return await self._reader.read()

    async def say(self, more: bytes) -> None:
        """Go on with the body."""
        self._writer.write(more)
        await self._writer.drain()

    async def hang_up(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()


async def said(url: str, first: str, *headers: str, body: bytes = b"") -> Line:
    """A request as it stands, addressed rightly."""
    at = urlsplit(url)
    reader, writer = await asyncio.open_connection(at.hostname, at.port)
    lines = [f"{first} HTTP/1.1", f"Host: {at.netloc}", "Connection: close", *headers, "", ""]
    writer.write("\r\n".join(lines).encode("latin-1") + body)
    await writer.drain()
    return Line(reader, writer)


async def counted(http: ClientSession, url: str, route: str) -> dict[str, float]:
    """How many requests to a route there were, by status."""
    async with http.get(f"{url}/metrics") as answer:
        lines = (await answer.text()).splitlines()
    found = [line for line in lines if line.startswith("nanobot_transcript_hub_requests_total{") and route in line]
    return {line.split('status="')[1][:3]: float(line.rsplit(" ", 1)[1]) for line in found}


async def open_requests(http: ClientSession, url: str) -> float:
    """How many requests are under way, this one too."""
    async with http.get(f"{url}/metrics") as answer:
        (line,) = (line for line in (await answer.text()).splitlines() if OPEN.match(line))
    return float(line.rsplit(" ", 1)[1])


def loud(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What was logged as an error, or with a traceback."""
    return [each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR or each.exc_info]


@pytest.mark.parametrize(
    ("first", "route", "body"),
    [
        (f"POST {ASK}", "/{service", {"ID": "1", "UserToken": "t", "Request": {"Question": "?", "Timeout": 60}}),
        ("GET /agent/output/s?wait=60", "/agent/output", None),
        (
            "POST /mcp/io",
            "/mcp/io",
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {"name": "i_tool", "arguments": {"session_id": "s"}},
            },
        ),
    ],
)
async def test_a_caller_that_leaves_is_counted_as_such_and_is_no_error(
    serve: Serve, http: ClientSession, caplog: pytest.LogCaptureFixture, first: str, route: str, body: Any
) -> None:
    url = await serve()
    sent = b"" if body is None else json.dumps(body).encode()
    line = await said(url, first, JSON, f"Content-Length: {len(sent)}", body=sent)
    async with asyncio.timeout(PATIENCE):
        while await open_requests(http, url) != 2:  # the line's and the one that asks
            continue
    await line.hang_up()
    async with asyncio.timeout(PATIENCE):
        while not (found := await counted(http, url, route)):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.05)
    assert found == {"499": 1.0}
    assert loud(caplog) == []


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/mcp", 408),
        ("/mcp/io/", 408),
        ("/agent/input/s", 408),
        ("/api/io/input", 408),
        ("/api/groups/post", 408),
        (ASK, 504),
    ],
)
async def test_a_body_that_never_comes_is_not_waited_for(
    serve: Serve, caplog: pytest.LogCaptureFixture, path: str, status: int
) -> None:
    line = await said(await serve(reading=0.2), f"POST {path}", JSON, "Content-Length: 100", body=b"{")
    assert (await line.answer())[0] == status
    assert loud(caplog) == []


async def test_a_slow_body_that_is_there_in_time_counts(serve: Serve, http: ClientSession) -> None:
    url = await serve(reading=3600)
    line = await said(url, "POST /agent/input/s", "Content-Length: 4", body=b"wo")
    assert await counted(http, url, "/agent/input") == {}  # and the hub has read so far
    later(3599)
    assert await counted(http, url, "/agent/input") == {}  # nor has it given up by now
    await line.say(b"rd")
    assert (await line.answer())[0] == 202


async def test_a_long_wait_is_no_slow_body(serve: Serve, http: ClientSession) -> None:
    url = await serve(reading=30)
    line = await said(url, "GET /agent/output/s?wait=60", "Content-Length: 5", body=b"")
    async with asyncio.timeout(PATIENCE):
        while await waiting_readers(http, url) != [1]:
            continue
    later(31)
    assert await waiting_readers(http, url) == [1]
    answer = asyncio.create_task(line.whole())
    await outlast(answer, 60)
    assert answer.result().split()[1] == b"404"
    await line.hang_up()


async def waiting_readers(http: ClientSession, url: str) -> list[int]:
    async with http.get(f"{url}/api/io") as answer:
        return [session["waiting_readers"] for session in (await answer.json())["sessions"]]


@pytest.mark.parametrize("method", ["GET /api/io", "GET /api/io/queue?session=s", "GET /agent/output/s"])
async def test_a_store_that_cannot_be_used_is_said_in_the_same_way_everywhere(
    serve: Serve, tmp_path: Path, method: str
) -> None:
    (tmp_path / "hub").mkdir()
    (tmp_path / "hub" / "io.sqlite3").write_bytes(b"this is no database" * 1000)
    status, body = await (await said(await serve(), method)).answer()
    assert (status, json.loads(body)["error"]["code"]) == (503, "store_unavailable")


async def test_a_line_end_in_an_address_makes_no_line_of_the_log(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    url = await serve()
    await (await said(url, "GET /agent/output/%0aCRITICAL%20forged%1b[31m")).answer()
    told = [each.getMessage() for each in caplog.records if "forged" in each.getMessage()]
    assert len(told) == 1
    assert told[0].isprintable()
    assert "/agent/output/%0aCRITICAL%20forged" in told[0]


@pytest.mark.parametrize(
    "headers",
    [
        ["Host: localhost"],
        ["Content-Encoding: br", "Content-Length: 1"],
        ["Content-Encoding: gzip", "Content-Length: 1"],
        ["Content-Encoding: deflate", "Content-Length: 1"],
        ["Transfer-Encoding: chunked"],
        ["no header"],
    ],
)
@pytest.mark.parametrize("path", ["/mcp", "/agent/input/s", "/api/io/input"])
async def test_what_is_no_request_is_refused_in_a_line(
    serve: Serve, caplog: pytest.LogCaptureFixture, path: str, headers: list[str]
) -> None:
    line = await said(await serve(), f"POST {path}", JSON, *headers, body=b"x\r\n")
    assert (await line.answer())[0] == 400
    assert loud(caplog) == []
    assert len([each for each in caplog.records if each.levelno >= logging.WARNING]) <= 1


async def test_a_server_that_has_nothing_to_say_to_who_left_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    async def silent(*_: object) -> None:
        """What the SDK does when its client is gone."""

    bridge = AsgiApp(silent)  # pyright: ignore[reportArgumentType] -- never read

    async def handle(request: web.Request) -> web.StreamResponse:
        request[CALLER] = Caller()
        return await bridge.handle(request)

    app = web.Application()
    app.router.add_get("/", handle)
    async with listening(app) as url, ClientSession() as http, http.get(url) as answer:
        assert answer.status == 499
    assert "Traceback" not in caplog.text
