"""What a person wrote to an agent goes with an answer that reaches who asked, and is lost with none that does not."""

import asyncio
import json
import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest
from integration.assistant.conftest import Hub
from support.assistant_clients import Page, page

from transcript_mcp.assistant.protocol import proto

AGENT = {"project_directory": "/srv/shop", "agent_name": "Alpha"}
CONNECT, TOOL = "/agentassistproto.SrvAgentAssist/AskQuestion", "/mcp/assistant"


def asked(id: str) -> dict[str, Any]:
    about = {"ProjectDirectory": "/srv/shop", "AgentName": "Alpha", "Question": "Deploy?", "Timeout": 60}
    return {"ID": id, "UserToken": "local", "Request": about}


def called(id: str) -> dict[str, Any]:
    arguments = {"id": id, "question": "Deploy?", **AGENT}
    return {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "ask_question", "arguments": arguments},
    }


@pytest.fixture(params=[(CONNECT, asked), (TOOL, called)], ids=["Connect", "MCP"])
def way(request: pytest.FixtureRequest) -> tuple[str, Callable[[str], dict[str, Any]]]:
    """Where it is asked, and how."""
    return request.param


@asynccontextmanager
async def asking(url: str, path: str, body: dict[str, Any]) -> AsyncIterator[None]:
    """A call whose line is cut at the end of the ``with`` block."""
    data, place = json.dumps(body).encode(), urlsplit(url)
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(data)}"
    line = socket.create_connection((place.hostname, place.port))
    line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    try:
        line.sendall(f"{head}\r\n\r\n".encode() + data)
        yield
    finally:
        line.close()


async def write(person: Page, text: str) -> None:
    await person.send("AgentMessage", AgentMessage=proto.AgentMessage(**AGENT, text=text))
    assert (await person.until("AgentMessage")).AgentMessage.state == "waiting"


async def state(person: Page) -> str:
    """How the newest message stands."""
    await person.send("GetHistory")
    records = (await person.until("GetHistory")).GetHistoryResponse.records
    return next(each.state for each in records if each.kind == "message")


async def test_what_goes_with_an_answer_to_a_caller_who_has_gone_comes_with_the_next(
    hub: Hub, way: tuple[str, Callable[[str], dict[str, Any]]]
) -> None:
    path, body = way
    async with page(hub.url, "local", "Ada") as ada, aiohttp.ClientSession() as http:
        await write(ada, "Stop everything.")
        for number in range(5):
            async with asking(hub.url, path, body(f"q{number}")):
                await ada.until("AskQuestion")
            await ada.reply(f"q{number}", "Yes.")
            await asyncio.sleep(0.02 * number)
        assert await state(ada) == "waiting"
        told, question = list[int](), ""
        while not any(told):  # the last caller's going may not have been noticed when the first of these is answered
            question = f"last {len(told)}"
            calling = asyncio.create_task(http.post(f"{hub.url}{path}", json=body(question)))
            await ada.until("AskQuestion")
            await ada.reply(question, "Yes.")
            async with await calling as response:
                told.append((await response.text()).count("Stop everything."))
        assert sum(told) == 1
        assert (await ada.until("AgentMessage")).AgentMessage.state == "picked_up"
        async with http.post(f"{hub.url}{path}", json=body(question)) as response:
            assert (await response.text()).count("Stop everything.") == 1
        async with http.post(f"{hub.url}{path}", json=body("q0")) as response:
            assert "Stop everything." not in await response.text()
