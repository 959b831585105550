"""The simulator as a process."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from support.waiting import PATIENCE

COMMAND = [sys.executable, "-m", "transcript_channels.simulator"]


class Running:
    """A simulator process that is talked to in JSON lines."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.ready: dict[str, Any] = {}

    async def line(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            return json.loads(await self.process.stdout.readline())

    async def tell(self, **command: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(command).encode() + b"\n")
        await self.process.stdin.drain()

    async def do(self, **command: Any) -> dict[str, Any]:
        """A command and its answer; events before it are skipped."""
        await self.tell(**command)
        while (line := await self.line())["event"] not in ("done", "error"):
            pass
        return line

    async def end(self) -> int:
        async with asyncio.timeout(PATIENCE):
            return await self.process.wait()


@asynccontextmanager
async def running(*arguments: str) -> AsyncIterator[Running]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*COMMAND, *arguments, stdin=pipe, stdout=pipe)
    try:
        yield Running(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scene() -> AsyncIterator[Running]:
    """One process for all that neither starts nor ends it; its first line is in ``ready``."""
    async with running("--people", "Ada,Bo", "--model") as simulator:
        simulator.ready = await simulator.line()
        yield simulator


async def test_a_scene_is_played_over_stdin_and_stdout() -> None:
    async with running("--apps", "Alpha=cli_a1:s1,Beta", "--people", "Ada,Bo", "--model") as simulator:
        ready = await simulator.line()
        assert ready["event"] == "ready"
        assert ready["base_url"].startswith("http://127.0.0.1:")
        assert ready["apps"][0]["app_id"] == "cli_a1"
        assert ready["apps"][0]["app_secret"] == "s1"
        assert ready["chats"][0]["members"] == ["Ada", "Bo", "Alpha", "Beta"]
        async with aiohttp.ClientSession() as session:
            async with session.get(ready["model_url"] + "/models") as answer:
                assert answer.status == 200
            token = f"{ready['base_url']}/open-apis/auth/v3/tenant_access_token/internal"
            async with session.post(token, json={"app_id": "cli_a1", "app_secret": "s1"}) as answer:
                assert (await answer.json())["code"] == 0
        assert [person["name"] for person in ready["people"]] == ["Ada", "Bo"]
        await simulator.tell(do="say", **{"from": "Ada"}, text="hello @Alpha", id=7)
        event, answer = await simulator.line(), await simulator.line()
        assert (event["event"], event["text"], event["from"]) == ("message", "hello @Alpha", "Ada")
        assert (answer["event"], answer["id"], answer["message_id"]) == ("done", 7, event["message_id"])
        recalled = await simulator.do(do="recall", message_id=event["message_id"])
        assert recalled["recalled"] is True
        listed = await simulator.do(do="messages")
        assert [message["text"] for message in listed["messages"]] == [""]
        assert (await simulator.do(do="quit"))["event"] == "done"
        assert await simulator.end() == 0


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ({"do": "dance"}, "unknown command"),
        ({"do": "say", "from": "Nobody", "text": "x"}, "nobody called"),
        ({"do": "say", "from": "Ada"}, "needs 'text'"),
        ({"do": "recall", "message_id": "om_no"}, "no message"),
        ({"do": "say", "from": "Ada", "text": "x", "chat": "Elsewhere"}, "no chat"),
    ],
)
@pytest.mark.asyncio(loop_scope="module")
async def test_a_command_that_cannot_be_done_is_answered_with_the_reason(
    scene: Running, command: dict, why: str
) -> None:
    answer = await scene.do(**command)
    assert answer["event"] == "error"
    assert why in answer["message"]


@pytest.mark.parametrize(
    ("line", "why"),
    [(b"say hello", "not JSON"), (b'{"do": "say"', "not JSON"), (b"\xff", "not JSON"), (b"[1]", "not list")],
)
@pytest.mark.asyncio(loop_scope="module")
async def test_a_line_that_is_no_command_is_answered_with_the_form_of_one(
    scene: Running, line: bytes, why: str
) -> None:
    assert scene.process.stdin is not None
    scene.process.stdin.write(line + b"\n")
    answer = await scene.line()
    assert answer["event"] == "error"
    assert why in answer["message"]
    assert '{"do": "say", "from": "Ada", "text": "hello @Alpha"}' in answer["message"]
    assert (await scene.do(do="who"))["event"] == "done"


@pytest.mark.asyncio(loop_scope="module")
async def test_a_reaction_says_whose_it_is(scene: Running) -> None:
    said = await scene.do(do="say", **{"from": "Ada"}, text="hello")
    await scene.tell(do="react", **{"from": "Bo"}, message_id=said["message_id"], emoji="OK")
    event = await scene.line()
    assert (event["event"], event["from"], event["by"], event["emoji"]) == ("reaction", "Ada", "Bo", "OK")
    assert event["what"] == "created"
    assert (await scene.line())["event"] == "done"


@pytest.mark.asyncio(loop_scope="module")
async def test_the_model_repeats_the_persons_words(scene: Running) -> None:
    text = "hi there\n\n[Runtime Context — metadata only]\nnoise\n[/Runtime Context]"
    url = scene.ready["model_url"] + "/chat/completions"
    async with (
        aiohttp.ClientSession() as session,
        session.post(url, json={"messages": [{"role": "user", "content": text}]}) as answer,
    ):
        said = (await answer.json())["choices"][0]["message"]["content"]
    assert said == "You said: hi there"


async def test_the_end_of_stdin_ends_it() -> None:
    async with running() as simulator:
        await simulator.line()
        assert simulator.process.stdin is not None
        simulator.process.stdin.close()
        assert await simulator.end() == 0


async def test_a_signal_ends_it_cleanly_even_when_it_stays() -> None:
    async with running("--stay") as simulator:
        await simulator.line()
        assert simulator.process.stdin is not None
        simulator.process.stdin.close()
        simulator.process.send_signal(signal.SIGTERM)
        assert await simulator.end() == 0


async def test_help_shows_examples() -> None:
    process = await asyncio.create_subprocess_exec(*COMMAND, "--help", stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    assert process.returncode == 0
    assert b'{"do": "say"' in output
