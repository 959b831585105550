"""The stream of news: what changed in a store is told to every open page, also to one that comes back."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any, NamedTuple

import pytest
from aiohttp import ClientResponse, ClientSession
from support.waiting import PATIENCE
from support.waiting import until as until_true
from support.web_home import CHAT, PROJECT, WebHome

from nanobot_transcript.errors import StoreUnavailableError
from nanobot_transcript.relevance.decision import Reason
from transcript_mcp.hub.web.events import Events, Viewer, Watches
from transcript_mcp.mail.values import Draft
from transcript_mcp.page import polling

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Event(NamedTuple):
    id: str
    kind: str
    data: dict[str, Any]


async def next_event(stream: ClientResponse) -> Event:
    fields: dict[str, str] = {}
    while True:
        line = (await stream.content.readline()).decode().rstrip("\n")
        if not line and "event" in fields:
            return Event(fields.get("id", ""), fields["event"], json.loads(fields["data"]))
        name, _, value = line.partition(": ")
        fields[name] = value


async def until(stream: ClientResponse, **wanted: str) -> Event:
    async with asyncio.timeout(PATIENCE):
        while True:
            event = await next_event(stream)
            if wanted.items() <= event.data.items():
                return event


@asynccontextmanager
async def opened(page: ClientSession, last: str = "") -> AsyncIterator[ClientResponse]:
    headers = {"Last-Event-ID": last} if last else {}
    async with page.get("/api/events", headers=headers) as stream:
        assert stream.content_type == "text/event-stream"
        yield stream


async def first_look(stream: ClientResponse, home: WebHome) -> str:
    """Write until it is told: what stood there before the first look is no news."""
    async with asyncio.timeout(PATIENCE):
        number = 0
        told = asyncio.create_task(until(stream, room="groups", what="messages"))
        while not told.done():
            number += 1
            home.say("on_ada", f"Still there? {number}", f"om_look_{id(stream)}_{number}")
            await asyncio.wait((told,), timeout=0.2)
        return told.result().id


async def test_a_message_a_decision_and_a_letter_are_told_as_they_come(page: ClientSession, home: WebHome) -> None:
    async with opened(page) as stream:
        hello = await next_event(stream)
        assert hello.kind == "hello"
        await first_look(stream, home)
        home.decide("om_5", "Alpha", False, Reason.SCORE_LOW, 0.1)
        assert (await until(stream, room="groups", what="decisions")).data["chat"] == CHAT
        home.mail.send(PROJECT, home.mail.acting(PROJECT, "BlueLake"), Draft("Hi", "x", to=["GreenCastle"]))
        await until(stream, room="mail")
        home.boxes.mailbox("qa_agent").send("ops_agent", "INFO", "Hello", "x")
        await until(stream, room="boxes", agent="ops_agent")


async def test_a_page_that_comes_back_is_told_what_it_missed(page: ClientSession, home: WebHome) -> None:
    async with opened(page) as other, opened(page) as stream:
        last = await first_look(stream, home)
        stream.close()
        home.say("Beta", "While you were away", "om_away")
        await until(other, room="groups", what="messages")
        async with opened(page, last) as back:
            missed = await until(back, room="groups", what="messages")
            assert missed.id != last


async def test_a_page_from_before_a_restart_loads_anew(page: ClientSession) -> None:
    async with opened(page) as stream:
        boot = (await next_event(stream)).id.partition("-")[0]
    wrong = (f"{boot}-{'0' * 17}1{'9' * 5000}", f"{boot}-99999999999999999999", f"{boot}--1", f"{boot}-\u00b2")
    for last in ("0badc0de-7", "nonsense", "-", "0badc0de-99999999999999999999999", *wrong):
        async with opened(page, last) as stream:
            assert (await next_event(stream)).kind == "hello"
            assert (await next_event(stream)).kind == "reload"


async def test_a_room_that_cannot_be_looked_at_hides_no_news_of_the_others(caplog: pytest.LogCaptureFixture) -> None:
    looks = count()

    def fails() -> dict[Any, Any]:
        raise ValueError("broken")

    events, viewer = Events(), Viewer("ada", 0.0)
    events.viewers.add(viewer)
    events.came.set()
    watches = {"mail": polling(fails), "groups": polling(lambda: {(("what", "messages"),): next(looks)}, every=0)}
    looking = asyncio.create_task(Watches(events, watches).run())
    await asyncio.wait_for(viewer.called.wait(), PATIENCE)
    looking.cancel()
    assert json.loads(viewer.waiting[0].partition("data: ")[2]) == {"room": "groups", "what": "messages"}
    assert "Watching mail failed" in caplog.text


async def test_a_room_that_cannot_be_looked_at_for_a_while_is_told_of_once_when_it_can(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("transcript_mcp.hub.web.events._AFTER_TROUBLE", 0.001)
    tries = count()

    def look() -> dict[Any, Any]:
        if next(tries) < 5:
            raise StoreUnavailableError("not now")
        return {}

    events, viewer = Events(), Viewer("ada", 0.0)
    events.viewers.add(viewer)
    events.came.set()
    looking = asyncio.create_task(Watches(events, {"mail": polling(look, every=0.001)}).run())
    await asyncio.wait_for(viewer.called.wait(), PATIENCE)
    await until_true(lambda: next(tries) > 100)
    looking.cancel()
    assert len(viewer.waiting) == 1


async def test_who_is_connected_stands_in_the_system(page: ClientSession) -> None:
    async with opened(page) as stream:
        await next_event(stream)
        await until(stream, room="system", what="clients")
        async with page.get("/api/system") as answer:
            assert len((await answer.json())["viewers"]) >= 1
