"""The numbers of the protocol, written out here: a hub takes what other programs send, and answers what they can read.

Neither side of a test uses the table of ``schema``, so that a wrong number there does not pass.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from integration.assistant.conftest import Hub
from support.plain_frames import Value, all_at, at, encoded
from support.waiting import PATIENCE

TOKEN = "test-token"
ABOUT: Mapping[int, Value] = {3: 60, 4: "Alpha", 5: "a-model", 6: "Cursor"}
"""Timeout, AgentName, ReasoningModelName, McpClientName."""

QUESTION: Mapping[int, Value] = {
    1: "/srv/shop",
    2: "Deploy?",
    **ABOUT,
    7: [{1: "When?", 2: "Day", 3: [{1: "Today", 2: "at noon"}, {1: "Never"}], 4: 1, 5: 1}],
}
REPORT: Mapping[int, Value] = {1: "/srv/shop", 2: "Done.", **ABOUT}
CONTENTS: Sequence[Mapping[int, Value]] = (
    {1: 1, 2: {1: "text", 2: "Thanks."}},
    {1: 2, 3: {1: "image", 2: "aW1hZ2U=", 3: "image/png"}},
    {1: 3, 4: {1: "audio", 2: "c291bmQ=", 3: "audio/wav"}},
    {1: 4, 5: {1: "embedded_resource", 2: "plan.txt", 3: "text/plain", 4: b"file"}},
)


class PlainPage:
    """A program at ``/ws``."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self.client_id = b""

    async def send(self, cmd: str, fields: Mapping[int, Value] | None = None) -> None:
        await self._socket.send_bytes(encoded({1: cmd, **(fields or {})}))

    async def until(self, cmd: str) -> bytes:
        """The next frame with this command."""
        async with asyncio.timeout(PATIENCE):
            while True:
                frame = await self._socket.receive_bytes()
                if at(frame, 1) == cmd.encode():
                    return frame

    async def asked(self, cmd: str, fields: Mapping[int, Value] | None = None) -> bytes:
        """What a command is answered."""
        await self.send(cmd, fields)
        return await self.until(cmd)


@asynccontextmanager
async def plain_page(hub: Hub, nickname: str) -> AsyncIterator[PlainPage]:
    async with aiohttp.ClientSession() as http, http.ws_connect(f"{hub.url}/ws") as socket:
        opened = PlainPage(socket)
        login = await opened.asked("UserLogin", {12: TOKEN, 18: nickname})
        assert at(login, 23, 2) == 1
        client_id = at(login, 23, 1)
        assert isinstance(client_id, bytes)
        opened.client_id = client_id
        yield opened


async def call(hub: Hub, method: str, message: Mapping[int, Value]) -> bytes:
    """What a call with these bytes is answered."""
    address = f"{hub.url}/agentassistproto.SrvAgentAssist/{method}"
    headers = {"Content-Type": "application/proto", "Connect-Protocol-Version": "1"}
    async with aiohttp.ClientSession() as http, http.post(address, data=encoded(message), headers=headers) as answer:
        assert answer.status == 200
        return await answer.read()


@asynccontextmanager
async def calling(hub: Hub, method: str, id: str, request: Mapping[int, Value]) -> AsyncIterator["asyncio.Task[bytes]"]:
    """A call that waits: ID (1), UserToken (2), Request (3), Timestamp (4)."""
    task = asyncio.create_task(call(hub, method, {1: id, 2: TOKEN, 3: request, 4: 5}))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def is_about_now(value: int | bytes, unit: int) -> bool:
    return isinstance(value, int) and abs(value / unit - time.time()) < 600


@pytest.mark.parametrize(
    ("method", "request_field", "response_field", "asked"),
    [("AskQuestion", 2, 4, QUESTION), ("TaskFinish", 3, 5, REPORT), ("WorkReport", 3, 5, REPORT)],
)
async def test_what_is_asked_goes_to_the_pages_and_what_is_answered_to_who_asked_and_to_other_pages(
    hub: Hub, method: str, request_field: int, response_field: int, asked: Mapping[int, Value]
) -> None:
    async with (
        plain_page(hub, "Ada") as ada,
        plain_page(hub, "Bo") as bo,
        calling(hub, method, "r1", asked) as waiting,
    ):
        frame = await ada.until(method)
        assert at(frame, request_field, 1) == b"r1"
        assert all_at(frame, request_field, 2) == []  # no page is told the token
        assert at(frame, request_field, 3) == encoded(asked)
        assert is_about_now(at(frame, request_field, 4), 1000)
        await ada.send(f"{method}Reply", {request_field: {1: "r1", 2: "old"}, response_field: {1: "r1", 4: CONTENTS}})
        answer = await asyncio.wait_for(waiting, PATIENCE)
        assert at(answer, 1) == b"r1"
        assert all_at(answer, 2) == []  # IsError
        meta = {at(entry, 1): at(entry, 2) for entry in all_at(answer, 3) if isinstance(entry, bytes)}
        assert (meta[b"answered_by"], meta[b"status"]) == (b"Ada", b"answered")
        contents = [encoded(each) for each in CONTENTS]
        assert all_at(answer, 4) == contents
        told = await bo.until(f"{method}ReplyNotification")
        assert (at(told, request_field, 1), at(told, request_field, 3)) == (b"r1", encoded(asked))
        assert (at(told, response_field, 1), all_at(told, response_field, 4)) == (b"r1", contents)
        assert (at(told, 12), at(told, 18)) == (b"Thanks.", b"Ada")


@pytest.mark.parametrize(("method", "asked"), [("AskQuestion", QUESTION), ("TaskFinish", REPORT)])
async def test_what_nobody_answers_in_time_is_told_to_who_asked_and_to_the_pages(
    hub: Hub, method: str, asked: Mapping[int, Value]
) -> None:
    async with plain_page(hub, "Ada") as ada, calling(hub, method, "q1", {**asked, 3: 1}) as waiting:
        cancelled = await ada.until("RequestCancelled")
        said = [at(cancelled, 17, number) for number in (1, 2, 3, 4)]
        assert said == [b"q1", b"timeout", method.encode(), b"timeout"]
        answer = await asyncio.wait_for(waiting, PATIENCE)
        assert (at(answer, 1), at(answer, 2)) == (b"q1", 1)
        assert (b"error", b"timeout") in [(at(e, 1), at(e, 2)) for e in all_at(answer, 3) if isinstance(e, bytes)]


async def test_a_page_asks_which_questions_wait_and_for_all_of_them(hub: Hub) -> None:
    async with (
        plain_page(hub, "Ada") as ada,
        calling(hub, "AskQuestion", "q1", QUESTION),
        calling(hub, "TaskFinish", "r1", REPORT),
    ):
        for cmd in ("AskQuestion", "TaskFinish"):
            await ada.until(cmd)
        checked = await ada.asked("CheckMessageValidity", {13: {1: ["q1", "gone"]}})
        entries = [each for each in all_at(checked, 14, 1) if isinstance(each, bytes)]
        assert {at(each, 1): any(all_at(each, 2)) for each in entries} == {b"q1": True, b"gone": False}
        pending = await ada.asked("GetPendingMessages", {15: {1: TOKEN}})
        assert at(pending, 16, 2) == 2
        waiting: dict[Any, bytes] = {at(each, 1): each for each in all_at(pending, 16, 1) if isinstance(each, bytes)}
        question, report = waiting[b"AskQuestion"], waiting[b"TaskFinish"]
        assert (at(question, 2, 1), at(question, 2, 3)) == (b"q1", encoded(QUESTION))
        assert (at(report, 3, 1), at(report, 3, 3)) == (b"r1", encoded(REPORT))
        for each in waiting.values():
            assert is_about_now(at(each, 4), 1)
            assert at(each, 5) == 60


async def test_a_login_without_a_token_is_refused_in_words(hub: Hub) -> None:
    async with plain_page(hub, "Ada") as ada:
        refused = await ada.asked("UserLogin", {12: " "})
        assert (all_at(refused, 23, 2), at(refused, 23, 3)) == ([], b"A token is needed.")


async def test_people_see_who_comes_and_goes_and_talk_to_each_other(hub: Hub) -> None:
    async with plain_page(hub, "Ada") as ada:
        async with plain_page(hub, "Bo") as bo:
            here = await ada.until("UserConnectionStatusNotification")
            assert [at(here, 24, *path) for path in ((1, 1), (1, 2), (2,))] == [bo.client_id, b"Bo", b"connected"]
            assert is_about_now(at(here, 24, 1, 3), 1)
            assert is_about_now(at(here, 24, 3), 1)
            online = await ada.asked("GetOnlineUsers", {19: {1: TOKEN}})
            assert [at(online, 20, *path) for path in ((1, 1), (1, 2), (2,))] == [bo.client_id, b"Bo", 1]
            assert is_about_now(at(online, 20, 1, 3), 1)
            await ada.send("SendChatMessage", {21: {1: bo.client_id, 2: "Lunch?"}})
            said = await bo.until("ChatMessageNotification")
            people = [ada.client_id, b"Ada", bo.client_id, b"Bo"]
            assert [at(said, 22, 1, number) for number in (2, 3, 4, 5, 6)] == [*people, b"Lunch?"]
            assert at(said, 22, 1, 1)
            assert is_about_now(at(said, 22, 1, 7), 1)
        gone = await ada.until("UserConnectionStatusNotification")
        assert (at(gone, 24, 1, 1), at(gone, 24, 2)) == (bo.client_id, b"disconnected")
