"""The command ``serve`` as a process."""

import asyncio
import json
import os
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import ClientSession, TCPConnector
from support.forking import HUB, Streamed, preload
from support.waiting import PATIENCE

from nanobot_transcript.settings import Settings

preload(*HUB)
pytestmark = pytest.mark.mcp

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
BOTH = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
Serve = Callable[..., Any]


@asynccontextmanager
async def process(home: Path, *arguments: str, **variables: str) -> AsyncIterator[Streamed]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("NANOBOT_")}
    started = await Streamed.start(
        *("nanobot_transcript.cli", "serve", "--port", "0", "--jsonl", *arguments),
        env=env | {"HOME": str(home)} | variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield started
    finally:
        if started.returncode is None:
            started.kill()
        await started.communicate()


@pytest_asyncio.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    """``await serve(...)`` starts a hub; its process and its address."""
    async with AsyncExitStack() as stack:

        async def start(*arguments: str, **variables: str) -> tuple[Streamed, str]:
            started = await stack.enter_async_context(process(tmp_path, *arguments, **variables))
            assert started.stdout is not None
            line = await asyncio.wait_for(started.stdout.readline(), PATIENCE)
            return started, json.loads(line)["url"]

        yield start


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
async def test_it_ends_although_clients_hold_streams_open(serve: Serve, number: signal.Signals, code: int) -> None:
    started, url = await serve()
    async with ClientSession() as http:
        async with http.post(f"{url}/mcp", json=HELLO, headers=BOTH) as answer:
            session = {"Mcp-Session-Id": answer.headers["Mcp-Session-Id"]}
        async with http.get(f"{url}/mcp", headers=BOTH | session) as stream:
            assert stream.status == 200
            started.send_signal(number)
            assert await asyncio.wait_for(started.wait(), PATIENCE) == code
    assert json.loads((await started.stdout.read()).splitlines()[-1]) == {"event": "stopped"}


async def test_it_ends_although_many_calls_wait(serve: Serve, tmp_path: Path) -> None:
    place = {"store": {"dir": str(tmp_path / "record")}}
    Settings.model_validate(place).open_record().store.append("feishu:oc_1", "user", "hi", "ou_1")
    started, url = await serve("--store", str(tmp_path / "record"))
    waiting = {"name": "transcript_wait", "arguments": {"session_key": "feishu:oc_1", "timeout": 300}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": waiting}

    async def open_calls() -> float:
        async with http.get(f"{url}/metrics") as answer:
            lines = (await answer.text()).splitlines()
        return next(float(line.split()[1]) for line in lines if line.startswith("nanobot_transcript_hub_open_requests"))

    async with ClientSession(connector=TCPConnector(limit=0)) as http:
        asked = [asyncio.create_task(http.post(f"{url}/mcp", json=call)) for _ in range(100)]
        async with asyncio.timeout(PATIENCE):
            while await open_calls() <= len(asked):  # noqa: ASYNC110 - the asking itself is one, too
                await asyncio.sleep(0.02)
        started.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(started.wait(), PATIENCE) == 0
        assert {answer.status for answer in await asyncio.gather(*asked)} == {503}


async def test_a_record_that_cannot_be_read_is_told_at_the_start(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    started, url = await serve(NANOBOT_TRANSCRIPT_STORE__DIR=str(tmp_path / "file"))
    assert url, "the mailboxes are served all the same"
    assert b"is not a directory" in await asyncio.wait_for(started.stderr.readline(), PATIENCE)


async def test_two_hubs_cannot_have_one_port(serve: Serve, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        async with process(tmp_path, "--port", str(taken.getsockname()[1])) as second:
            _, said = await asyncio.wait_for(second.communicate(), PATIENCE)
    assert second.returncode == 2
    assert b"--port" in said
    assert b"Traceback" not in said


async def test_one_hub_alone_looks_after_the_questions_of_a_folder(serve: Serve) -> None:
    async def pages(url: str) -> set[str]:
        async with http.get(f"{url}/api/about") as answer:
            return set((await answer.json())["pages"])

    async with ClientSession() as http:
        first, url = await serve()
        assert "questions" in await pages(url)
        second, url = await serve()
        assert (await pages(url)) & {"questions", "io", "mail"} == {"io", "mail"}
        said = await asyncio.wait_for(second.stderr.readline(), PATIENCE)
        assert b"Another hub already serves the questions" in said
        assert b"hub.data_dir" in said
        first.kill()
        await first.wait()
        _, url = await serve()
        assert "questions" in await pages(url)


async def test_a_hub_whose_lock_is_a_link_looks_after_no_questions(serve: Serve, tmp_path: Path) -> None:
    started, _ = await serve()
    (lock,) = tmp_path.rglob(".assistant.hub")
    started.kill()
    await started.wait()
    lock.unlink()
    lock.symlink_to("elsewhere")
    started, url = await serve()
    assert b"link" in await asyncio.wait_for(started.stderr.readline(), PATIENCE)
    async with ClientSession() as http, http.get(f"{url}/api/about") as answer:
        assert "questions" not in (await answer.json())["pages"]
    assert not (lock.parent / "elsewhere").exists()


async def test_a_hub_waits_for_the_one_that_is_ending(serve: Serve) -> None:
    first, _ = await serve()
    first.send_signal(signal.SIGTERM)
    _, url = await serve()
    async with ClientSession() as http, http.get(f"{url}/api/about") as answer:
        assert "questions" in (await answer.json())["pages"]


async def test_other_machines_are_not_let_in_without_a_token(tmp_path: Path) -> None:
    async with process(tmp_path, "--host", "0.0.0.0") as refused:
        _, said = await asyncio.wait_for(refused.communicate(), PATIENCE)
    assert refused.returncode == 2
    assert b"NANOBOT_TRANSCRIPT_HUB__TOKENS__" in said


async def test_a_token_from_the_environment_is_asked_for_and_never_shown(serve: Serve) -> None:
    started, url = await serve("-v", NANOBOT_TRANSCRIPT_HUB__TOKENS__LAPTOP="a-secret-of-mine")
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    async with ClientSession() as http:
        async with http.post(f"{url}/mcp?token=a-secret-of-mine", json=call) as answer:
            assert answer.status == 401
        async with http.post(f"{url}/mcp", json=call, headers={"Authorization": "Bearer a-secret-of-mine"}) as answer:
            names = [tool["name"] for tool in (await answer.json())["result"]["tools"]]
    assert "filebox_send_message" in names
    assert "transcript_recent" in names
    started.terminate()
    _, log = await asyncio.wait_for(started.communicate(), PATIENCE)
    assert b"laptop POST /mcp 200" in log
    assert b"a-secret" not in log
