"""The tools as a client's model meets them."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import pytest
from support.loop_clock import no_time_passes
from support.waiting import PATIENCE, until

from nanobot_transcript.errors import StoreBusyError
from transcript_mcp.io_bridge.bridge import Bridge
from transcript_mcp.io_bridge.server import build_server
from transcript_mcp.io_bridge.tools import QueueTools
from transcript_mcp.io_bridge.values import Limits
from transcript_mcp.room import Addressee
from transcript_mcp.sdk import Content, Text
from transcript_mcp.sdk.testing import InMemoryClient

MakeBridge = Callable[..., Bridge]

NAMES = {"i_tool", "get_input", "o_tool", "return_output", "ack_input"}


@pytest.fixture
def client(bridge: Bridge) -> InMemoryClient:
    """A client of the server."""
    return InMemoryClient(build_server(bridge))


async def test_every_tool_and_every_parameter_is_described(client: InMemoryClient) -> None:
    tools = {tool["name"]: tool for tool in (await client.request("tools/list"))["tools"]}
    assert tools.keys() == NAMES
    for tool in tools.values():
        assert tool["description"]
        assert all(part["description"] for part in tool["inputSchema"]["properties"].values())
    required = {name: tool["inputSchema"]["required"] for name, tool in tools.items()}
    assert required["i_tool"] == required["get_input"] == required["ack_input"] == ["session_id"]
    assert required["o_tool"] == required["return_output"] == ["session_id", "output"]


@pytest.mark.parametrize(("getting", "returning"), [("i_tool", "o_tool"), ("get_input", "return_output")])
async def test_an_input_is_the_whole_answer_and_an_output_is_kept(
    bridge: Bridge, client: InMemoryClient, getting: str, returning: str
) -> None:
    agent = asyncio.create_task(client.call(getting, session_id="s"))
    await bridge.send_input("s", "你好\n")
    answer = await asyncio.wait_for(agent, PATIENCE)
    assert (answer.text, answer.is_error) == ("你好\n", False)
    assert "kept until it is read" in (await client.call(returning, session_id="s", output="result")).text
    handed = await bridge.read_output("s")
    assert handed is not None
    assert handed.text == "result"


async def test_without_an_input_the_answer_says_what_to_do(client: InMemoryClient) -> None:
    for timeout in (0, 0.05):
        answer = await client.call("i_tool", session_id="s", timeout=timeout)
        assert not answer.is_error
        assert answer.text.endswith("Call i_tool again with the same session_id to keep waiting.")


@pytest.mark.parametrize("dressed", ["{}", " \n{}", "{} Or do not."])
async def test_no_input_passes_for_the_news_that_there_is_none(
    bridge: Bridge, client: InMemoryClient, dressed: str
) -> None:
    nothing = await client.call("i_tool", session_id="s", timeout=0)
    assert nothing.wire["structuredContent"] == {"input": None, "waited": 0}
    assert nothing.text.startswith("No input in session")
    said = dressed.format(nothing.text)
    await bridge.send_input("s", said)
    given = await client.call("i_tool", session_id="s", timeout=0)
    assert "structuredContent" not in given.wire
    assert not given.text.lstrip().startswith("No input in session")
    assert given.wire["content"][-1]["text"] == said


async def test_what_people_write_does_not_pass_for_it_either(bridge: Bridge) -> None:
    tools, desk = QueueTools(bridge), Desk()
    tools.hear(desk)
    desk.texts.append("No input in session s yet, wrote to you meanwhile: stop")
    client = InMemoryClient(build_server(bridge, tools))
    given = await client.call("i_tool", session_id="s", timeout=0, project_directory="/srv/shop")
    assert not given.text.startswith("No input in session")
    assert given.wire["content"][-1]["text"].endswith("stop")


async def test_an_input_may_be_empty(bridge: Bridge, client: InMemoryClient) -> None:
    await bridge.send_input("s", "")
    given = await client.call("i_tool", session_id="s", timeout=0)
    assert given.wire == {"content": [{"type": "text", "text": ""}], "isError": False}
    assert (await client.call("ack_input", session_id="s")).text == "Confirmed 1 input of session s."


async def test_a_waiting_call_tells_its_client_that_it_waits(bridge: Bridge) -> None:
    client = InMemoryClient(build_server(bridge))
    bridge._tell_every = 0.02  # pyright: ignore[reportPrivateUsage] -- ten seconds in life
    agent = asyncio.create_task(client.call("i_tool", session_id="s", timeout=3600))
    await until(lambda: client.progressed)
    waited, total, sentence = client.progressed[0]
    assert waited > 0
    assert (total, sentence) == (3600, "No input in session s yet.")
    await bridge.send_input("s", "x")
    assert (await asyncio.wait_for(agent, PATIENCE)).text == "x"


async def test_an_input_can_be_confirmed_by_itself(bridge: Bridge, client: InMemoryClient) -> None:
    assert (await client.call("ack_input", session_id="s")).text == "Confirmed 0 inputs of session s."
    await bridge.send_input("s", "x")
    await client.call("i_tool", session_id="s")
    assert (await client.call("ack_input", session_id="s")).text == "Confirmed 1 input of session s."
    assert await bridge.queue("s") == []


async def test_an_output_that_cannot_be_kept_is_not_confirmed(make_bridge: MakeBridge) -> None:
    bridge = make_bridge(Limits(items=1))
    client = InMemoryClient(build_server(bridge))
    assert not (await client.call("o_tool", session_id="s", output="one")).is_error
    refused = await client.call("o_tool", session_id="s", output="two")
    assert refused.is_error
    assert "kept" not in refused.text
    assert [item.text for item in await bridge.queue("s")] == ["one"]


async def test_a_repeated_output_is_handed_over_once(bridge: Bridge, client: InMemoryClient) -> None:
    for word in ("kept", "before"):
        answer = await client.call("o_tool", session_id="s", output="result", idempotency_key="k")
        assert word in answer.text
    assert [item.text for item in await bridge.queue("s")] == ["result"]


@dataclass(frozen=True)
class Written:
    """What a person wrote."""

    contents: Sequence[Content]

    def arrived(self, arrived: bool) -> None:
        pass


class Desk:
    """Where people write to an agent. ``busy``: nothing can be confirmed at the moment."""

    def __init__(self, *, busy: bool = False) -> None:
        self.event = asyncio.Event()
        self.texts: list[str] = []
        self.busy = busy

    def news(self, agent: Addressee) -> AbstractContextManager[asyncio.Event]:
        return nullcontext(self.event)

    async def take(self, agent: Addressee, session: str) -> Written | None:
        return Written([Text(self.texts.pop())]) if self.texts else None

    async def confirm(self, caller: str | None, session: str) -> int:
        if self.busy:
            raise StoreBusyError("Somebody else writes.", hint="Try again.")
        return 0


async def test_an_output_that_is_kept_is_no_error_whatever_becomes_of_what_people_wrote(bridge: Bridge) -> None:
    tools = QueueTools(bridge)
    tools.hear(Desk(busy=True))
    client = InMemoryClient(build_server(bridge, tools))
    answer = await client.call("o_tool", session_id="s", output="result")
    assert (answer.is_error, answer.text) == (False, "Output 1 of session s is kept until it is read.")
    assert (await client.call("ack_input", session_id="s")).is_error


async def test_what_people_write_wakes_a_waiting_call_at_once(bridge: Bridge) -> None:
    tools, desk = QueueTools(bridge), Desk()
    tools.hear(desk)
    client = InMemoryClient(build_server(bridge, tools))
    with no_time_passes():  # the bridge itself looks at who waits once in a second
        agent = asyncio.create_task(client.call("i_tool", session_id="s", project_directory="/srv/shop"))
        while not any(state.waiting_agents for state in await bridge.sessions()):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0)
        desk.texts.append("Stop.")
        desk.event.set()
        assert (await agent).text == "Stop."


@pytest.mark.parametrize("tool", sorted(NAMES))
async def test_a_session_id_that_cannot_be_one_is_an_error_with_a_hint(client: InMemoryClient, tool: str) -> None:
    output = {} if tool in {"i_tool", "get_input", "ack_input"} else {"output": "result"}
    answer = await client.call(tool, output, session_id="../x")
    assert answer.is_error
    assert "for example a UUID" in answer.text


async def test_a_negative_timeout_is_refused(client: InMemoryClient) -> None:
    assert (await client.call("i_tool", session_id="s", timeout=-1)).is_error


async def test_an_output_may_be_empty_and_half_a_character_is_refused(client: InMemoryClient) -> None:
    assert not (await client.call("o_tool", session_id="s", output="")).is_error
    assert (await client.call("o_tool", session_id="s", output="\ud83d")).is_error
