"""The flow that the IO bridge was built from: step by step, with an MCP client and with what curl says."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.io_hub import Person
from support.mail_hub import HubProcess
from support.mcp_client import connected, needs_sdk_2
from support.waiting import PATIENCE

pytestmark = pytest.mark.mcp

SESSION = "some-uuid"


def curl(hub: HubProcess, *arguments: str, path: str) -> tuple[int, Any]:
    """Status and document of what the program curl is answered."""
    command = ["curl", "-sS", "-w", "\n%{http_code}", *arguments, f"{hub.root}{path}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)
    document, _, status = done.stdout.rpartition("\n")
    return int(status), json.loads(document)


async def test_the_flow_runs_as_printed_with_curl_and_an_mcp_client(hub: HubProcess) -> None:
    async with asyncio.timeout(2 * PATIENCE), connected(hub.url.rstrip("/")) as agent:
        # 1. the agent waits for input
        waiting = asyncio.create_task(agent.text("i_tool", session_id=SESSION))
        # 2. a client outside gives it
        data = '{"data": "你好，请总结"}'
        sent = await asyncio.to_thread(
            curl, hub, "-X", "POST", "-H", "Content-Type: application/json", "-d", data, path=f"/agent/input/{SESSION}"
        )
        assert sent[0] == 202
        assert sent[1]["message"]
        # 3. i_tool returns it
        assert await waiting == "你好，请总结"
        # 5. there is no output yet
        status, told = await asyncio.to_thread(curl, hub, path=f"/agent/output/{SESSION}")
        assert (status, told["error"]["code"]) == (404, "no_output")
        # 4. the agent hands its output over
        assert "kept until it is read" in await agent.text("o_tool", session_id=SESSION, output="final result")
        # 5. and now it is there, once
        assert await asyncio.to_thread(curl, hub, path=f"/agent/output/{SESSION}") == (200, {"output": "final result"})
        assert (await asyncio.to_thread(curl, hub, path=f"/agent/output/{SESSION}"))[0] == 404


@pytest.mark.parametrize("path", ["/mcp", "/mcp/io"])
async def test_the_later_names_of_the_tools_do_the_same(hub: HubProcess, person: Person, path: str) -> None:
    async with asyncio.timeout(PATIENCE), connected(hub.root + path) as agent:
        await person.send("names", "in")
        assert await agent.text("get_input", session_id="names") == "in"
        await agent.call("return_output", session_id="names", output="out")
        assert await person.read("names") == (200, {"output": "out"})


async def test_inputs_that_came_before_the_agent_are_handed_over_in_their_order(
    hub: HubProcess, person: Person
) -> None:
    for number in range(3):
        assert (await person.send("early", number))[0] == 202
    async with asyncio.timeout(PATIENCE), connected(hub.url.rstrip("/")) as agent:
        assert [await agent.text("i_tool", session_id="early") for _ in range(3)] == ["0", "1", "2"]
        assert (await agent.text("ack_input", session_id="early")).startswith("Confirmed 1 input")
        assert "Call i_tool again" in await agent.text("i_tool", session_id="early", timeout=0)


async def test_that_no_input_came_is_told_apart_from_every_input_by_whatever_way_it_is_asked(
    hub: HubProcess, person: Person, tmp_path: Path
) -> None:
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "i_tool", "arguments": {"session_id": "none", "timeout": 0}},
    }

    async def typed() -> Any:
        async with person.http.post(hub.url, json=message) as answer:
            return (await answer.json())["result"]

    env = [f"HOME={tmp_path}", f"NANOBOT_TRANSCRIPT_HUB__PORT={hub.root.rpartition(':')[2]}"]
    command = ["env", *env, sys.executable, "-m", "nanobot_transcript", "mcp", "io"]
    async with (
        asyncio.timeout(2 * PATIENCE),
        connected(hub.url.rstrip("/")) as direct,
        connected(command) as started,
    ):
        for ask in (
            typed,
            lambda: direct.call("i_tool", session_id="none", timeout=0),
            lambda: started.call("i_tool", session_id="none", timeout=0),
        ):
            nothing = await ask()
            assert nothing["structuredContent"] == {"input": None, "waited": 0}
            for said in (nothing["content"][0]["text"], json.dumps(nothing), ""):
                await person.send("none", said)
                given = await ask()
                assert "structuredContent" not in given
                assert given["content"][-1]["text"] == said
                assert not given["content"][0]["text"].startswith("No input in session")


async def test_several_waiting_calls_of_one_client_get_each_input_once(hub: HubProcess, person: Person) -> None:
    async with asyncio.timeout(PATIENCE), connected(hub.url.rstrip("/")) as agent:
        waiting = [asyncio.create_task(agent.text("i_tool", session_id="many")) for _ in range(5)]
        for number in range(5):
            await person.send("many", number)
        assert sorted(await asyncio.gather(*waiting)) == ["0", "1", "2", "3", "4"]


@needs_sdk_2
async def test_a_client_of_the_newest_protocol_waits_and_answers(hub: HubProcess, person: Person) -> None:
    from support.mcp_newest import newest

    async with asyncio.timeout(PATIENCE), newest(hub.root + "/mcp/io") as agent:
        waiting = asyncio.create_task(agent.call_tool("i_tool", {"session_id": "newest"}))
        await person.send("newest", "hello")
        (block,) = (await waiting).content
        assert block.text == "hello"  # pyright: ignore[reportAttributeAccessIssue]
        await agent.call_tool("o_tool", {"session_id": "newest", "output": "out"})
    assert await person.read("newest") == (200, {"output": "out"})


async def test_a_client_that_can_only_start_programs_uses_the_hub(
    hub: HubProcess, person: Person, tmp_path: Path
) -> None:
    port = hub.root.rpartition(":")[2]
    env = [f"HOME={tmp_path}", f"NANOBOT_TRANSCRIPT_HUB__PORT={port}"]
    command = ["env", *env, sys.executable, "-m", "nanobot_transcript", "mcp", "io"]
    async with asyncio.timeout(2 * PATIENCE), connected(command) as agent:
        waiting = asyncio.create_task(agent.text("i_tool", session_id="stdio"))
        await person.send("stdio", "hello")
        assert await waiting == "hello"
        await agent.call("o_tool", session_id="stdio", output="out")
    assert await person.read("stdio") == (200, {"output": "out"})


async def test_a_call_typed_into_curl_waits_and_is_answered(hub: HubProcess, person: Person) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    message = call | {"params": {"name": "i_tool", "arguments": {"session_id": "plain"}}}

    async def asked() -> Any:
        async with person.http.post(hub.url, json=message) as answer:
            return await answer.json()

    async with asyncio.timeout(PATIENCE):
        waiting = asyncio.create_task(asked())
        await person.send("plain", "hello")
        answer = await waiting
    assert answer["result"]["content"] == [{"type": "text", "text": "hello"}]
