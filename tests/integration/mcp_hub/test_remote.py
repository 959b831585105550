"""``nanobot-transcript mcp mail``: the hub's server for clients that can only start programs.

The clients' program is always a process; the hub is one where it is killed.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web
from support.forking import HUB, Streamed, preload
from support.hubs import listening
from support.mcp_client import connected
from support.ports import free_port
from support.waiting import PATIENCE

from nanobot_transcript.settings import Settings
from transcript_mcp.hub import create_app
from transcript_mcp.room import OpenRoom
from transcript_mcp.sdk import Server

pytestmark = pytest.mark.mcp
preload(*HUB)

PROJECT = "/abs/path/backend"
OLDER = tuple(map(int, version("mcp").split(".")[:2])) < (1, 29)
"""SDKs that let a call go on when its session ends."""
ME = {"program": "claude-code", "model": "opus", "task_description": "导航栏", "name_hint": "BlueLake"}


class Place:
    """A home, a port, and the hub that can be started and killed there."""

    def __init__(self, home: Path, stack: AsyncExitStack) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/mcp/mail"
        self._home = home
        self._stack = stack
        self._env = {name: value for name, value in os.environ.items() if not name.startswith("NANOBOT_")}
        self._env |= {"HOME": str(home), "NANOBOT_TRANSCRIPT_HUB__PORT": str(self.port)}

    async def hub(self, **more: str) -> Streamed:
        """A hub that listens."""
        pipes = {"stdout": asyncio.subprocess.PIPE, "stderr": asyncio.subprocess.DEVNULL}
        started = await Streamed.start("nanobot_transcript", "serve", "--jsonl", env=self._env | more, **pipes)
        self._stack.push_async_callback(_ended, started)
        assert started.stdout is not None
        assert json.loads(await asyncio.wait_for(started.stdout.readline(), PATIENCE))["event"] == "ready"
        return started

    @asynccontextmanager
    async def listening(self, **hub: Any) -> AsyncIterator[None]:
        """A hub in this process, on the same port and the same mail."""
        document = {
            "hub": {"data_dir": self._home / "hub", **hub},
            "store": {"dir": self._home / "groups"},
            "mail": {"store": self._home / "mail", "archive": {"enabled": False}},
        }
        async with listening(create_app(Settings.model_validate(document)), self.port):
            yield

    def command(self, **more: str) -> list[str]:
        """How a client starts the thin server."""
        env = [f"{name}={value}" for name, value in (self._env | more).items()]
        return ["env", "-i", *env, sys.executable, "-m", "nanobot_transcript", "mcp", "mail"]


async def _ended(process: Streamed) -> None:
    if process.returncode is None:
        process.kill()
    await process.communicate()


@pytest_asyncio.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    async with AsyncExitStack() as stack:
        yield Place(tmp_path, stack)


async def test_a_client_over_stdio_uses_the_mail_of_the_hub(place: Place) -> None:
    async with place.listening(), connected(place.command()) as client:
        made = json.loads(await client.text("create_agent", project_key=PROJECT, **ME))
        assert made["name"] == "BlueLake"
        letter = {"to": ["BlueLake"], "subject": "发布窗口", "body_md": "周三"}
        await client.text("send_message", project_key=PROJECT, from_agent="BlueLake", **letter)
        inbox = await client.read(f"resource://inbox/BlueLake?project={PROJECT}")
        assert json.loads(inbox["contents"][0]["text"])["messages"][0]["subject"] == "发布窗口"


async def test_what_changes_in_the_hub_reaches_a_client_over_stdio(place: Place) -> None:
    async with place.listening(), connected(place.command()) as reader, connected(place.url) as writer:
        await writer.text("create_agent", project_key=PROJECT, **ME)
        await reader.subscribe("resource://inbox/BlueLake")
        letter = {"to": ["BlueLake"], "subject": "hi", "body_md": "there"}

        async def told() -> bool:
            await writer.text("send_message", project_key=PROJECT, from_agent="BlueLake", **letter)
            return "notifications/resources/updated" in reader.methods()

        async with asyncio.timeout(PATIENCE):
            while not await told():  # noqa: ASYNC110 - it is written again
                await asyncio.sleep(0.1)


async def test_a_hub_that_was_started_anew_is_found_again(place: Place) -> None:
    async with talking(place) as talk:
        async with place.listening():
            await talk.begin()
            talk.say("tools/call", 1, name="create_agent", arguments={"project_key": PROJECT, **ME})
            assert not (await talk.answer(1))["result"]["isError"]
        async with place.listening():
            talk.say("tools/call", 2, name="whois", arguments={"project_key": PROJECT, "agent_name": "BlueLake"})
            (told,) = (await talk.answer(2))["result"]["content"]
            assert json.loads(told["text"])["name"] == "BlueLake"


async def test_the_hubs_token_is_handed_over(place: Place) -> None:
    tokens = {"laptop": "a-long-secret"}
    async with place.listening(tokens=tokens):
        async with connected(place.command(NANOBOT_TRANSCRIPT_HUB__TOKENS=json.dumps(tokens))) as client:
            assert json.loads(await client.text("create_agent", project_key=PROJECT, **ME))["name"] == "BlueLake"
        assert "401" in (await _answer_to_hello(place.command()))["error"]["message"]


async def test_of_several_tokens_the_one_named_mcp_is_handed_over(place: Place) -> None:
    several = place.command(
        NANOBOT_TRANSCRIPT_HUB__TOKENS=json.dumps({"laptop": "another-secret", "mcp": "a-long-secret"})
    )
    async with place.listening(tokens={"own": "a-long-secret"}), connected(several) as client:
        assert json.loads(await client.text("create_agent", project_key=PROJECT, **ME))["name"] == "BlueLake"


async def test_a_dotenv_file_of_the_working_directory_does_not_say_where_the_token_goes(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    strange = tmp_path / "strange"
    strange.mkdir()
    names = ("NANOBOT_TRANSCRIPT_HUB__HOST=127.0.0.2", "NANOBOT_TRANSCRIPT_HUB__ALLOWED_HOSTS=x", "HOST=127.0.0.2")
    (strange / ".env").write_text("\n".join((*names, "PORT=1")), encoding="utf-8")
    monkeypatch.chdir(strange)
    async with place.listening(), connected(place.command()) as client:
        assert json.loads(await client.text("create_agent", project_key=PROJECT, **ME))["name"] == "BlueLake"


async def test_the_hub_says_that_its_open_address_comes_from_a_dotenv_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".env").write_text("HOST=0.0.0.0\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    hub = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "nanobot_transcript", "serve", "--port", "0"), stderr=asyncio.subprocess.PIPE
    )
    try:
        _, said = await asyncio.wait_for(hub.communicate(), PATIENCE)
    finally:
        await _ended(hub)
    assert hub.returncode == 2
    assert "open to every machine" in said.decode()
    assert f"hub.host comes from {tmp_path / '.env'} HOST." in said.decode().replace("\n", " ")


async def test_without_a_hub_the_client_is_told_how_to_start_one(place: Place) -> None:
    assert "nanobot-transcript serve" in (await _answer_to_hello(place.command()))["error"]["message"]


async def _answer_to_hello(command: list[str]) -> Any:
    asked: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
    asked["params"] = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    started = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    said, _ = await asyncio.wait_for(started.communicate(json.dumps(asked).encode() + b"\n"), PATIENCE)
    return json.loads(said)


class Talk:
    """A line of messages with the thin server."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    def say(self, method: str, number: int | None = None, **params: Any) -> None:
        assert self.process.stdin is not None
        said = {"jsonrpc": "2.0", "method": method, "params": params} | ({"id": number} if number is not None else {})
        self.process.stdin.write(json.dumps(said).encode() + b"\n")

    async def answer(self, *numbers: int) -> Any:
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            while (line := json.loads(await self.process.stdout.readline())).get("id") not in numbers:
                continue
        return line

    async def begin(self) -> None:
        client = {"name": "t", "version": "1"}
        self.say("initialize", 0, protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        await self.answer(0)
        self.say("notifications/initialized")


@asynccontextmanager
async def talking(place: Place) -> AsyncIterator[Talk]:
    pipe = asyncio.subprocess.PIPE
    started = await asyncio.create_subprocess_exec(
        *place.command(), stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL, limit=2**24
    )
    try:
        yield Talk(started)
    finally:
        await _ended(started)


class Slow:
    """A hub in this process whose one tool never comes to an end by itself."""

    def __init__(self) -> None:
        self.begun, self.ended = asyncio.Event(), asyncio.Event()
        self.server = Server("mail", version="1")
        self.server.tool(self.hang, name="hang")
        self.server.tool(self.large, name="large")

    async def hang(self) -> str:
        """Never ends."""
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()
        return "never"

    async def large(self) -> str:
        """Says much."""
        return "蓝" * 1_000_000

    def listening(self, port: int) -> AbstractAsyncContextManager[str]:
        return listening(create_app(Settings(), {"mail": OpenRoom(self.server)}), port, grace=0.2)


async def test_what_the_client_cancels_is_cancelled_in_the_hub(place: Place) -> None:
    slow = Slow()
    async with slow.listening(place.port), talking(place) as talk:
        await talk.begin()
        talk.say("tools/call", 1, name="hang", arguments={})
        await asyncio.wait_for(slow.begun.wait(), PATIENCE)
        talk.say("notifications/cancelled", requestId=1)
        await asyncio.wait_for(slow.ended.wait(), PATIENCE)
        talk.say("ping", 2)
        assert (await talk.answer(2))["result"] == {}


async def test_a_hub_that_stops_in_the_middle_of_a_call_leaves_no_request_unanswered(place: Place) -> None:
    slow = Slow()
    async with talking(place) as talk:
        async with slow.listening(place.port):
            await talk.begin()
            for number in (1, 2):
                talk.say("tools/call", number, name="hang", arguments={})
            await asyncio.wait_for(slow.begun.wait(), PATIENCE)
        problems = [await talk.answer(1, 2), await talk.answer(1, 2)]
        assert {answer["id"] for answer in problems} == {1, 2}
        assert all("error" in answer for answer in problems)


async def test_an_answer_that_breaks_off_is_an_error(place: Place) -> None:
    async def break_off(request: web.Request) -> web.StreamResponse:
        await request.read()
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b'event: message\ndata: {"jsonrpc":')
        assert request.transport is not None
        request.transport.abort()
        return response

    app = web.Application()
    app.router.add_post("/mcp/mail", break_off)
    async with listening(app, place.port), talking(place) as talk:
        talk.say("tools/call", 1, name="x", arguments={})
        assert "broke off" in (await talk.answer(1))["error"]["message"]


async def test_a_hub_that_refuses_a_message_is_quoted(place: Place) -> None:
    async def refuse(_: web.Request) -> web.Response:
        return web.Response(status=400, text="not like this")

    app = web.Application()
    app.router.add_post("/mcp/mail", refuse)
    async with listening(app, place.port), talking(place) as talk:
        talk.say("tools/call", 1, name="x", arguments={})
        assert "answered 400: not like this" in (await talk.answer(1))["error"]["message"]


async def test_large_answers_and_odd_messages_pass(place: Place) -> None:
    async with Slow().listening(place.port), talking(place) as talk:
        await talk.begin()
        talk.say("tools/call", 1, name="large", arguments={})
        assert len((await talk.answer(1))["result"]["content"][0]["text"]) == 1_000_000
        assert talk.process.stdin is not None
        talk.process.stdin.write(b'{"jsonrpc":"2.0","id":2,"method":"ping","params":[1]}\n')
        assert "error" in await talk.answer(2)


async def test_the_end_of_stdin_and_a_signal_end_it_while_a_call_is_under_way(place: Place) -> None:
    slow = Slow()
    async with slow.listening(place.port):
        for by_signal in (False, True):
            async with talking(place) as talk:
                await talk.begin()
                talk.say("tools/call", 1, name="hang", arguments={})
                await asyncio.wait_for(slow.begun.wait(), PATIENCE)
                slow.begun.clear()
                assert talk.process.stdin is not None
                talk.process.terminate() if by_signal else talk.process.stdin.close()
                assert await asyncio.wait_for(talk.process.wait(), PATIENCE) == 0
                if not OLDER:
                    await asyncio.wait_for(slow.ended.wait(), PATIENCE)
                slow.ended.clear()


async def test_subscriptions_outlive_a_hub_that_was_started_anew(place: Place) -> None:
    first = await place.hub()
    async with connected(place.command()) as reader:
        await reader.text("create_agent", project_key=PROJECT, **ME)
        await reader.subscribe("resource://inbox/BlueLake")
        first.kill()
        await first.wait()
        await place.hub()
        async with connected(place.url) as writer:
            letter = {"to": ["BlueLake"], "subject": "hi", "body_md": "there"}
            async with asyncio.timeout(PATIENCE):
                while "notifications/resources/updated" not in reader.methods():
                    await writer.text("send_message", project_key=PROJECT, from_agent="BlueLake", **letter)
                    await asyncio.sleep(0.1)
