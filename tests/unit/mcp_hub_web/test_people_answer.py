"""People with ``hub.page_token`` see and answer what programs ask with ``hub.tokens``; programs answer nothing."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from support.assistant_clients import Caller, Page, page
from support.hubs import listening
from support.web_home import WebHome

from transcript_mcp.assistant.protocol import proto
from transcript_mcp.hub import create_app
from transcript_mcp.rooms import open_rooms

pytestmark = pytest.mark.asyncio(loop_scope="module")

CODEX, CLAUDE, ADA, PEOPLE = "token-of-codex", "token-of-claude", "token-of-ada", "token-of-people"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url(home: WebHome) -> AsyncIterator[str]:
    chosen = home.settings(
        hub={
            "tokens": {"codex": CODEX, "claude": CLAUDE},
            "page_token": PEOPLE,
            "data_dir": home.folder / "people",
        },
        assistant={"tokens": {"ada": ADA}},
    )
    async with listening(create_app(chosen, open_rooms(chosen, ["assistant"]))) as address:
        yield address


@contextmanager
def asked(url: str, token: str, name: str, question: str, **about: Any) -> Iterator["asyncio.Task[Any]"]:
    """A program asks, and waits for the answer."""
    waiting = asyncio.create_task(Caller(url, token).ask(name, question, **about))
    yield waiting
    waiting.cancel()


async def seen(people: Page, *questions: str) -> dict[str, str]:
    """The ids, as people are told them, of these questions."""
    found = dict[str, str]()
    while not found.keys() >= set(questions):
        request = (await people.until("AskQuestion")).AskQuestionRequest
        found[request.Request.Question] = request.ID
    return found


def words(answer: Any) -> list[str]:
    return [each.text.text for each in answer.contents]


async def test_each_program_gets_its_own_answer_also_where_both_ask_under_the_same_id(url: str) -> None:
    with asked(url, CODEX, "1", "Deploy?") as codex, asked(url, CLAUDE, "1", "Delete?") as claude:
        async with page(url, PEOPLE, "Lin") as people:
            ids = await seen(people, "Deploy?", "Delete?")
            await people.reply(ids["Delete?"], "No.")
            await people.reply(ids["Deploy?"], "Yes.")
            assert (words(await codex), words(await claude)) == (["Yes."], ["No."])


async def test_all_people_are_told_of_an_answer_and_find_it_in_the_history(url: str) -> None:
    with asked(url, CLAUDE, "told", "Shall I merge?") as claude:
        async with page(url, PEOPLE, "Lin") as lin, page(url, PEOPLE, "Bo") as bo:
            shown = (await seen(lin, "Shall I merge?"))["Shall I merge?"]
            await lin.reply(shown, "Merge it.")
            while shown != (await bo.until("AskQuestionReplyNotification")).AskQuestionResponse.ID:
                continue  # that of another test's question, which comes late
            await claude
            await bo.send("GetHistory", GetHistoryRequest=proto.GetHistoryRequest(text="merge"))
            (record,) = (await bo.until("GetHistory")).GetHistoryResponse.records
            assert (record.id, record.answered_by) == (shown, "Lin")
            await bo.send("GetHistory", GetHistoryRequest=proto.GetHistoryRequest(ids=[shown]))
            assert [each.id for each in (await bo.until("GetHistory")).GetHistoryResponse.records] == [shown]


@pytest.mark.parametrize("token", [CODEX, CLAUDE])
async def test_no_program_looks_at_questions_or_answers_them_not_even_its_own(url: str, token: str) -> None:
    own = f"own-{token}"
    with asked(url, CODEX, own, "May I push?") as codex:
        async with page(url, PEOPLE) as people, page(url) as screen:
            ids = await seen(people, "May I push?")
            refused = await screen.login(token)
            assert not refused.success
            await screen.reply(own, "Yes.")
            assert (await screen.until("Error")).ErrorNotification.code == "token_refused"
            for name in (own, ids["May I push?"]):
                assert await replied(url, token, name) == 401
            assert not codex.done()
            await people.reply(ids["May I push?"], "No.")
            assert words(await codex) == ["No."]


async def replied(url: str, token: str, name: str) -> int:
    """Answers with curl, as it were."""
    place, headers = "agentassistproto.SrvAgentAssistReply/AskQuestionReply", {"Authorization": f"Bearer {token}"}
    said = {"ID": name, "contents": [{"type": 1, "text": {"type": "text", "text": "By curl."}}]}
    async with aiohttp.ClientSession() as http, http.post(f"{url}/{place}", json=said, headers=headers) as answer:
        return answer.status


async def test_a_script_of_a_person_answers_by_the_programs_own_id_where_one_alone_has_it(url: str) -> None:
    with (
        asked(url, CODEX, "both", "Left?") as left,
        asked(url, CLAUDE, "both", "Right?") as right,
        asked(url, CLAUDE, "alone", "Stop?") as alone,
    ):
        async with page(url, PEOPLE) as people:
            ids = await seen(people, "Left?", "Right?", "Stop?")
            assert await replied(url, PEOPLE, "both") == 404
            assert await replied(url, PEOPLE, "alone") == 200
            assert words(await alone) == ["By curl."]
            for question in ("Left?", "Right?"):
                await people.reply(ids[question], question)
            assert (words(await left), words(await right)) == (["Left?"], ["Right?"])


async def test_what_was_asked_with_tokens_for_questions_alone_stays_with_those(url: str) -> None:
    with asked(url, ADA, "hers", "Hers?") as hers:
        async with page(url, ADA, "Ada") as ada, page(url, PEOPLE) as people:
            assert (await ada.until("AskQuestion")).AskQuestionRequest.ID == "hers"
            await people.send("GetPendingMessages")
            pending = (await people.until("GetPendingMessages")).GetPendingMessagesResponse.pending_messages
            assert "Hers?" not in [each.ask_question_request.Request.Question for each in pending]
            await ada.reply("hers", "Mine.")
            assert words(await hers) == ["Mine."]


async def written(people: Page, name: str, agent: str) -> Any:
    """What the hub says to a message for an agent."""
    message = proto.AgentMessage(id=name, project_directory="/srv/shop", agent_name=agent, text="Stop first.")
    await people.send("AgentMessage", AgentMessage=message)
    while (frame := await people.frame()).Cmd != "Error" and frame.AgentMessage.id != name:
        pass
    return frame


async def test_a_message_goes_to_the_program_that_its_agent_was_heard_of_with(url: str) -> None:
    async with page(url, PEOPLE, "Lin") as people:
        await Caller(url, CLAUDE).ask("heard", "First?", Wait=0, AgentName="Zed")
        sent = await written(people, "m1", "Zed")
        assert (sent.Cmd, sent.AgentMessage.id) == ("AgentMessage", "m1")
        again = await written(people, "m1", "Zed")
        assert again.AgentMessage.id == "m1"
        for token, told in ((CODEX, []), (CLAUDE, ["Lin wrote to you meanwhile: Stop first."])):
            report = await Caller(url, token).report(
                "TaskFinish", f"r{token}", "Done.", AgentName="Zed", NotifyOnly=True
            )
            assert words(report) == told


async def test_a_message_to_an_agent_of_which_nobody_has_heard_is_refused_in_words(url: str) -> None:
    async with page(url, PEOPLE) as people:
        refused = await written(people, "m2", "Nobody")
        assert refused.ErrorNotification.code == "invalid_question"
        assert "is waiting in i_tool" in refused.ErrorNotification.message
