"""The desk of another process: what the adapter says to a hub."""

import asyncio
import socket
from pathlib import Path

import pytest
from aiohttp import web
from integration.assistant.conftest import Hub, running_hub
from msgspec.structs import replace
from support.assistant_clients import page, text_content
from support.hubs import listening
from support.waiting import PATIENCE

from nanobot_transcript.errors import (
    HubUnreachableError,
    InvalidQuestionError,
    TokenRefusedError,
    UnknownQuestionError,
)
from transcript_mcp.assistant.protocol import proto
from transcript_mcp.assistant.questions.values import AnswerContent, Choices, Option, Question, text_of
from transcript_mcp.assistant.remote_desk import RemoteDesk
from transcript_mcp.assistant.server import build_server
from transcript_mcp.assistant.tools import ToolOptions
from transcript_mcp.sdk.testing import InMemoryClient

ANSWERED = b"\x0a\x02q1\x22\x0e\x08\x01\x12\x0a\x0a\x04text\x12\x02ok"
"""AskQuestionResponse with ID (1) and contents (4)."""

ASKED = Question(
    "",
    "q1",
    "question",
    "Deploy?",
    said_as="AskQuestion",
    project="/p",
    choices=(Choices("?", options=(Option("a"),)),),
)


async def test_a_question_goes_over_with_its_choices_and_comes_back_answered(hub: Hub) -> None:
    desk = RemoteDesk(hub.url, "test-token")
    async with page(hub.url, "test-token", "Ada") as ada:
        await desk.ask(ASKED)
        waiting = asyncio.create_task(desk.wait("", "q1"))
        request = (await ada.until("AskQuestion")).AskQuestionRequest.Request
        assert [option.label for option in request.Questions[0].options] == ["a"]
        await ada.reply("q1", "yes")
        record = await asyncio.wait_for(waiting, PATIENCE)
    assert (record.state, record.by, record.contents[0].text) == ("answered", "Ada", "yes")


@pytest.mark.parametrize(("named", "asked_in"), [("oc_2", "feishu:oc_2"), ("", ""), (None, "feishu:oc_1")])
async def test_a_question_names_its_group_or_none_or_leaves_it_to_the_settings_of_the_hub(
    tmp_path: Path, named: str | None, asked_in: str
) -> None:
    async with running_hub(tmp_path, chat="oc_1") as hub, page(hub.url, "test-token") as ada:
        client = InMemoryClient(build_server(RemoteDesk(hub.url, "test-token"), lambda _ctx: "", ToolOptions()))
        chat = {} if named is None else {"chat": named}
        answer = await client.call("ask_question", question="?", project_directory="/p", id="q1", wait=0, **chat)
        assert not answer.is_error, answer.text
        record = await hub.assistant.wait(hub.tokens.asking("test-token").scopes[0], "q1", 0)
        assert record.question.chat == asked_in
        await ada.until("AskQuestion")
        assert not any(b"oc_" in frame for frame in ada.raw)


async def test_a_hub_of_the_original_is_told_what_it_knows_and_the_group_beside_it() -> None:
    told: list[bytes] = []

    async def answering(request: web.Request) -> web.Response:
        told.append(await request.read())
        return web.Response(body=ANSWERED, content_type="application/proto")

    app = web.Application()
    app.router.add_post("/agentassistproto.SrvAgentAssist/AskQuestion", answering)
    plain = Question("", "q1", "question", "?", said_as="AskQuestion", project="/p", timeout=60)
    async with listening(app) as url:
        desk = RemoteDesk(url, "t")
        for question in (plain, replace(plain, chat="oc_2")):
            await desk.ask(question)
            record = await desk.wait("", "q1")
            assert (record.state, record.contents[0].text) == ("answered", "ok")
    said = b"\x0a\x02/p\x12\x01?\x18\x3c"  # ProjectDirectory (1), Question (2), Timeout (3)
    assert told == [
        b"\x0a\x02q1\x12\x01t\x1a" + bytes([len(request)]) + request  # ID (1), UserToken (2), Request (3)
        for request in (said, said + b"\xa2\x06\x04oc_2")  # Chat (100)
    ]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"\x0a\x02q1\x10\x01\x22\x0e\x08\x01\x12\x0a\x0a\x04text\x12\x02no", "no"),  # IsError (2), contents (4)
        (b"\x0a\x02q1\x10\x01\x1a\x11\x0a\x05error\x12\x08declined", "declined"),  # IsError (2), Meta (3)
        (b"\x0a\x02q1\x10\x01", ""),
    ],
)
async def test_the_error_of_a_client_comes_through_a_hub_of_the_original(answer: bytes, said: str) -> None:
    async def answering(_request: web.Request) -> web.Response:
        return web.Response(body=answer, content_type="application/proto")

    app = web.Application()
    app.router.add_post("/agentassistproto.SrvAgentAssist/AskQuestion", answering)
    async with listening(app) as url:
        desk = RemoteDesk(url, "t")
        await desk.ask(ASKED)
        record = await desk.wait("", "q1")
    assert (record.state, text_of(record.contents)) == ("refused", said)


async def test_the_error_of_a_client_comes_from_our_own_hub_with_who_said_it(hub: Hub) -> None:
    desk = RemoteDesk(hub.url, "test-token")
    await desk.ask(ASKED)
    async with page(hub.url, "test-token", "Ada") as ada:
        waiting = asyncio.create_task(desk.wait("", "q1"))
        await ada.until("AskQuestion")
        response = proto.AskQuestionResponse(ID="q1", IsError=True, contents=[text_content("no")])
        await ada.send("AskQuestionReply", AskQuestionResponse=response)
        record = await asyncio.wait_for(waiting, PATIENCE)
    assert (record.state, record.by, text_of(record.contents)) == ("refused", "Ada", "no")


async def test_what_is_no_group_is_refused_at_once_and_by_the_hub_too(hub: Hub) -> None:
    with pytest.raises(InvalidQuestionError, match="not a group chat"):
        await RemoteDesk(hub.url, "test-token").ask(replace(ASKED, chat="feishu:"))
    answer = await hub.caller.ask("q1", Chat="feishu:")
    assert answer.IsError
    assert "not a group chat" in answer.contents[0].text.text


async def test_an_answer_that_overtakes_its_question_is_said_again() -> None:
    said: list[bytes] = []

    async def answering(request: web.Request) -> web.Response:
        said.append(await request.read())
        if len(said) < 3:
            return web.json_response({"code": "not_found", "message": "There is no such question."}, status=404)
        return web.Response(content_type="application/proto")

    app = web.Application()
    app.router.add_post("/agentassistproto.SrvAgentAssistReply/AskQuestionReply", answering)
    async with listening(app) as url:
        desk = RemoteDesk(url, "t")
        await desk.answer("", "q1", [AnswerContent("text", "yes")], by="Ada", where="elicitation")
    assert len(said) == 3
    assert len(set(said)) == 1


async def test_who_stops_waiting_leaves_the_question_open_for_a_while(hub: Hub) -> None:
    desk = RemoteDesk(hub.url, "test-token")
    await desk.ask(ASKED)
    assert (await desk.wait("", "q1", 0)).state == "waiting"
    async with page(hub.url, "test-token") as ada:
        await ada.until("AskQuestion")
        await ada.reply("q1", "yes")
        assert (await desk.wait("", "q1", PATIENCE)).state == "answered"
    assert (await RemoteDesk(hub.url, "test-token").wait("", "q1", 0)).state == "answered"


async def test_a_question_is_withdrawn_over_there(hub: Hub) -> None:
    desk = RemoteDesk(hub.url, "test-token")
    await desk.ask(ASKED)
    await desk.wait("", "q1", 0)
    assert (await desk.withdraw("", "q1")).state == "withdrawn"
    with pytest.raises(UnknownQuestionError):
        await desk.withdraw("", "other")


async def test_a_wrong_token_and_an_unknown_id_are_told_as_such(tmp_path: Path) -> None:
    async with running_hub(tmp_path, ada="ada-secret") as hub:
        stranger = RemoteDesk(hub.url, "test-token")
        await stranger.ask(ASKED)
        with pytest.raises(TokenRefusedError):
            await stranger.wait("", "q1", 0)
        with pytest.raises(InvalidQuestionError, match=r"There is no question with this id\. Check the id"):
            await RemoteDesk(hub.url, "ada-secret").wait("", "q1", 0)


async def test_what_keeps_a_hub_from_helping_is_told_when_its_time_is_over(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transcript_mcp.assistant.remote_desk._BEYOND", 0.5)
    desk = RemoteDesk(hub.url, "test-token")
    (tmp_path / "assistant.sqlite3").mkdir()
    await desk.ask(ASKED)
    with pytest.raises(HubUnreachableError, match="not a plain file"):
        await desk.wait("", "q1", 0)
    (tmp_path / "assistant.sqlite3").rmdir()
    assert (await desk.wait("", "q1", 0)).state == "waiting"


async def test_where_no_hub_is_the_agent_is_told_how_to_start_one() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        desk = RemoteDesk(f"http://127.0.0.1:{taken.getsockname()[1]}", "test-token")
        await desk.ask(ASKED)
        with pytest.raises(HubUnreachableError) as unreachable:
            await desk.wait("", "q1")
    assert "nanobot-transcript serve" in unreachable.value.hint


async def test_half_a_character_in_an_argument_arrives_as_a_whole_one(hub: Hub) -> None:
    client = InMemoryClient(build_server(RemoteDesk(hub.url, "test-token"), lambda _ctx: "", ToolOptions()))
    said = {"question": "?\ud800", "project_directory": "/p\ud800", "options": ["\ud800ok"], "id": "q1"}
    answer = await client.call("ask_question", wait=0, **said)
    assert "The id is q1" in answer.text
    refused = [await client.call("ask_question", chat="oc_\ud800", **said)]
    refused += [await client.call(tool, id="\ud800") for tool in ("get_answer", "withdraw_question")]
    for answer in refused:
        assert answer.is_error
        assert "internal" not in answer.text.lower()
