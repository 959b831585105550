"""Questions that the agent's client puts to its person, too: real clients over HTTP and over stdio."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from integration.assistant.test_adapter import Place, place
from support.assistant_clients import Page, page
from support.hubs import listening
from support.mcp_client import SdkClient, connected, needs_sdk_2
from support.mcp_raw import RawClient
from support.waiting import PATIENCE

from nanobot_transcript.settings import Settings
from transcript_mcp.assistant.protocol import proto
from transcript_mcp.hub import create_app

__all__ = ["place"]

SHOP: dict[str, Any] = {"project_directory": "/srv/shop", "agent_name": "Alpha"}
ELICIT = {"NANOBOT_TRANSCRIPT_ASSISTANT__ELICIT": "true"}
Fill = Callable[[str], dict[str, Any] | Awaitable[dict[str, Any]]]
Meet = Callable[[Fill | None], Any]


def accept(**fields: Any) -> dict[str, Any]:
    return {"action": "accept", "content": fields}


def hub_at(place: Place, folder: Path, **assistant: Any) -> AbstractAsyncContextManager[str]:
    """A hub in this process, where a client of ``place`` looks for it."""
    settings = Settings.model_validate(
        {"hub": {"data_dir": folder / "hub"}, "store": {"dir": folder / "groups"}, "assistant": assistant}
    )
    return listening(create_app(settings), place.port)


@pytest.fixture(params=["http", "stdio"])
def meet(request: pytest.FixtureRequest, tmp_path: Path, place: Place) -> Meet:
    """``async with meet(fill) as (ada, agent)``: a person with a page, and a client whose own person fills forms."""

    over_http = request.param == "http"

    @asynccontextmanager
    async def meeting(fill: Fill | None) -> AsyncIterator[tuple[Page, SdkClient]]:
        target = f"{place.url}/mcp/assistant" if over_http else place.command(**ELICIT)
        async with (
            hub_at(place, tmp_path, elicit=over_http) as url,
            page(url, "local", "Ada") as ada,
            connected(target, elicit=fill) as agent,
        ):
            yield ada, agent

    return meeting


async def test_what_the_form_says_is_the_answer_and_the_pages_are_told(meet: Meet) -> None:
    asked: list[str] = []

    def fill(message: str) -> dict[str, Any]:
        asked.append(message)
        return accept(answer="周三")

    async with asyncio.timeout(PATIENCE), meet(fill) as (ada, agent):
        assert await agent.text("ask_question", question="哪天发布？", **SHOP) == "周三"
        assert asked == ["哪天发布？"]
        told = await ada.until("AskQuestionReplyNotification")
        assert told.AskQuestionResponse.contents[0].text.text == "周三"
        assert told.Nickname == "mcp"  # what the client calls itself


async def test_a_form_that_says_nothing_leaves_the_question_to_the_page(meet: Meet) -> None:
    said = {
        "decline": {"action": "decline"},
        "cancel": {"action": "cancel"},
        "blank": accept(answer=" "),
        "empty": accept(),
    }
    shown: dict[str, asyncio.Event] = {how: asyncio.Event() for how in said}

    def fill(how: str) -> dict[str, Any]:
        shown[how].set()
        return said[how]

    async with asyncio.timeout(PATIENCE), meet(fill) as (ada, agent):
        for how in said:
            asking = asyncio.create_task(agent.text("ask_question", question=how, **SHOP))
            asked = (await ada.until("AskQuestion")).AskQuestionRequest.ID
            await shown[how].wait()
            await ada.reply(asked, f"{how}, from the page")
            assert await asking == f"{how}, from the page"


async def test_a_client_without_forms_waits_for_the_page(meet: Meet) -> None:
    async with asyncio.timeout(PATIENCE), meet(None) as (ada, agent):
        asking = asyncio.create_task(agent.text("ask_question", question="?", **SHOP))
        await ada.reply((await ada.until("AskQuestion")).AskQuestionRequest.ID, "yes")
        assert await asking == "yes"


async def answered(ada: Page) -> tuple[str, str]:
    """By whom and where the newest question was answered, once it is."""
    while True:
        await ada.send("GetHistory", GetHistoryRequest=proto.GetHistoryRequest(limit=1))
        (record,) = (await ada.until("GetHistory")).GetHistoryResponse.records
        if record.state == "answered":
            return record.answered_by, record.answered_where


async def test_an_answer_from_the_page_counts_while_the_form_is_open(meet: Meet) -> None:
    shown, closed = asyncio.Event(), asyncio.Event()

    async def fill(_message: str) -> dict[str, Any]:
        shown.set()
        await closed.wait()
        return accept(answer="too late")

    async with asyncio.timeout(PATIENCE), meet(fill) as (ada, agent):
        asking = asyncio.create_task(agent.text("ask_question", question="?", **SHOP))
        asked = (await ada.until("AskQuestion")).AskQuestionRequest.ID
        await shown.wait()
        await ada.reply(asked, "from the page")
        assert await answered(ada) == ("Ada", "web")
        closed.set()
        assert await asking == "from the page"
        assert await agent.text("get_answer", id=asked) == "from the page"  # the connection is as good as before


async def test_the_client_is_told_that_its_form_is_not_needed_any_more(place: Place, tmp_path: Path) -> None:
    async with hub_at(place, tmp_path) as url:
        with RawClient(place.command(**ELICIT)) as client:
            capable = {"protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}}}
            client.ask("initialize", **capable, clientInfo={"name": "raw", "version": "0"})
            await asyncio.to_thread(client.line)
            client.notify("notifications/initialized")
            call = client.ask("tools/call", name="ask_question", arguments={"question": "?", **SHOP})
            form = await asyncio.to_thread(client.line)
            assert (form["method"], form["params"]["message"]) == ("elicitation/create", "?")
            async with page(url, "local", "Ada") as ada:
                await ada.reply((await ada.until("AskQuestion")).AskQuestionRequest.ID, "from the page")
            told = await asyncio.to_thread(client.line)
            assert (told["method"], told["params"]["requestId"]) == ("notifications/cancelled", form["id"])
            answer = await asyncio.to_thread(client.line)
            assert (answer["id"], answer["result"]["content"][0]["text"]) == (call, "from the page")
            late = {"jsonrpc": "2.0", "id": form["id"], "result": accept(answer="too late")}
            client.send(json.dumps(late).encode() + b"\n")
            ping = client.ask("ping")
            assert (await asyncio.to_thread(client.line))["id"] == ping


@pytest.mark.mcp
@needs_sdk_2
async def test_a_client_of_the_newest_protocol_waits_for_the_page(place: Place, tmp_path: Path) -> None:
    """There, a form would end the call."""
    from support.mcp_newest import newest

    async def fill(_context: Any, _params: Any) -> Any:
        raise AssertionError

    async with (
        asyncio.timeout(PATIENCE),
        hub_at(place, tmp_path) as url,
        page(url, "local", "Ada") as ada,
        newest(place.command(**ELICIT), elicitation_callback=fill) as agent,
    ):
        asking = asyncio.create_task(agent.call_tool("ask_question", {"question": "?", **SHOP}))
        await ada.reply((await ada.until("AskQuestion")).AskQuestionRequest.ID, "yes")
        (block,) = (await asking).content
        assert block.text == "yes"  # pyright: ignore[reportAttributeAccessIssue]
