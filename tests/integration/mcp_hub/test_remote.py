"""``nanobot-transcript mcp mail``: the hub's server for clients that can only start programs."""

import asyncio
import json
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from support.mcp_client import connected

PROJECT = "/abs/path/backend"
ME = {"program": "claude-code", "model": "opus", "task_description": "导航栏", "name_hint": "BlueLake"}


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Place:
    """A home, a port, and the hub that can be started and killed there."""

    def __init__(self, home: Path, stack: AsyncExitStack) -> None:
        self.port = free_port()
        self._stack = stack
        self._env = {name: value for name, value in os.environ.items() if not name.startswith("NANOBOT_")}
        self._env |= {"HOME": str(home), "NANOBOT_TRANSCRIPT_HUB__PORT": str(self.port)}

    async def hub(self, **more: str) -> asyncio.subprocess.Process:
        """A hub that listens."""
        command = (sys.executable, "-m", "nanobot_transcript", "serve", "--jsonl")
        started = await asyncio.create_subprocess_exec(
            *command, env=self._env | more, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
        )
        self._stack.push_async_callback(_ended, started)
        assert started.stdout is not None
        assert json.loads(await asyncio.wait_for(started.stdout.readline(), 40))["event"] == "ready"
        return started

    def command(self, **more: str) -> list[str]:
        """How a client starts the thin server."""
        env = [f"{name}={value}" for name, value in (self._env | more).items()]
        return ["env", "-i", *env, sys.executable, "-m", "nanobot_transcript", "mcp", "mail"]


async def _ended(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
    await process.communicate()


@pytest_asyncio.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    async with AsyncExitStack() as stack:
        yield Place(tmp_path, stack)


async def test_a_client_over_stdio_uses_the_mail_of_the_hub(place: Place) -> None:
    await place.hub()
    async with connected(place.command()) as client:
        made = json.loads(await client.text("create_agent", project_key=PROJECT, **ME))
        assert made["name"] == "BlueLake"
        letter = {"to": ["BlueLake"], "subject": "发布窗口", "body_md": "周三"}
        await client.text("send_message", project_key=PROJECT, from_agent="BlueLake", **letter)
        inbox = await client.read(f"resource://inbox/BlueLake?project={PROJECT}")
        assert json.loads(inbox["contents"][0]["text"])["messages"][0]["subject"] == "发布窗口"


async def test_what_changes_in_the_hub_reaches_a_client_over_stdio(place: Place) -> None:
    await place.hub()
    async with connected(place.command()) as reader, connected(place.command()) as writer:
        await writer.text("create_agent", project_key=PROJECT, **ME)
        await reader.subscribe("resource://inbox/BlueLake")
        letter = {"to": ["BlueLake"], "subject": "hi", "body_md": "there"}

        async def told() -> bool:
            await writer.text("send_message", project_key=PROJECT, from_agent="BlueLake", **letter)
            return "notifications/resources/updated" in reader.methods()

        for _ in range(50):
            if await told():
                return
            await asyncio.sleep(0.1)
        pytest.fail("the update never came")


async def test_a_hub_that_was_started_anew_is_found_again(place: Place) -> None:
    first = await place.hub()
    async with connected(place.command()) as client:
        await client.text("create_agent", project_key=PROJECT, **ME)
        first.kill()
        await first.wait()
        await place.hub()
        assert json.loads(await client.text("whois", project_key=PROJECT, agent_name="BlueLake"))["name"] == "BlueLake"


async def test_the_hubs_token_is_handed_over(place: Place) -> None:
    token = {"NANOBOT_TRANSCRIPT_HUB__TOKENS": json.dumps({"laptop": "a-long-secret"})}
    await place.hub(**token)
    async with connected(place.command(**token)) as client:
        assert json.loads(await client.text("create_agent", project_key=PROJECT, **ME))["name"] == "BlueLake"
    assert "401" in (await _answer_to_hello(place.command()))["error"]["message"]


async def test_without_a_hub_the_client_is_told_how_to_start_one(place: Place) -> None:
    assert "nanobot-transcript serve" in (await _answer_to_hello(place.command()))["error"]["message"]


async def _answer_to_hello(command: list[str]) -> Any:
    asked: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
    asked["params"] = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    started = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    said, _ = await asyncio.wait_for(started.communicate(json.dumps(asked).encode() + b"\n"), 40)
    return json.loads(said)
