"""The sequence of the protocol, with plain clients: agents' programs over Connect, pages over WebSocket."""

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from google.protobuf.message import Message
from integration.assistant.conftest import Hub, running_hub
from support.assistant_clients import page, text_content
from support.waiting import PATIENCE, until

from transcript_mcp.assistant.protocol import proto

PICTURE = proto.McpResultContent(
    type=2, image=proto.ImageContent(type="image", data="iVBORw0KGgo=", mime_type="image/png")
)


ASKED = (
    b"\x0a\x02q7\x12\x0atest-token"  # AskQuestionRequest: ID (1), UserToken (2)
    b"\x1a\x10\x0a\x02/p\x12\x07Deploy?\x18\xd8\x04"  # Request (3): ProjectDirectory, Question, Timeout 600
)
LOGIN = b"\x0a\x09UserLogin\x62\x0atest-token\x92\x01\x03Ada"  # Cmd (1), StrParam (12), Nickname (18)
REPLY = (
    b"\x0a\x10AskQuestionReply\x12\x04\x0a\x02q7"  # Cmd, AskQuestionRequest (2)
    b"\x22\x14\x0a\x02q7\x22\x0e\x08\x01\x12\x0a\x0a\x04text\x12\x02ok"  # AskQuestionResponse (4)
)


async def test_frames_written_down_by_hand_are_accepted_and_answered(hub: Hub) -> None:
    headers = {"Content-Type": "application/proto", "Connect-Protocol-Version": "1"}
    url = f"{hub.url}/agentassistproto.SrvAgentAssist/AskQuestion"
    async with aiohttp.ClientSession() as http, http.ws_connect(f"{hub.url}/ws") as socket:

        async def ask() -> bytes:
            async with http.post(url, data=ASKED, headers=headers) as response:
                return await response.read()

        await socket.send_bytes(LOGIN)
        welcome = await socket.receive_bytes(timeout=PATIENCE)
        assert welcome.startswith(b"\x0a\x09UserLogin")
        assert b"\xba\x01\x2c\x0a\x20" in welcome  # UserLoginResponse (23): client_id (1) of 32 characters,
        assert welcome[:-6].endswith(b"\x10\x01\xa0\x06")  # success (2), server_time (100) of 6 bytes
        asking = asyncio.create_task(ask())
        shown = await socket.receive_bytes(timeout=PATIENCE)
        assert shown.startswith(b"\x0a\x0bAskQuestion\x12")
        assert b"\x0a\x02q7\x1a\x10\x0a\x02/p\x12\x07Deploy?\x18\xd8\x04\x20" in shown  # no token, Timestamp (4)
        await socket.send_bytes(REPLY)
        answer = await asyncio.wait_for(asking, PATIENCE)
    assert answer.startswith(b"\x0a\x02q7")
    assert b"\x22\x0e\x08\x01\x12\x0a\x0a\x04text\x12\x02ok" in answer  # contents (4)


async def test_a_question_is_shown_answered_and_returned(hub: Hub) -> None:
    async with page(hub.url, "test-token", "Ada") as ada:
        asking = asyncio.create_task(hub.caller.ask("q1", "发布吗？"))
        shown = await ada.until("AskQuestion")
        request = shown.AskQuestionRequest
        assert (request.ID, request.UserToken, request.Request.Question) == ("q1", "", "发布吗？")
        assert request.Request.ProjectDirectory == "/srv/shop"
        assert request.Timestamp > 1_700_000_000_000
        await ada.reply("q1", "好的")
        answer = await asyncio.wait_for(asking, PATIENCE)
    assert (answer.ID, answer.IsError) == ("q1", False)
    assert [each.text.text for each in answer.contents] == ["好的"]
    assert dict(answer.Meta) == {"status": "answered", "answered_by": "Ada"}


async def test_all_who_have_the_token_are_sent_the_whole_request(hub: Hub) -> None:
    options = [proto.QuestionOption(label="周三", description="noon"), proto.QuestionOption(label="周五")]
    choice = proto.Question(question="When?", header="Day", options=options, multiple=True, custom=False)
    about = {
        "ProjectDirectory": "/srv/shop",
        "AgentName": "Alpha",
        "ReasoningModelName": "m1",
        "McpClientName": "Cursor",
    }
    question = proto.McpAskQuestionRequest(Question="发布吗？", Timeout=700, Questions=[choice], **about)
    report = proto.McpWorkReportRequest(Summary="# Done", Timeout=800, **about)
    async with page(hub.url, "test-token", "Ada") as ada, page(hub.url, "test-token", "Bo") as bo:
        for method, kind, asked in (
            ("AskQuestion", "AskQuestion", question),
            ("TaskFinish", "WorkReport", report),
            ("WorkReport", "WorkReport", report),
        ):
            request = getattr(proto, f"{kind}Request")(
                ID=method, UserToken="test-token", Request=asked, Wait=0, Fetched=True
            )
            await hub.caller.call(method, request, getattr(proto, f"{kind}Response"))
            shown = [getattr(await each.until(method), f"{kind}Request") for each in (ada, bo)]
            assert [(each.ID, each.UserToken, each.Request) for each in shown] == [(method, "", asked)] * 2


@pytest.mark.parametrize("method", ["TaskFinish", "WorkReport"])
@pytest.mark.parametrize("reply", ["TaskFinishReply", "WorkReportReply"])
async def test_a_report_is_shown_and_confirmed_in_both_generations_of_names(hub: Hub, method: str, reply: str) -> None:
    async with page(hub.url, "test-token") as ada, page(hub.url, "test-token", "Bo") as bo:
        reporting = asyncio.create_task(hub.caller.report(method, "r1", "All tests pass."))
        shown = await ada.until(method)
        assert (shown.WorkReportRequest.ID, shown.WorkReportRequest.Request.Summary) == ("r1", "All tests pass.")
        await bo.until(method)
        await bo.confirm("r1", "well done", reply)
        answer = await asyncio.wait_for(reporting, PATIENCE)
        told = await ada.until(f"{method}ReplyNotification")
    assert [each.text.text for each in answer.contents] == ["well done"]
    assert (told.Nickname, told.WorkReportResponse.contents[0].text.text) == ("Bo", "well done")


async def test_the_others_are_told_who_answered_and_who_was_late_too(hub: Hub) -> None:
    async with page(hub.url, "test-token", "Ada") as ada, page(hub.url, "test-token", "Bo") as bo:
        asking = asyncio.create_task(hub.caller.ask("q1"))
        await ada.until("AskQuestion")
        await bo.until("AskQuestion")
        await ada.reply("q1", "yes")
        await asyncio.wait_for(asking, PATIENCE)
        told = await bo.until("AskQuestionReplyNotification")
        assert (told.Nickname, told.StrParam, told.AskQuestionRequest.ID) == ("Ada", "yes", "q1")
        await bo.reply("q1", "no")
        late = await bo.until("AskQuestionReplyNotification")
        assert (late.Nickname, late.StrParam) == ("Ada", "yes")
        await ada.send("GetOnlineUsers")
        assert (await ada.until("GetOnlineUsers")).GetOnlineUsersResponse.total_count == 1
    assert not [data for data in ada.raw if b"ReplyNotification" in data]


async def test_a_page_that_comes_later_is_shown_what_waits(hub: Hub) -> None:
    asking = asyncio.create_task(hub.caller.ask("q1", timeout=3600))
    await until(lambda: hub.assistant._open.records(None))
    async with page(hub.url) as ada:
        assert (await ada.login("test-token")).success
        assert (await ada.until("AskQuestion")).AskQuestionRequest.ID == "q1"
        await ada.send("GetPendingMessages", GetPendingMessagesRequest=proto.GetPendingMessagesRequest())
        (pending,) = (await ada.until("GetPendingMessages")).GetPendingMessagesResponse.pending_messages
        assert (pending.message_type, pending.ask_question_request.ID, pending.timeout) == ("AskQuestion", "q1", 3600)
        validity = proto.CheckMessageValidityRequest(request_ids=["q1", "other"])
        await ada.send("CheckMessageValidity", CheckMessageValidityRequest=validity)
        answer = (await ada.until("CheckMessageValidity")).CheckMessageValidityResponse
        assert dict(answer.validity) == {"q1": True, "other": False}
        await ada.reply("q1", "ok")
        await asyncio.wait_for(asking, PATIENCE)


async def test_a_timeout_is_told_to_the_caller_and_the_page(hub: Hub) -> None:
    async with page(hub.url, "test-token") as ada:
        answer = await hub.caller.ask("q1", timeout=1)
        assert (answer.IsError, answer.Meta["error"]) == (True, "timeout")
        assert "do not ask again" in answer.contents[0].text.text
        cancelled = (await ada.until("RequestCancelled")).RequestCancelledNotification
    assert (cancelled.request_id, cancelled.reason, cancelled.message_type) == ("q1", "timeout", "AskQuestion")


async def test_a_caller_that_comes_back_with_its_id_gets_the_answer(hub: Hub) -> None:
    gone = asyncio.create_task(hub.caller.ask("q1"))
    async with page(hub.url, "test-token") as ada:
        await ada.until("AskQuestion")
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        await ada.reply("q1", "yes")
        answer = await hub.caller.ask("q1")
    assert [each.text.text for each in answer.contents] == ["yes"]


async def test_an_id_is_enough_to_fetch_an_answer(hub: Hub) -> None:
    first = await hub.caller.ask("q1", Wait=0, Fetched=True)
    assert (first.IsError, first.Meta["status"]) == (False, "waiting")
    async with page(hub.url, "test-token") as ada:
        await ada.until("AskQuestion")
        await ada.reply("q1", "yes")
        message = proto.AskQuestionRequest(ID="q1", UserToken="test-token")
        answer = await hub.caller.call("AskQuestion", message, proto.AskQuestionResponse)
    assert answer.contents[0].text.text == "yes"


async def test_pictures_and_files_of_an_answer_arrive_whole(hub: Hub) -> None:
    file = proto.EmbeddedResource(type="embedded_resource", uri="a.bin", mime_type="x/y", data=b"\0\xff" * 3_000_000)
    contents = [text_content("see"), PICTURE, proto.McpResultContent(type=4, embedded_resource=file)]
    async with page(hub.url, "test-token") as ada:
        asking = asyncio.create_task(hub.caller.ask("q1"))
        await ada.until("AskQuestion")
        response = proto.AskQuestionResponse(ID="q1", contents=contents)
        await ada.send("AskQuestionReply", AskQuestionResponse=response)
        answer = await asyncio.wait_for(asking, PATIENCE)
    assert list(answer.contents) == contents


async def test_presence_and_chat_stay_between_the_pages_of_a_token(hub: Hub) -> None:
    async with page(hub.url, "test-token", "Ada") as ada:
        async with page(hub.url, "test-token", "Bo") as bo:
            status = (await ada.until("UserConnectionStatusNotification")).UserConnectionStatusNotification
            assert (status.user.nickname, status.status) == ("Bo", "connected")
            await bo.send("GetOnlineUsers")
            (user,) = (await bo.until("GetOnlineUsers")).GetOnlineUsersResponse.online_users
            assert user.nickname == "Ada"
            chat = proto.SendChatMessageRequest(receiver_client_id=user.client_id, content="午饭？")
            await bo.send("SendChatMessage", SendChatMessageRequest=chat)
            message = (await ada.until("ChatMessageNotification")).ChatMessageNotification.chat_message
            assert (message.sender_nickname, message.receiver_nickname, message.content) == ("Bo", "Ada", "午饭？")
        status = (await ada.until("UserConnectionStatusNotification")).UserConnectionStatusNotification
        assert (status.user.nickname, status.status) == ("Bo", "disconnected")


async def test_a_second_login_renames(hub: Hub) -> None:
    async with page(hub.url, "test-token", "Ada") as ada, page(hub.url, "test-token", "Bo") as bo:
        await bo.login("test-token", "Robert")
        await ada.send("GetOnlineUsers")
        (user,) = (await ada.until("GetOnlineUsers")).GetOnlineUsersResponse.online_users
        assert user.nickname == "Robert"


async def test_a_message_to_an_agent_comes_with_its_next_answer(hub: Hub) -> None:
    async with page(hub.url, "test-token", "Ada") as ada, page(hub.url, "test-token", "Bo") as bo:
        written = proto.AgentMessage(project_directory="/srv/shop", agent_name="Alpha", text="先停一下")
        await ada.send("AgentMessage", AgentMessage=written)
        kept = (await ada.until("AgentMessage")).AgentMessage
        assert (kept.state, kept.nickname, bool(kept.id)) == ("waiting", "Ada", True)
        assert (await bo.until("AgentMessage")).AgentMessage.text == "先停一下"
        asking = asyncio.create_task(hub.caller.ask("q1"))
        await ada.until("AskQuestion")
        await ada.reply("q1", "yes")
        answer = await asyncio.wait_for(asking, PATIENCE)
        assert (await bo.until("AgentMessage")).AgentMessage.state == "picked_up"
    assert [each.text.text for each in answer.contents] == ["yes", "Ada wrote to you meanwhile: 先停一下"]


async def test_the_history_is_searched_and_paged(hub: Hub) -> None:
    async with page(hub.url, "test-token", "Ada") as ada, page(hub.url, "test-token", "Bo") as bo:
        for number in range(3):
            await hub.caller.ask(f"q{number}", f"发布第 {number} 版？", Wait=0, Fetched=True)
        await ada.reply("q1", "周五")
        await bo.until("AskQuestionReplyNotification")
        await ada.send("GetHistory", GetHistoryRequest=proto.GetHistoryRequest(limit=2))
        newest = (await ada.until("GetHistory")).GetHistoryResponse
        assert [record.id for record in newest.records] == ["q2", "q1"]
        older = proto.GetHistoryRequest(limit=2, before=newest.next_before)
        await ada.send("GetHistory", GetHistoryRequest=older)
        rest = (await ada.until("GetHistory")).GetHistoryResponse
        assert ([record.id for record in rest.records], rest.next_before) == (["q0"], 0)
        await ada.send("GetHistory", GetHistoryRequest=proto.GetHistoryRequest(text="周五"))
        (found,) = (await ada.until("GetHistory")).GetHistoryResponse.records
    assert (found.id, found.state, found.answered_by, found.answered_where, found.shown) == (
        *("q1", "answered", "Ada", "web"),
        2,
    )
    assert found.ask_question_request.Request.Question == "发布第 1 版？"


@pytest.mark.parametrize(
    ("method", "said", "answer_kind"),
    [
        (
            "SendMcpClientInfo",
            proto.McpClientInfoRequest(UserToken="test-token", Request=proto.McpClientInfo(ClientName="Cursor")),
            proto.McpClientInfoResponse,
        ),
        ("Heartbeat", proto.McpHeartbeatRequest(UserToken="test-token", SessionId="s1"), proto.McpHeartbeatResponse),
    ],
)
async def test_a_program_may_introduce_itself_and_say_that_it_lives(
    hub: Hub, method: str, said: Message, answer_kind: type[Message]
) -> None:
    answer = await hub.caller.call(method, said, answer_kind)
    assert answer.Success
    url = f"{hub.url}/agentassistproto.SrvAgentAssist/{method}"
    async with aiohttp.ClientSession() as session, session.post(url, json={"UserToken": ""}) as refused:
        assert refused.status == 401


async def test_a_script_answers_with_the_token_as_bearer(hub: Hub) -> None:
    asking = asyncio.create_task(hub.caller.ask("q1"))
    await until(lambda: hub.assistant._open.records(None))
    reply = (
        '{"ID": "q1", "contents": [{"type": 1, "text": {"type": "text", "text": "yes"}}], "Meta": {"nickname": "cron"}}'
    )
    url = f"{hub.url}/agentassistproto.SrvAgentAssistReply/AskQuestionReply"
    headers = {"Content-Type": "application/json", "Authorization": "Bearer test-token"}
    async with aiohttp.ClientSession() as http:
        async with http.post(url, data=reply, headers=headers) as response:
            assert (response.status, (await response.json())["Meta"]) == (200, {"status": "accepted"})
        async with http.post(url, data=reply, headers=headers) as response:
            late = await response.json()
    assert (late["IsError"], late["Meta"]["answered_by"]) == (True, "cron")
    answer = await asyncio.wait_for(asking, PATIENCE)
    assert answer.Meta["answered_by"] == "cron"


def refusal(kind: str, id: str, *words: str, **meta: str) -> Any:
    return getattr(proto, f"{kind}Response")(
        ID=id, IsError=True, Meta=meta, contents=[text_content(each) for each in words]
    )


@pytest.mark.parametrize(
    ("words", "meta", "said"),
    [
        (["Ask operations."], {}, "Ask operations."),
        ([], {"error": "declined"}, "declined"),
        ([], {}, "Ada ended the question without an answer."),
    ],
)
async def test_a_reply_that_is_an_error_ends_the_question_and_everybody_is_told(
    hub: Hub, words: list[str], meta: dict[str, str], said: str
) -> None:
    asked = proto.AskQuestionRequest(ID="q1")
    async with page(hub.url, "test-token", "Ada") as ada, page(hub.url, "test-token", "Bo") as bo:
        asking = asyncio.create_task(hub.caller.ask("q1"))
        await bo.until("AskQuestion")
        response = refusal("AskQuestion", "q1", *words, **meta)
        await ada.send("AskQuestionReply", AskQuestionRequest=asked, AskQuestionResponse=response)
        answer = await asyncio.wait_for(asking, PATIENCE)
        told = await bo.until("AskQuestionReplyNotification")
        assert (told.Nickname, told.AskQuestionResponse.IsError) == ("Ada", True)
        await bo.reply("q1", "yes")
        late = await bo.until("AskQuestionReplyNotification")
        assert (late.Nickname, late.AskQuestionResponse.IsError) == ("Ada", True)
        await bo.send("GetHistory", GetHistoryRequest=proto.GetHistoryRequest())
        (kept,) = (await bo.until("GetHistory")).GetHistoryResponse.records
    assert (answer.IsError, dict(answer.Meta)) == (
        True,
        {"status": "refused", "error": "refused", "answered_by": "Ada"},
    )
    assert answer.contents[0].text.text.startswith(said)
    assert (kept.state, kept.answered_by) == ("refused", "Ada")


async def test_an_error_ends_a_question_that_takes_nothing_but_its_options_and_a_report(hub: Hub) -> None:
    options = [proto.QuestionOption(label="red")]
    choice = proto.Question(question="Which?", options=options, custom=False)
    async with page(hub.url, "test-token", "Ada") as ada:
        asking = asyncio.create_task(hub.caller.ask("q1", Questions=[choice]))
        await ada.until("AskQuestion")
        await ada.send("AskQuestionReply", AskQuestionResponse=refusal("AskQuestion", "q1", "neither"))
        assert (await asyncio.wait_for(asking, PATIENCE)).IsError
        reporting = asyncio.create_task(hub.caller.report("TaskFinish", "r1", "Done."))
        await ada.until("TaskFinish")
        await ada.send("TaskFinishReply", WorkReportResponse=refusal("WorkReport", "r1", "not done"))
        answer = await asyncio.wait_for(reporting, PATIENCE)
    assert (answer.IsError, answer.contents[0].text.text) == (True, "not done")


async def test_a_script_refuses_with_the_token_as_bearer(hub: Hub) -> None:
    asking = asyncio.create_task(hub.caller.ask("q1"))
    await until(lambda: hub.assistant._open.records(None))
    url = f"{hub.url}/agentassistproto.SrvAgentAssistReply/AskQuestionReply"
    headers = {"Content-Type": "application/json", "Authorization": "Bearer test-token"}
    reply = '{"ID": "q1", "IsError": true, "contents": [{"type": 1, "text": {"type": "text", "text": "no"}}]}'
    async with aiohttp.ClientSession() as http:
        async with http.post(url, data=reply, headers=headers) as response:
            assert (await response.json())["Meta"] == {"status": "accepted"}
        async with http.post(url, data=reply, headers=headers) as response:
            assert (await response.json())["Meta"] == {"status": "refused", "error": "already_ended"}
    answer = await asyncio.wait_for(asking, PATIENCE)
    assert (answer.IsError, answer.contents[0].text.text) == (True, "no")


async def test_who_gives_no_name_answers_under_one_that_all_are_told(hub: Hub) -> None:
    async with page(hub.url, "test-token") as ada, page(hub.url, "test-token", "Bo") as bo:
        asking = asyncio.create_task(hub.caller.ask("q1"))
        await ada.until("AskQuestion")
        await bo.send("GetOnlineUsers")
        (user,) = (await bo.until("GetOnlineUsers")).GetOnlineUsersResponse.online_users
        await ada.reply("q1", "yes")
        answer = await asyncio.wait_for(asking, PATIENCE)
        told = await bo.until("AskQuestionReplyNotification")
    assert user.nickname == f"User_{user.client_id[:8]}"
    assert (told.Nickname, answer.Meta["answered_by"]) == (user.nickname, user.nickname)


async def test_a_restarted_hub_goes_on_with_what_waits(tmp_path: Path) -> None:
    async with running_hub(tmp_path) as first:
        await first.caller.ask("q1", Wait=0)
    async with running_hub(tmp_path) as second, page(second.url, "test-token") as ada:
        assert (await ada.until("AskQuestion")).AskQuestionRequest.ID == "q1"
        asking = asyncio.create_task(second.caller.ask("q1"))
        await ada.reply("q1", "yes")
        assert (await asyncio.wait_for(asking, PATIENCE)).contents[0].text.text == "yes"


async def test_two_clients_answer_fifty_questions_in_one_burst(hub: Hub) -> None:
    ids = [f"q{number}" for number in range(50)]
    async with page(hub.url, "test-token", "Ada") as ada, page(hub.url, "test-token", "Bo") as bo:
        asking = [asyncio.create_task(hub.caller.ask(each)) for each in ids]
        for opened in (ada, bo):
            assert {(await opened.until("AskQuestion")).AskQuestionRequest.ID for _ in ids} == set(ids)
        async with asyncio.TaskGroup() as answering:
            for each in ids:
                answering.create_task(ada.reply(each, f"Ada to {each}"))
                answering.create_task(bo.reply(each, f"Bo to {each}"))
        answers = await asyncio.wait_for(asyncio.gather(*asking), PATIENCE)
    for each, answer in zip(ids, answers, strict=True):
        assert [content.text.text for content in answer.contents] == [f"{answer.Meta['answered_by']} to {each}"]


async def test_replies_of_a_burst_that_are_wrong_are_told_and_the_others_count(hub: Hub) -> None:
    async with page(hub.url, "test-token", "Ada") as ada, page(hub.url) as stranger:
        asking = [asyncio.create_task(hub.caller.ask(each)) for each in ("q1", "q2")]
        for _ in asking:
            await ada.until("AskQuestion")
        await stranger.reply("q1", "no")
        await ada.reply("q1", "yes")
        await ada.reply("nowhere", "yes")
        await ada.send("AskQuestionReply", AskQuestionRequest=proto.AskQuestionRequest(ID="q2"))
        await ada.reply("q2", " ")
        await ada.reply("q2", "yes")
        answers = await asyncio.wait_for(asyncio.gather(*asking), PATIENCE)
        refused = [(await ada.until("Error")).ErrorNotification for _ in range(3)]
        assert (await stranger.until("Error")).ErrorNotification.code == "token_refused"
    assert [(answer.contents[0].text.text, answer.Meta["answered_by"]) for answer in answers] == [("yes", "Ada")] * 2
    assert sorted(error.code for error in refused) == ["invalid_question", "invalid_question", "unknown_question"]
