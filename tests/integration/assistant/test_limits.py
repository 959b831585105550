"""How much anybody may send, and what whoever has no token gets for it."""

import asyncio
import io
import json
import re
import resource
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest
from integration.assistant.conftest import Hub, running_hub
from support.assistant_clients import page, text_content
from support.waiting import PATIENCE, until

from nanobot_transcript.threads import in_thread
from transcript_mcp.assistant.protocol import offload, proto, wire

ASK = "/agentassistproto.SrvAgentAssist/AskQuestion"
REPLY = "/agentassistproto.SrvAgentAssistReply/AskQuestionReply"
JSON = {"Content-Type": "application/json"}
PROTO = {"Content-Type": "application/proto"}


async def answer_to_head(hub: Hub, path: str, **headers: str) -> bytes:
    """What a hub says to a request of which it has seen no more than the head."""
    address = urlsplit(hub.url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    head = {"Host": address.netloc, "Content-Type": "application/proto", **headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    writer.write(f"POST {path} HTTP/1.1\r\n{lines}\r\n".encode())
    try:
        return await asyncio.wait_for(reader.readuntil(b"}"), PATIENCE)
    finally:
        writer.close()


async def post(hub: Hub, path: str, data: bytes, headers: dict[str, str]) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession() as http,
        http.post(f"{hub.url}{path}", data=io.BytesIO(data), headers=headers) as response,
    ):
        return response.status, await response.text()


async def test_sockets_take_no_more_than_half_of_the_files_a_process_may_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (16, 16))
    async with AsyncExitStack() as stack:
        hub = await stack.enter_async_context(running_hub(tmp_path))
        for _ in range(8):
            await stack.enter_async_context(page(hub.url, "test-token"))
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await stack.enter_async_context(page(hub.url, "test-token"))
    assert (refused.value.status, (refused.value.headers or {}).get("Retry-After")) == (503, "10")


async def test_a_question_larger_than_any_may_be_is_refused_before_it_is_read(hub: Hub) -> None:
    for method in ("AskQuestion", "WorkReport", "TaskFinish", "Withdraw", "SendMcpClientInfo", "Heartbeat"):
        path = f"/agentassistproto.SrvAgentAssist/{method}"
        answer = await answer_to_head(hub, path, **{"Content-Length": str(9_000_000)})
        assert answer.startswith(b"HTTP/1.1 413")
        assert b"resource_exhausted" in answer


@pytest.mark.parametrize("size", [8 * 1024 * 1024 + 1, 64 * 1024 * 1024 + 1, 10**12])
async def test_who_sends_too_much_is_told_how_much_that_very_call_may_have(hub: Hub, size: int) -> None:
    token = {"Authorization": "Bearer test-token"}
    asked = await answer_to_head(hub, ASK, **{"Content-Length": str(size)})
    assert asked.startswith(b"HTTP/1.1 413")
    assert json.loads(asked.partition(b"\r\n\r\n")[2]) == {
        "code": "resource_exhausted",
        "message": "A request may have at most 8388608 bytes.",
    }
    if size > 64 * 1024 * 1024:
        answered = await answer_to_head(hub, REPLY, **token, **{"Content-Length": str(size)})
        assert answered.startswith(b"HTTP/1.1 413")
        assert b"A request may have at most 67108864 bytes." in answered


@pytest.mark.parametrize(("size", "read_aside"), [(60_000, False), (70_000, True), (1_000_000, True)])
async def test_only_what_is_read_in_no_time_is_read_at_once(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, size: int, read_aside: bool
) -> None:
    beside = list[object]()

    async def noted(function: Callable[..., Any], *arguments: Any) -> Any:
        beside.append(function)
        return await in_thread(function, *arguments)

    monkeypatch.setattr(offload, "in_thread", noted)
    asked = {"ID": "q1", "UserToken": "test-token", "Wait": 0, "Request": {"Question": "Deploy?", "Timeout": 60}}
    status, _ = await post(hub, ASK, json.dumps(asked).encode().ljust(size), JSON)
    assert (status, wire.from_json in beside) == (200, read_aside)


async def test_an_answer_is_read_from_who_has_a_token_only(hub: Hub) -> None:
    for headers in ({}, {"Authorization": "Bearer"}, {"Authorization": "Basic x"}):
        answer = await answer_to_head(hub, REPLY, **headers, **{"Content-Length": str(60_000_000)})
        assert answer.startswith(b"HTTP/1.1 401")


async def test_the_longest_question_is_asked_also_with_every_character_escaped(hub: Hub) -> None:
    text = "\u554f" * 1_000_000
    asked = {"ID": "q1", "UserToken": "test-token", "Wait": 0, "Request": {"Question": text, "Timeout": 60}}
    status, answer = await post(hub, ASK, json.dumps(asked).encode(), JSON)
    assert (status, json.loads(answer)["Meta"]["status"]) == (200, "waiting")


async def test_an_answer_may_be_larger_than_other_requests_of_the_hub(hub: Hub) -> None:
    await hub.caller.ask("q1", Wait=0, Fetched=True)
    data = b"x" * 20_000_000
    file = proto.EmbeddedResource(type="embedded_resource", uri="a.bin", mime_type="x/y", data=data)
    said = proto.AskQuestionResponse(ID="q1", contents=[proto.McpResultContent(type=4, embedded_resource=file)])
    token = {"Authorization": "Bearer test-token"}
    assert (await post(hub, REPLY, said.SerializeToString(), PROTO | token))[0] == 200
    answer = await hub.caller.call(
        "AskQuestion", proto.AskQuestionRequest(ID="q1", UserToken="test-token"), proto.AskQuestionResponse
    )
    assert answer.contents[0].embedded_resource.data == data
    assert (await post(hub, "/mcp", data, JSON))[0] == 413


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b'{"Request":{"Questions":[' + b"{}," * 1_000_000 + b"{}]}}", JSON),
        (b'{"x":[' + b"{}," * 1_000_000 + b"{}]}", JSON),
        (b"\x1a\x80\x89\x7a" + b"\x3a\0" * 1_000_000, PROTO),
    ],
)
async def test_small_things_by_the_million_are_refused_unread(hub: Hub, body: bytes, headers: dict[str, str]) -> None:
    status, answer = await post(hub, ASK, body, headers)
    assert (status, json.loads(answer)["code"]) == (400, "invalid_argument")
    assert "20000" in answer


async def test_who_sends_much_without_an_end_keeps_nobody_from_asking(hub: Hub) -> None:
    address = urlsplit(hub.url)
    head = f"POST {ASK} HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Type: application/proto\r\n"
    writers = []
    for _ in range(20):
        _, writer = await asyncio.open_connection(address.hostname, address.port)
        writer.write(f"{head}Content-Length: 8000000\r\n\r\n".encode() + bytes(7_900_000))
        writers.append(writer)
    async with page(hub.url, "test-token") as ada:
        asking = asyncio.create_task(hub.caller.ask("q1"))
        await ada.until("AskQuestion")
        await ada.reply("q1", "yes")
        assert (await asyncio.wait_for(asking, PATIENCE)).contents == [text_content("yes")]
    for writer in writers:
        writer.transport.abort()


async def test_a_caller_that_leaves_is_no_error(hub: Hub, caplog: pytest.LogCaptureFixture) -> None:
    gone = asyncio.create_task(hub.caller.ask("q1"))
    await until(lambda: hub.assistant._open.records(None))
    gone.cancel()
    await numbers_with(hub, r'requests_total{.*status="499"} 1')
    address = urlsplit(hub.url)
    _, writer = await asyncio.open_connection(address.hostname, address.port)
    writer.write(f"POST {ASK} HTTP/1.1\r\nHost: {address.netloc}\r\n".encode())
    writer.write(b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
    await writer.drain()
    await numbers_with(hub, "open_requests 2")  # this one's and the one that asks
    writer.transport.abort()
    await until(lambda: not [held for held in hub.assistant._open._held.values() if held.waiters])
    numbers = await numbers_with(hub, r'requests_total{.*status="499"} 2')
    assert 'status="500"' not in numbers
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


async def numbers_with(hub: Hub, line: str) -> str:
    """The hub's numbers as soon as a line of them is like this."""
    async with aiohttp.ClientSession() as http, asyncio.timeout(PATIENCE):
        while True:
            async with http.get(f"{hub.url}/metrics") as response:
                numbers = await response.text()
            if re.search(rf"{line}(\.0)?$", numbers, re.MULTILINE):
                return numbers
