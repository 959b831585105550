"""Nothing of one token's reaches another's, and bad input harms nobody."""

import asyncio
import gzip
import io
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from integration.assistant.conftest import Hub, running_hub
from support.assistant_clients import Caller, page, text_content, transport_of
from support.waiting import PATIENCE, until

from transcript_mcp.assistant.protocol import proto, wire

ASK = "/agentassistproto.SrvAgentAssist/AskQuestion"
JSON = {"Content-Type": "application/json"}
BODY = json.dumps({"ID": "q1", "UserToken": "test-token", "Request": {"Question": "?", "Timeout": 1}})


async def post(hub: Hub, path: str, data: Any, headers: dict[str, str]) -> tuple[int, Any]:
    async with (
        aiohttp.ClientSession() as http,
        http.post(f"{hub.url}{path}", data=data, headers=headers, skip_auto_headers=("Content-Type",)) as response,
    ):
        text = await response.text()
        return response.status, json.loads(text) if text.startswith("{") else text


async def alive(hub: Hub) -> None:
    """A question still goes its way."""
    async with page(hub.url, "test-token") as ada:
        asking = asyncio.create_task(hub.caller.ask("alive"))
        while (await ada.until("AskQuestion")).AskQuestionRequest.ID != "alive":
            pass
        await ada.reply("alive", "yes")
        assert (await asyncio.wait_for(asking, PATIENCE)).contents[0].text.text == "yes"


async def test_not_one_byte_reaches_another_token_or_none(tmp_path: Path) -> None:
    secrets = [b"geheim-question", b"geheim-answer", b"geheim-id", b"ada-secret", b"Ada-nick", b"geheim-note"]
    async with running_hub(tmp_path, ada="ada-secret", eve="eve-secret") as hub:
        async with page(hub.url, "eve-secret", "Eve") as eve, page(hub.url) as nobody:
            caller = Caller(hub.url, "ada-secret")
            async with page(hub.url, "ada-secret", "Ada-nick") as ada:
                client_id = (await ada.login("ada-secret", "Ada-nick")).client_id
                secrets.append(client_id.encode())
                asking = asyncio.create_task(caller.ask("geheim-id", "geheim-question"))
                await ada.until("AskQuestion")
                for stranger in (eve, nobody):
                    await stranger.reply("geheim-id", "mine")
                    await stranger.send("GetPendingMessages")
                    await stranger.send("GetOnlineUsers")
                    await stranger.send("GetHistory", GetHistoryRequest=proto.GetHistoryRequest())
                    ids = proto.CheckMessageValidityRequest(request_ids=["guessed"])
                    await stranger.send("CheckMessageValidity", CheckMessageValidityRequest=ids)
                    chat = proto.SendChatMessageRequest(receiver_client_id=client_id, content="hi")
                    await stranger.send("SendChatMessage", SendChatMessageRequest=chat)
                note = proto.AgentMessage(project_directory="/srv/shop", agent_name="Alpha", text="geheim-note")
                await ada.send("AgentMessage", AgentMessage=note)
                await ada.until("AgentMessage")
                await ada.reply("geheim-id", "geheim-answer")
                answer = await asyncio.wait_for(asking, PATIENCE)
                assert answer.contents[0].text.text == "geheim-answer"
                foreign = await Caller(hub.url, "eve-secret").ask("geheim-id", "other", Wait=0)
                assert foreign.Meta["status"] == "waiting"
                with pytest.raises(AssertionError, match="404"):
                    await Caller(hub.url, "eve-secret").call(
                        "AskQuestionReply",
                        proto.AskQuestionResponse(ID="geheim-other", contents=[text_content("x")]),
                        proto.AskQuestionResponse,
                        service="SrvAgentAssistReply",
                    )
            for stranger in (eve, nobody):
                await stranger.send("Last")
                while (frame := await stranger.frame()).ErrorNotification.cmd != "Last":
                    if frame.Cmd == "AskQuestion":  # the one of its own
                        stranger.raw.pop()
        eve.raw = [data for data in eve.raw if b"other" not in data]
        seen = b"".join([*eve.raw, *nobody.raw])
    assert [secret for secret in secrets if secret in seen] == []


async def test_nothing_of_it_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    async with running_hub(tmp_path, ada="ada-secret") as hub:
        async with page(hub.url, "ada-secret", "Ada-nick") as ada:
            asking = asyncio.create_task(Caller(hub.url, "ada-secret").ask("q1", "geheim-question"))
            await ada.until("AskQuestion")
            await ada.reply("q1", "geheim-answer")
            await asyncio.wait_for(asking, PATIENCE)
            await ada.socket.send_bytes(b"\xff geheim-frame")
        await post(hub, ASK, b'{"UserToken": "wrong-secret", "ID": "geheim-id"', JSON)
    said = "\n".join(f"{record.getMessage()} {record.exc_text or ''}" for record in caplog.records)
    assert [word for word in ("ada-secret", "wrong-secret", "geheim", "Ada-nick") if word in said] == []


async def test_answers_of_strangers_do_not_count(tmp_path: Path) -> None:
    async with running_hub(tmp_path, ada="ada-secret", eve="eve-secret") as hub:
        caller = Caller(hub.url, "ada-secret")
        async with page(hub.url, "eve-secret") as eve, page(hub.url) as nobody, page(hub.url, "ada-secret") as ada:
            asking = asyncio.create_task(caller.ask("q1"))
            await ada.until("AskQuestion")
            for stranger, code in ((eve, "unknown_question"), (nobody, "token_refused")):
                await stranger.reply("q1", "mine")
                assert (await stranger.until("Error")).ErrorNotification.code == code
            await ada.reply("q1", "yes")
            assert (await asyncio.wait_for(asking, PATIENCE)).contents[0].text.text == "yes"


@pytest.mark.parametrize("token", ["", "wrong-token", "ada"])
async def test_a_wrong_token_opens_nothing(tmp_path: Path, token: str) -> None:
    async with running_hub(tmp_path, ada="ada-secret") as hub:
        async with page(hub.url) as opened:
            answer = await opened.login(token)
            assert (answer.success, answer.client_id) == (False, "")
        body = json.dumps({"ID": "q1", "UserToken": token, "Request": {"Question": "?", "Timeout": 1}})
        status, error = await post(hub, ASK, body, JSON)
        assert (status, error["code"]) == (401, "unauthenticated")


async def test_a_login_opens_what_its_own_token_stands_for(tmp_path: Path) -> None:
    secrets = {"ada": "ada-secret", "eve": "eve-secret"}
    async with running_hub(tmp_path, **secrets) as hub:
        for name, secret in secrets.items():
            await Caller(hub.url, secret).ask(f"of-{name}", Wait=0, Fetched=True)
        for name, secret in secrets.items():
            async with page(hub.url, secret) as opened:
                shown = (await opened.until("AskQuestion")).AskQuestionRequest
                await opened.send("GetPendingMessages")
                pending = (await opened.until("GetPendingMessages")).GetPendingMessagesResponse.pending_messages
                waiting = [shown, *(each.ask_question_request for each in pending)]
                assert [each.ID for each in waiting] == [f"of-{name}"] * 2


@pytest.mark.parametrize(
    ("asked", "replied"),
    [("AskQuestion", "AskQuestionReply"), ("TaskFinish", "TaskFinishReply"), ("WorkReport", "WorkReportReply")],
)
async def test_only_the_token_of_who_asked_answers_as_bearer(tmp_path: Path, asked: str, replied: str) -> None:
    path = f"/agentassistproto.SrvAgentAssistReply/{replied}"
    reply = {"ID": "q1", "contents": [{"type": 1, "text": {"type": "text", "text": "yes"}}]}
    question = {"ID": "q1", "UserToken": "ada-secret", "Fetched": True, "Wait": 0, "Request": {}}
    question["Request"] = {"Question": "Deploy?"} if asked == "AskQuestion" else {"Summary": "Done."}
    async with running_hub(tmp_path, ada="ada-secret", eve="eve-secret") as hub:

        async def how_it_stands() -> str:
            _, answer = await post(hub, f"/agentassistproto.SrvAgentAssist/{asked}", json.dumps(question), JSON)
            return answer["Meta"]["status"]

        async def answered(token: str, body: dict[str, Any]) -> int:
            headers = JSON | ({"Authorization": token} if token else {})
            return (await post(hub, path, json.dumps(body), headers))[0]

        assert await how_it_stands() == "waiting"
        for token in ("", "Bearer", "Bearer wrong", "Basic ada-secret", "ada-secret"):
            assert await answered(token, reply) == 401
            assert await answered(token, reply | {"UserToken": "ada-secret"}) == 401
        assert await answered("Bearer eve-secret", reply) == 404
        assert await how_it_stands() == "waiting"
        assert await answered("Bearer ada-secret", reply) == 200
        assert await how_it_stands() == "answered"


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1"])
async def test_a_page_from_elsewhere_gets_no_socket(hub: Hub, origin: str) -> None:
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        async with page(hub.url, Origin=origin):
            pass
    assert refused.value.status == 403
    async with page(hub.url, "test-token", Origin=hub.url):
        pass


@pytest.mark.parametrize(
    ("body", "headers", "status", "code"),
    [
        (b"{", JSON, 400, "invalid_argument"),
        (b"[1]", JSON, 400, "invalid_argument"),
        (b"\xff\xff", {"Content-Type": "application/proto"}, 400, "invalid_argument"),
        (b"not gzip", JSON | {"Content-Encoding": "gzip"}, 400, "invalid_argument"),
        (b"x", JSON | {"Content-Encoding": "compress"}, 404, "unimplemented"),
        (BODY.encode(), JSON | {"Connect-Timeout-Ms": "50"}, 504, "deadline_exceeded"),
    ],
)
async def test_a_call_that_cannot_be_is_refused_in_the_protocols_words(
    hub: Hub, body: bytes, headers: dict[str, str], status: int, code: str
) -> None:
    found, error = await post(hub, ASK, body, headers)
    assert (found, error["code"]) == (status, code)
    await alive(hub)


async def test_other_types_methods_and_names_are_refused(hub: Hub) -> None:
    assert (await post(hub, ASK, b"x", {"Content-Type": "text/plain"}))[0] == 415
    status, told = await post(hub, ASK, b"x", {"Content-Type": "application/connect+proto"})
    assert (status, told) == (415, "Content-Type must be one of: application/json, application/proto\n")
    status, error = await post(hub, "/agentassistproto.SrvAgentAssist/Nothing", BODY, JSON)
    assert (status, error["code"]) == (404, "unimplemented")
    async with aiohttp.ClientSession() as http, http.get(f"{hub.url}{ASK}") as response:
        assert (response.status, response.headers["Allow"]) == (405, "POST")
    async with aiohttp.ClientSession() as http, http.get(f"{hub.url}/ws") as response:
        assert response.status == 426


async def test_packed_bodies_unknown_fields_and_no_version_are_fine(hub: Hub) -> None:
    asked = json.loads(BODY) | {"Newer": {"a": 1}}
    packed = gzip.compress(json.dumps(asked).encode())
    status, answer = await post(hub, ASK, packed, JSON | {"Content-Encoding": "gzip"})
    assert (status, answer["IsError"], answer["Meta"]["error"]) == (200, True, "timeout")


@pytest.mark.parametrize(("accepted", "packing"), [("br, gzip", "gzip"), ("gzip;q=0", None), ("identity", None)])
async def test_long_answers_are_packed_for_those_who_take_it(hub: Hub, accepted: str, packing: str | None) -> None:
    long = "word " * 1000
    async with page(hub.url, "test-token") as ada:
        asking = asyncio.create_task(hub.caller.ask("q1"))
        await ada.until("AskQuestion")
        await ada.reply("q1", long)
        await asking
    async with (
        aiohttp.ClientSession(hub.url) as http,
        http.post(ASK, json={"ID": "q1", "UserToken": "test-token"}, headers={"Accept-Encoding": accepted}) as response,
    ):
        assert response.headers.get("Content-Encoding") == packing
        assert (await response.json())["contents"][0]["text"]["text"] == long


async def test_a_call_without_a_request_says_so_in_its_answer(hub: Hub) -> None:
    status, answer = await post(hub, ASK, '{"ID": "q1", "UserToken": "test-token"}', JSON)
    assert (status, answer["IsError"], answer["Meta"]["error"]) == (200, True, "invalid_request")
    text = answer["contents"][0]["text"]["text"]
    assert text.startswith("There is no question with this id. Check the id")
    assert text.endswith("To ask, send a Request.")


async def test_what_is_larger_than_it_may_be_is_refused_also_once_unpacked(hub: Hub) -> None:
    bomb = gzip.compress(b" " * (65 * 1024 * 1024), 1)
    status, error = await post(hub, ASK, bomb, JSON | {"Content-Encoding": "gzip"})
    assert (status, error["code"]) == (413, "resource_exhausted")
    async with page(hub.url, "test-token") as ada:
        await asyncio.gather(ada.socket.send_bytes(b"x" * (64 * 1024 * 1024 + 1)), return_exceptions=True)
        with pytest.raises(ConnectionError):
            await ada.frame()
    await alive(hub)


async def test_a_text_that_is_too_long_is_refused_in_the_answer(hub: Hub) -> None:
    large = json.dumps({"ID": "q1", "UserToken": "test-token", "Request": {"Question": "x" * 5_000_000}}).encode()
    status, answer = await post(hub, ASK, io.BytesIO(large), JSON)
    assert (status, answer["Meta"]["error"]) == (200, "invalid_request")
    assert "1000000 characters" in answer["contents"][0]["text"]["text"]


@pytest.mark.parametrize(
    ("cmd", "fields", "code"),
    [
        ("Nonsense", {}, "invalid_question"),
        ("", {}, "invalid_question"),
        ("AskQuestionReply", {}, "invalid_question"),
        ("WorkReportReply", {}, "invalid_question"),
        ("AskQuestionReply", {"AskQuestionResponse": proto.AskQuestionResponse(ID="q1")}, "invalid_question"),
        (
            "AskQuestionReply",
            {"AskQuestionResponse": proto.AskQuestionResponse(ID="no", contents=[text_content("x")])},
            "unknown_question",
        ),
        ("SendChatMessage", {}, "invalid_question"),
        ("AgentMessage", {}, "invalid_question"),
    ],
)
async def test_a_frame_that_cannot_be_is_answered_with_an_error(
    hub: Hub, cmd: str, fields: dict[str, Any], code: str
) -> None:
    async with page(hub.url, "test-token") as ada:
        await ada.send(cmd, **fields)
        error = (await ada.until("Error")).ErrorNotification
        assert (error.code, error.cmd) == (code, cmd)
        await ada.send("GetOnlineUsers")
        await ada.until("GetOnlineUsers")


async def test_a_frame_that_is_none_closes_the_socket_and_text_is_left_alone(hub: Hub) -> None:
    async with page(hub.url, "test-token") as ada, page(hub.url, "test-token") as bo:
        await bo.socket.send_str("hello")
        await bo.socket.send_bytes(b"\xff\xff")
        with pytest.raises(ConnectionError, match="1007"):
            await bo.until("never")
        await ada.send("GetOnlineUsers")
        await ada.until("GetOnlineUsers")


async def test_an_answer_counts_that_arrived_before_the_line_was_cut(hub: Hub, tmp_path: Path) -> None:
    asking = asyncio.create_task(hub.caller.ask("q1"))
    with closing(sqlite3.connect(tmp_path / "assistant.sqlite3", isolation_level=None)) as elsewhere:
        async with page(hub.url, "test-token", "Ada") as ada:
            await ada.until("AskQuestion")
            await until(lambda: any(each.shown for each in hub.assistant._open.records(None)))
            elsewhere.execute("BEGIN IMMEDIATE")  # nothing can be written down for the moment
            await ada.reply("q1", "yes")
            await ada.send("GetOnlineUsers")
            await ada.until("GetOnlineUsers")  # so the reply has arrived, too
            transport_of(ada.socket).abort()
        async with page(hub.url, "test-token", "Bo") as bo:
            await bo.send("GetOnlineUsers")
            while (await bo.until("GetOnlineUsers")).GetOnlineUsersResponse.total_count:
                await bo.send("GetOnlineUsers")  # until the hub has seen that the line was cut
        assert not asking.done()
        elsewhere.execute("ROLLBACK")
    answer = await asyncio.wait_for(asking, PATIENCE)
    assert (answer.contents[0].text.text, answer.Meta["answered_by"]) == ("yes", "Ada")


async def test_scripts_in_a_question_are_text(hub: Hub) -> None:
    text = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    async with page(hub.url, "test-token") as ada:
        await hub.caller.ask("q1", text, Wait=0)
        assert (await ada.until("AskQuestion")).AskQuestionRequest.Request.Question == text


FRAMES = st.one_of(
    st.binary(max_size=200),
    st.builds(
        lambda cmd, text, field, id: proto.WebsocketMessage(  # noqa: A006 - the field is called so
            Cmd=cmd,
            StrParam=text,
            **({field: getattr(proto, field)(ID=id)} if field else {}),
        ).SerializeToString(),
        st.sampled_from(
            [
                *("UserLogin", "AskQuestionReply", "WorkReportReply", "TaskFinishReply", "CheckMessageValidity", "X"),
                *(
                    "GetPendingMessages",
                    "GetOnlineUsers",
                    "SendChatMessage",
                    "GetHistory",
                    "AgentMessage",
                    "AskQuestion",
                ),
            ]
        ),
        st.text(max_size=20),
        st.sampled_from(["", "AskQuestionRequest", "AskQuestionResponse", "WorkReportResponse"]),
        st.text(max_size=10),
    ),
)


TEXTS = st.text(max_size=30)
IDS = st.one_of(st.uuids().map(str), st.uuids().map(str), TEXTS)
WORDS = st.text('abc 中文{[\\"\U0001f642', min_size=1, max_size=30).map(lambda text: f"?{text}")
NUMBERS = st.integers(-(2**31), 2**31 - 1)
CHOICES = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "question": TEXTS,
            "header": TEXTS,
            "options": st.lists(st.fixed_dictionaries({}, optional={"label": TEXTS, "description": TEXTS}), max_size=4),
            "multiple": st.booleans(),
            "custom": st.booleans(),
        },
    ),
    max_size=3,
)
ASKED = st.fixed_dictionaries(
    {"ID": IDS, "UserToken": st.just("test-token"), "Wait": st.integers(-(2**31), 0)},
    optional={
        "Fetched": st.booleans(),
        "Request": st.fixed_dictionaries(
            {"Question": st.one_of(WORDS, WORDS, TEXTS)},
            optional={
                "ProjectDirectory": TEXTS,
                "AgentName": TEXTS,
                "Timeout": NUMBERS,
                "Questions": CHOICES,
                "McpClientName": TEXTS,
            },
        ),
    },
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner)
)
ODD = st.builds(
    lambda asked, field, value: asked | {field: value},
    ASKED,
    st.sampled_from(["ID", "Request", "Fetched", "More"]),
    ANYTHING,
)
BODIES = st.one_of(st.binary(max_size=100), ASKED, ASKED, ODD)


def posted(body: Any) -> tuple[bytes, str]:
    """A body as it is sent, and of which kind: in both ways in turn, where it is a message."""
    if isinstance(body, bytes):
        return body, "application/proto"
    document = json.dumps(body).encode()
    try:
        message = wire.from_json(proto.AskQuestionRequest, document)
    except wire.UnreadableError:
        return document, "application/json"
    return (message.SerializeToString(), "application/proto") if len(document) % 2 else (document, "application/json")


@pytest.mark.parametrize("examples", [100, pytest.param(1000, marks=pytest.mark.soak)])
async def test_random_frames_and_bodies_crash_nothing(
    hub: Hub, caplog: pytest.LogCaptureFixture, examples: int
) -> None:
    frames: list[bytes] = []
    bodies: list[Any] = []

    @settings(max_examples=examples, database=None, suppress_health_check=list(HealthCheck), derandomize=True)
    @given(FRAMES, BODIES)
    def collect(frame: bytes, body: Any) -> None:
        frames.append(frame)
        bodies.append(body)

    collect()
    sent = 0
    while sent < len(frames):
        async with page(hub.url, "test-token") as ada:
            try:
                while sent < len(frames):
                    await ada.socket.send_bytes(frames[sent])
                    await ada.send("Next")
                    sent += 1
                    while (await ada.frame()).ErrorNotification.cmd != "Next":
                        pass
            except (ConnectionError, aiohttp.ClientError):
                continue
    understood, waiting = 0, 0
    async with aiohttp.ClientSession() as http:
        for data, kind in map(posted, bodies):
            async with http.post(f"{hub.url}{ASK}", data=data, headers={"Content-Type": kind}) as response:
                assert response.status in (200, 400, 401)
                understood += response.status == 200
                waiting += b"waiting" in await response.read()
    assert understood > examples / 10  # they came as far as questions do
    assert waiting
    await alive(hub)
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []
