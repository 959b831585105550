"""``nanobot-transcript mcp assistant`` and ``nanobot-transcript serve``, as people start them."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from support.adapter_place import Place
from support.assistant_clients import page
from support.mcp_client import connected
from support.waiting import PATIENCE, until

pytestmark = pytest.mark.mcp

SHOP: dict[str, Any] = {"project_directory": "/srv/shop", "agent_name": "Alpha"}


@pytest_asyncio.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    async with AsyncExitStack() as stack:
        yield Place(tmp_path, stack)


async def test_the_nine_steps_with_the_file_as_printed_through_a_killed_hub(place: Place) -> None:
    first = await place.hub(**place.listening_twice)
    place.write_file()
    async with connected(place.command()) as client:
        tools = {tool.name for tool in (await client.session.list_tools()).tools}
        assert {"ask_question", "task_finish", "work_report", "get_answer"} <= tools
        asking = asyncio.create_task(client.text("ask_question", question="发布吗？", **SHOP))
        async with page(place.url, "test-token", "Ada") as ada:
            asked = (await ada.until("AskQuestion")).AskQuestionRequest
        first.send_signal(signal.SIGKILL)
        await first.wait()
        second = await place.hub(**place.listening_twice)
        async with page(place.url, "test-token", "Ada") as ada:
            assert (await ada.until("AskQuestion")).AskQuestionRequest.ID == asked.ID
            await ada.reply(asked.ID, "好的")
            assert await asyncio.wait_for(asking, PATIENCE) == "好的"
            reporting = asyncio.create_task(client.text("task_finish", summary="Done.", confirm=True, **SHOP))
            report = (await ada.until("TaskFinish")).WorkReportRequest
            await ada.confirm(report.ID, "谢谢")
            assert await asyncio.wait_for(reporting, PATIENCE) == "谢谢"
            assert await client.text("task_finish", summary="Told.", **SHOP) == "People have been told."
            waiting = await client.text("ask_question", question="?", wait=0, id="mine", **SHOP)
            assert 'id="mine"' in waiting
            await ada.until("AskQuestion")
            await ada.reply("mine", "later")
            assert await client.text("get_answer", id="mine") == "later"
            assert "was withdrawn" not in await client.text("withdraw_question", id="mine")
            left = asyncio.create_task(client.text("ask_question", question="Still there?", **SHOP))
            await ada.until("AskQuestion")
            second.terminate()
            assert await asyncio.wait_for(second.wait(), PATIENCE) == 0  # with a socket and a question open
            left.cancel()
            await asyncio.gather(left, return_exceptions=True)


async def test_with_nothing_but_a_token_of_the_settings_the_adapter_asks_where_its_page_is(place: Place) -> None:
    (place.cwd / ".nanobot").mkdir()
    settings = place.cwd / ".nanobot" / "transcript.yaml"
    settings.write_text("assistant:\n  tokens: {me: test-token}\n", encoding="utf-8")
    await place.hub()
    async with connected(place.command()) as client:
        asking = asyncio.create_task(client.text("ask_question", question="发布吗？", **SHOP))
        async with page(place.url, "test-token", "Ada") as ada:
            await ada.reply((await ada.until("AskQuestion")).AskQuestionRequest.ID, "好的")
        assert await asyncio.wait_for(asking, PATIENCE) == "好的"


async def test_arguments_win_over_the_file_and_the_page_is_opened(place: Place) -> None:
    await place.hub(NANOBOT_TRANSCRIPT_ASSISTANT__TOKENS__ADA="my long token")
    (place.cwd / "agentassistant-mcp.toml").write_text(
        'agentassistant_server_host = "127.0.0.1"\nagentassistant_server_port = 1\nagentassistant_server_token = "x"\n',
        encoding="utf-8",
    )
    browser, opened = place.cwd / "browser", place.cwd / "opened"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}.part && mv {opened}.part {opened}\n', encoding="utf-8")
    browser.chmod(0o755)
    command = place.command("--port", str(place.port), "--token", "my long token", "--web", BROWSER=str(browser))
    async with connected(command) as client:
        asking = asyncio.create_task(client.text("ask_question", question="?", **SHOP))
        async with page(place.url, "my long token") as ada:
            await ada.reply((await ada.until("AskQuestion")).AskQuestionRequest.ID, "yes")
        assert await asyncio.wait_for(asking, PATIENCE) == "yes"
        await until(opened.exists)
    assert opened.read_text().strip() == f"http://127.0.0.1:{place.port}?token=my%20long%20token"
