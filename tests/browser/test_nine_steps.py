"""The whole way: a hub and the adapter with its file as processes, the SDK's client, and a person at the page."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from browser.people import call_me, fill, send
from browser.windows import OpenPage
from support.adapter_place import Place
from support.mcp_client import connected
from support.waiting import PATIENCE

SHOP: dict[str, Any] = {"project_directory": "/srv/shop", "agent_name": "BlueLake", "timeout": 60}


class Work:
    """What an agent does, from the start of its adapter on: it asks, and then reports and waits to be confirmed."""

    def __init__(self, home: Path) -> None:
        self.address: Future[str] = Future()
        self.answer: Future[str] = Future()
        self.confirmation: Future[str] = Future()
        self.pages_closed: Future[None] = Future()
        self._home = home

    def run(self) -> None:
        asyncio.run(self._run())

    async def _run(self) -> None:
        async with AsyncExitStack() as stack:
            place = Place(self._home, stack)
            place.write_file()
            await place.hub(**place.listening_twice)
            client = await stack.enter_async_context(connected(place.command()))
            self.address.set_result(f"http://127.0.0.1:{place.second}")
            async with asyncio.timeout(PATIENCE):
                self.answer.set_result(await client.text("ask_question", question="发布 **1.4** 吗？", **SHOP))
                done = await client.text("task_finish", summary="Released 1.4.", confirm=True, **SHOP)
                self.confirmation.set_result(done)
                await asyncio.wrap_future(self.pages_closed)


@pytest.fixture
def work(tmp_path: Path, browser: object) -> Iterator[Work]:
    """An agent at work, where there is a browser. Name it before ``open_page``, so that its hub outlives the pages."""
    agent = Work(tmp_path)
    with ThreadPoolExecutor(1) as calls:
        running = calls.submit(agent.run)
        yield agent
        agent.pages_closed.set_result(None)
        running.result()


def test_the_nine_steps_from_the_file_of_the_adapter_to_what_is_confirmed_on_the_page(
    work: Work, open_page: OpenPage
) -> None:
    page = open_page("?token=test-token", base=work.address.result(PATIENCE))  # the address that --web opens
    page.locator("[data-connection=live]").first.wait_for()
    assert "test-token" not in page.url
    page.get_by_role("link", name="Questions").first.click()
    call_me(page, "Ada")
    page.get_by_role("link", name="BlueLake").first.click()
    page.get_by_role("log").get_by_text("发布 1.4 吗？").last.wait_for()
    fill(page, "好的，中午之后。")
    send(page)
    assert work.answer.result(PATIENCE) == "好的，中午之后。"
    page.get_by_text("Released 1.4.").last.wait_for()
    page.get_by_role("button", name="Confirm").click()
    assert work.confirmation.result(PATIENCE) == "OK"
    page.get_by_text("answered by Ada").last.wait_for()
