"""What a person writes to an agent unasked, given to the agent with ``i_tool``."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import ClientSession
from support.assistant_clients import Page, page
from support.hubs import listening
from support.io_hub import Person
from support.mail_hub import HubProcess
from support.mcp_client import SdkClient, connected
from support.waiting import PATIENCE

from nanobot_transcript.settings import Settings
from transcript_mcp.assistant.protocol import proto
from transcript_mcp.hub import create_app

SHOP = {"project_directory": "/srv/shop", "agent_name": "Alpha"}
PICTURE = proto.McpResultContent(
    type=2, image=proto.ImageContent(type="image", data="iVBORw0KGgo=", mime_type="image/png")
)


async def write(person: Page, text: str = "先停一下", **more: Any) -> str:
    """Write to Alpha; the id of the message."""
    await person.send("AgentMessage", AgentMessage=proto.AgentMessage(**SHOP, text=text, **more))
    kept = (await person.until("AgentMessage")).AgentMessage
    assert (kept.text, kept.state) == (text, "waiting")
    return kept.id


async def state(person: Page) -> str:
    """How the newest message stands."""
    await person.send("GetHistory", GetHistoryRequest=proto.GetHistoryRequest(limit=1))
    return (await person.until("GetHistory")).GetHistoryResponse.records[0].state


def settings(folder: Path, hub: dict[str, Any] | None = None, **sections: Any) -> Settings:
    """Those of a hub that keeps everything in a folder."""
    kept = {"hub": {"data_dir": folder / "hub", **(hub or {})}, "store": {"dir": folder / "groups"}}
    return Settings.model_validate(kept | sections)


@pytest_asyncio.fixture
async def url(tmp_path: Path) -> AsyncIterator[str]:
    """A hub in this process."""
    async with listening(create_app(settings(tmp_path))) as root:
        yield root


@asynccontextmanager
async def both(url: str) -> AsyncIterator[tuple[Page, SdkClient]]:
    """A person with a page, and an agent."""
    async with asyncio.timeout(PATIENCE), page(url, "local", "Ada") as ada, connected(f"{url}/mcp") as agent:
        yield ada, agent


async def test_an_agent_that_waits_gets_words_and_picture_and_the_page_is_told(url: str) -> None:
    async with both(url) as (ada, agent):
        waiting = asyncio.create_task(agent.call("i_tool", session_id="s", **SHOP))
        await write(ada, contents=[PICTURE])
        text, picture = (await waiting)["content"]
        assert text["text"] == "Ada wrote to you meanwhile: 先停一下"
        assert (picture["type"], picture["data"], picture["mimeType"]) == ("image", "iVBORw0KGgo=", "image/png")
        assert await state(ada) == "waiting"
        assert (await agent.text("ack_input", session_id="s")).startswith("Confirmed 1 input")
        told = (await ada.until("AgentMessage")).AgentMessage
        assert (told.state, told.picked_up_at > 0) == ("picked_up", True)
        assert "No input" in await agent.text("i_tool", session_id="s", timeout=0, **SHOP)


@pytest.mark.parametrize("confirming", ["i_tool", "o_tool", "task_finish"])
async def test_the_next_call_of_the_agent_confirms(url: str, confirming: str) -> None:
    calls: dict[str, dict[str, Any]] = {
        "i_tool": {"session_id": "s", "timeout": 0},
        "o_tool": {"session_id": "s", "output": "done"},
        "task_finish": {"summary": "Done.", **SHOP},
    }
    async with both(url) as (ada, agent):
        await write(ada)
        assert "先停一下" in await agent.text("i_tool", session_id="s", **SHOP)
        assert "先停一下" not in await agent.text(confirming, **calls[confirming])
        assert await state(ada) in ("picked_up", "notified")
        assert "先停一下" not in await agent.text("task_finish", summary="Again.", **SHOP)


async def test_inputs_go_on_and_a_message_comes_before_those_that_wait(url: str) -> None:
    async with both(url) as (ada, agent), ClientSession() as http:
        script = Person(http, url)
        for number in range(2):
            await script.send("s", f"input {number}")
        assert await agent.text("i_tool", session_id="s", **SHOP) == "input 0"
        await write(ada)
        assert "先停一下" in await agent.text("i_tool", session_id="s", **SHOP)
        assert await agent.text("i_tool", session_id="s", **SHOP) == "input 1"
        waiting = asyncio.create_task(agent.text("i_tool", session_id="s", **SHOP))
        await script.send("s", "input 2")
        assert await waiting == "input 2"


async def test_who_does_not_say_who_it_is_or_is_another_agent_gets_inputs_alone(url: str) -> None:
    async with both(url) as (ada, agent):
        await write(ada)
        for who in ({}, {"agent_name": "Alpha"}, SHOP | {"agent_name": "Beta"}, SHOP | {"project_directory": "/srv"}):
            assert "No input" in await agent.text("i_tool", session_id="s", timeout=0, **who)
        assert await state(ada) == "waiting"


async def test_what_two_calls_could_bring_comes_with_one_of_them(url: str) -> None:
    async with both(url) as (ada, agent):
        waiting = asyncio.create_task(agent.text("i_tool", session_id="s", timeout=2, **SHOP))
        await agent.call("task_finish", summary="Done.", **SHOP)
        await write(ada)
        texts = [await agent.text("task_finish", summary="Done again.", **SHOP), await waiting]
        assert sum("先停一下" in text for text in texts) == 1


async def test_a_token_opens_its_own_messages_only(tmp_path: Path) -> None:
    tokens = {"ada": "0123456789abcdef", "bo": "fedcba9876543210"}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    params = {"name": "i_tool", "arguments": {"session_id": "s", "timeout": 0, **SHOP}}
    hub = create_app(settings(tmp_path, {"tokens": tokens}))
    async with listening(hub) as url, page(url, tokens["ada"], "Ada") as ada, ClientSession() as http:
        await write(ada)
        heard = {}
        for name in ("bo", "ada"):
            headers = {"Authorization": f"Bearer {tokens[name]}"}
            async with http.post(f"{url}/mcp", json=call | {"params": params}, headers=headers) as answer:
                heard[name] = (await answer.json())["result"]["content"][0]["text"]
    assert "No input" in heard["bo"]
    assert "先停一下" in heard["ada"]


async def test_pages_are_told_of_an_agent_that_is_given_what_is_written_there(tmp_path: Path) -> None:
    program, people = "0123456789abcdef", "fedcba9876543210"
    tokens = {"codex": program, "claude": "another-program"}
    hub = create_app(settings(tmp_path, {"tokens": tokens, "page_token": people}))
    params = {"name": "i_tool", "arguments": {"session_id": "s", **SHOP}}
    async with listening(hub) as url, ClientSession() as http:

        async def ask(path: str, token: str, **more: Any) -> Any:
            method = "POST" if more else "GET"
            headers = {"Authorization": f"Bearer {token}"}
            async with http.request(method, f"{url}{path}", headers=headers, **more) as answer:
                return await answer.json()

        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        waiting = asyncio.create_task(ask("/mcp", program, json=call))
        async with asyncio.timeout(PATIENCE):
            queue = "/api/io/queue?session=s"
            while not (told := (await ask(queue, people))["agents"]):  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.02)
        assert told == [{"project": "/srv/shop", "agent": "Alpha"}]
        assert (await ask("/api/io/queue?session=other", people))["agents"] == []
        async with page(url, people, "Ada") as ada:
            await write(ada)  # of this agent nobody has heard but that it waits
            assert "先停一下" in (await waiting)["result"]["content"][0]["text"]
        assert (await ask("/api/io/queue?session=s", people))["agents"] == []


async def test_a_name_with_marks_that_nobody_sees_is_the_name_that_people_write_to(url: str) -> None:
    async with both(url) as (ada, agent):
        await write(ada)
        marked = SHOP | {"project_directory": "\u202a/srv/shop"}  # as copied from a window of properties
        assert "先停一下" in await agent.text("i_tool", session_id="s", timeout=0, **marked)


async def calling(url: str, session: str) -> asyncio.subprocess.Process:
    """A program that calls ``i_tool``, and never again."""
    params = {"name": "i_tool", "arguments": {"session_id": session, **SHOP}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    command = ["curl", "-sS", "-X", "POST", "-H", "Content-Type: application/json", "-d", body, url]
    return await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)


@pytest.mark.parametrize("seconds", [0, 0.5, *(pytest.param(each, marks=pytest.mark.soak) for each in (1.0, 1.5))])
async def test_what_a_killed_client_was_given_is_given_again(tmp_path: Path, seconds: float) -> None:
    """The client is killed before, while and after the message is on its way; the next one gets it."""
    async with (
        asyncio.timeout(PATIENCE),
        listening(create_app(settings(tmp_path, io={"lease": 1}))) as url,
        page(url, "local", "Ada") as ada,
        ClientSession() as http,
    ):
        client = await calling(f"{url}/mcp/", "first")
        while not await waits(http, url, "first"):  # noqa: ASYNC110 -- the hub tells nobody
            await asyncio.sleep(0.02)
        await write(ada)
        await asyncio.sleep(seconds)
        if client.returncode is None:
            client.kill()
        await client.communicate()
        async with connected(f"{url}/mcp") as agent:
            assert "先停一下" in await agent.text("i_tool", session_id="next", **SHOP)
            await agent.call("ack_input", session_id="next")
            assert await state(ada) == "picked_up"
            assert "先停一下" not in await agent.text("task_finish", summary="Done.", **SHOP)


async def waits(http: ClientSession, url: str, session: str) -> bool:
    """Whether an agent waits in this session."""
    async with http.get(f"{url}/api/io") as answer:
        sessions = (await answer.json())["sessions"]
    return any(each["id"] == session and each["waiting_agents"] for each in sessions)


async def test_what_a_killed_hub_gave_and_nobody_confirmed_is_given_again(tmp_path: Path) -> None:
    with HubProcess(tmp_path, tmp_path / "mail") as hub:
        async with page(hub.root, "local", "Ada") as ada:
            await write(ada)
            answer, _ = await (await calling(hub.url, "first")).communicate()
            assert "先停一下" in json.loads(answer)["result"]["content"][0]["text"]
            hub.kill()
    with HubProcess(tmp_path, tmp_path / "mail") as hub:
        async with connected(hub.url.rstrip("/")) as agent:
            assert "先停一下" in await agent.text("i_tool", session_id="first", timeout=0, **SHOP)
            assert "No input" in await agent.text("i_tool", session_id="first", timeout=0, **SHOP)
