"""The tools as an agent meets them, without a connection."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from support.loop_clock import outlast
from support.waiting import PATIENCE, until

from nanobot_transcript.errors import StoreBusyError
from nanobot_transcript.sql.location import Shelf
from transcript_mcp.assistant.questions.service import Assistant
from transcript_mcp.assistant.questions.sql_store import SqlQuestionStore
from transcript_mcp.assistant.questions.values import AnswerContent, Choices, Inquiry, Option, Question
from transcript_mcp.assistant.server import build_server, lock_questions
from transcript_mcp.assistant.tools import ToolOptions, form_of, said_in
from transcript_mcp.door.identity import Tokens
from transcript_mcp.sdk.testing import Answer, InMemoryClient

SHOP: dict[str, Any] = {"project_directory": "/srv/shop", "agent_name": "Alpha"}


class Desk:
    """A client, and the person at the other end."""

    def __init__(self, folder: Path, **limits: int) -> None:
        self.assistant = Assistant(SqlQuestionStore(Shelf(folder)))
        self.tokens = Tokens(local=True)
        self.scope = self.tokens.asks_in(None)
        options = ToolOptions(**{"shortest": 1, **limits})
        server = build_server(self.assistant, lambda ctx: self.tokens.asks_in(ctx.who), options)
        self.client = InMemoryClient(server)

    async def waiting(self) -> Inquiry:
        """The question that waits."""
        await until(lambda: self.assistant._open.records(None))
        return next(iter(await self.assistant.waiting(self.scope)))

    async def answer(self, *contents: AnswerContent) -> None:
        """Answer it."""
        record = await self.waiting()
        await self.assistant.answer(self.scope, record.question.id, contents, by="Ada", where="web")

    async def answered(self, tool: str, *contents: AnswerContent, **arguments: Any) -> Answer:
        """What a tool says when a person answers so."""
        calling = asyncio.create_task(self.client.call(tool, **arguments))
        await self.answer(*contents)
        return await asyncio.wait_for(calling, PATIENCE)


@pytest_asyncio.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.assistant.close()


def test_the_tools_of_the_plan_have_its_parameters(tmp_path: Path) -> None:
    server = Desk(tmp_path).client.server
    ask, finish = server.tools["ask_question"].signature.schema, server.tools["task_finish"].signature.schema
    assert set(ask["required"]) == {"project_directory", "question"}
    assert set(finish["required"]) == {"project_directory", "summary"}
    assert {"timeout", "agent_name", "reasoning_model_name", "wait"} <= set(ask["properties"])
    assert server.tools["work_report"].signature.schema["properties"] == finish["properties"]


async def test_a_question_waits_for_the_answer_of_a_person(desk: Desk) -> None:
    answer = await desk.answered("ask_question", AnswerContent("text", "周三"), question="哪天发布？", **SHOP)
    assert (answer.text, answer.is_error) == ("周三", False)


PICTURE = AnswerContent("image", data=b"\x89PNG", mime_type="image/png")


@pytest.mark.parametrize(
    ("tool", "said"), [("ask_question", {"question": "?"}), ("task_finish", {"summary": "Done.", "confirm": True})]
)
async def test_who_refuses_ends_the_call_with_an_error_in_their_words(
    desk: Desk, tool: str, said: dict[str, Any]
) -> None:
    calling = asyncio.create_task(desk.client.call(tool, **said, **SHOP))
    record = await desk.waiting()
    contents = (AnswerContent("text", "Ask operations."), PICTURE)
    await desk.assistant.answer(desk.scope, record.question.id, contents, by="Ada", where="web", refuses=True)
    answer = await asyncio.wait_for(calling, PATIENCE)
    assert (answer.text, answer.is_error) == ("Ask operations.", True)
    assert [block["type"] for block in answer.wire["content"]] == ["text", "image"]
    again = await desk.client.call("get_answer", id=record.question.id)
    assert (again.text, again.is_error) == ("Ask operations.", True)


@pytest.mark.parametrize(
    ("tool", "said", "told"),
    [
        ("ask_question", {"question": "?", "options": ["red"], "free_text": False}, "ended the question without"),
        ("task_finish", {"summary": "Done.", "confirm": True}, "did not confirm the report."),
    ],
)
async def test_who_refuses_without_a_word_leaves_the_agent_with_what_to_do(
    desk: Desk, tool: str, said: dict[str, Any], told: str
) -> None:
    calling = asyncio.create_task(desk.client.call(tool, **said, **SHOP))
    record = await desk.waiting()
    await desk.assistant.answer(desk.scope, record.question.id, (), by="Ada", where="web", refuses=True)
    answer = await asyncio.wait_for(calling, PATIENCE)
    assert answer.is_error
    assert answer.text.startswith(f"Ada {told}")
    assert "end your turn" in answer.text


async def test_the_person_is_shown_what_the_agent_said_of_itself(desk: Desk) -> None:
    calling = asyncio.create_task(
        desk.client.call(
            "ask_question", question="Which?", options=["red", "蓝"], multiple=True, free_text=False, **SHOP
        )
    )
    question = (await desk.waiting()).question
    (choice,) = question.choices
    assert ([each.label for each in choice.options], choice.multiple, choice.custom) == (["red", "蓝"], True, False)
    assert (question.agent, question.client, question.project) == ("Alpha", "in-memory", "/srv/shop")
    await desk.answer(AnswerContent("text", "red"))
    await asyncio.wait_for(calling, PATIENCE)


async def test_pictures_and_files_are_handed_over_as_content(desk: Desk) -> None:
    answer = await desk.answered(
        "ask_question",
        AnswerContent("text", "see"),
        AnswerContent("image", data=b"\x89PNG", mime_type="image/png"),
        AnswerContent("audio", data=b"RIFF", mime_type="audio/wav"),
        AnswerContent("file", data=b"\0\1", mime_type="application/zip", uri="my files/a b.zip"),
        AnswerContent(
            "file", data="计划".encode(), mime_type="text/markdown", uri="attachment://file/%E8%AE%A1%E5%88%92%201.md"
        ),
        AnswerContent("file", data=b"", mime_type="text/plain", uri="50%25.txt"),
        question="?",
        **SHOP,
    )
    blocks = answer.wire["content"]
    assert [block["type"] for block in blocks] == ["text", "image", "audio", "resource", "resource", "resource"]
    assert (blocks[1]["data"], blocks[1]["mimeType"]) == ("iVBORw==", "image/png")
    assert blocks[3]["resource"]["uri"] == "attachment://file/3/a%20b.zip"
    assert blocks[4]["resource"]["text"] == "计划"
    assert blocks[4]["resource"]["uri"] == "attachment://file/4/%E8%AE%A1%E5%88%92%201.md"
    assert blocks[5]["resource"]["uri"] == "attachment://file/5/50%2525.txt"
    assert [block["resource"]["mimeType"] for block in blocks[3:]] == ["application/zip", "text/markdown", "text/plain"]


async def test_what_is_too_large_for_an_agent_is_named_instead(tmp_path: Path) -> None:
    desk = Desk(tmp_path, max_attachment=10)
    large = AnswerContent("file", data=b"x" * 11, mime_type="x/y", uri="big.bin")
    answer = await desk.answered("ask_question", large, question="?", **SHOP)
    assert "big.bin: 11 bytes" in answer.text
    large = AnswerContent("file", data=b"x" * 11, mime_type="x/y", uri="attachment://file/%E7%AC%94%E8%AE%B0.txt")
    answer = await desk.answered("ask_question", large, question="?", **SHOP)
    assert "(笔记.txt: 11 bytes" in answer.text
    desk.assistant.close()


async def test_a_timeout_tells_the_agent_to_stop_and_why(desk: Desk) -> None:
    answer = await asyncio.wait_for(desk.client.call("ask_question", question="?", timeout=1, **SHOP), PATIENCE)
    assert not answer.is_error
    assert "Nobody answered within 1 second." in answer.text
    assert "Stop here" in answer.text


async def test_a_client_that_waits_is_told_how_long_it_has_waited(desk: Desk) -> None:
    async def told() -> None:
        while not desk.client.progressed:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0)

    asking = asyncio.create_task(desk.client.call("ask_question", question="?", timeout=600, **SHOP))
    await desk.waiting()
    await outlast(asyncio.create_task(told()), 13)
    ((seconds, _, message), *_) = desk.client.progressed
    assert 12 <= seconds < 600
    assert message == "Waiting for a person to answer."
    await desk.answer(AnswerContent("text", "ok"))
    assert (await asyncio.wait_for(asking, PATIENCE)).text == "ok"


def test_one_process_looks_after_the_questions_of_a_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    with lock_questions(tmp_path / "home" / "hub"), pytest.raises(StoreBusyError) as busy:
        lock_questions(tmp_path / "home" / "hub")
    assert "hub.data_dir" in busy.value.hint


async def test_times_are_held_between_their_bounds(tmp_path: Path) -> None:
    desk = Desk(tmp_path, timeout=500, shortest=60, longest=900)
    for given, kept in ((1, 60), (700, 700), (10**6, 900), (0, 500), (-5, 500), (None, 500)):
        answer = await desk.client.call("ask_question", question="?", timeout=given, wait=0, **SHOP)
        found = re.search(r"The id is (\w+)", answer.text)
        assert found is not None
        assert (await desk.assistant.wait(desk.scope, found[1], 0)).question.timeout == kept
    desk.assistant.close()


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("ask_question", {"question": "?"}),
        ("task_finish", {"summary": "Done.", "confirm": True}),
        ("work_report", {"summary": "Done.", "confirm": True}),
    ],
)
async def test_a_person_has_the_seconds_that_the_agent_gave(desk: Desk, tool: str, said: dict[str, Any]) -> None:
    await desk.client.call(tool, timeout=700, wait=0, **said, **SHOP)
    assert (await desk.waiting()).question.timeout == 700


async def test_a_client_with_short_limits_comes_back_for_the_answer(desk: Desk) -> None:
    answer = await desk.client.call("ask_question", question="?", wait=0, id="mine", **SHOP)
    assert 'id="mine"' in answer.text
    assert "Nobody has answered yet" in (await desk.client.call("get_answer", id="mine", wait=0)).text
    await desk.answer(AnswerContent("text", "ok"))
    assert (await desk.client.call("get_answer", id="mine")).text == "ok"
    assert (await desk.client.call("ask_question", question="?", id="mine", **SHOP)).text == "ok"


async def test_a_report_returns_at_once_unless_it_wants_to_be_confirmed(desk: Desk) -> None:
    answer = await asyncio.wait_for(desk.client.call("task_finish", summary="Done.", **SHOP), PATIENCE)
    assert answer.text == "People have been told."
    confirmed = await desk.answered("work_report", AnswerContent("text", "good"), summary="Done.", confirm=True, **SHOP)
    assert confirmed.text == "good"


async def test_what_a_person_wrote_unasked_comes_with_the_next_report(desk: Desk) -> None:
    message = Question(desk.scope, "", "message", "先停", project="/srv/shop", agent="Alpha")
    await desk.assistant.write(message, by="Ada", where="web")
    answer = await desk.client.call("task_finish", summary="Done.", **SHOP)
    assert answer.text == "People have been told.\nAda wrote to you meanwhile: 先停"
    assert "Ada" not in (await desk.client.call("task_finish", summary="Again.", **SHOP)).text


async def test_a_question_is_withdrawn(desk: Desk) -> None:
    await desk.client.call("ask_question", question="?", wait=0, id="mine", **SHOP)
    assert (await desk.client.call("withdraw_question", id="mine")).text == "The question was withdrawn."
    assert "withdrawn before anybody answered" in (await desk.client.call("get_answer", id="mine")).text


async def test_an_unknown_id_is_an_error_that_says_so(desk: Desk) -> None:
    answer = await desk.client.call("get_answer", id="other")
    assert answer.is_error
    assert "There is no question with this id" in answer.text


@pytest.mark.parametrize("wait", [-1, 86_401, 3 * 10**9, 10**400])
async def test_a_wait_that_cannot_be_is_refused_before_anything_is_asked(desk: Desk, wait: int) -> None:
    for tool, said in (("ask_question", {"question": "?"}), ("task_finish", {"summary": "Done."})):
        answer = await desk.client.call(tool, wait=wait, **said, **SHOP)
        assert answer.is_error
        assert "wait" in answer.text
    assert list(await desk.assistant.waiting(desk.scope)) == []


async def test_half_a_character_in_an_argument_is_no_failure_of_the_hub(desk: Desk) -> None:
    answer = await desk.client.call("ask_question", question="?\ud800", options=["\ud800ok", "b"], wait=0, **SHOP)
    assert not answer.is_error
    (choice,) = (await desk.waiting()).question.choices
    assert [option.label for option in choice.options] == ["?ok", "b"]
    for tool in ("get_answer", "withdraw_question"):
        answer = await desk.client.call(tool, id="\ud800")
        assert "There is no question with this id" in answer.text
    assert "visible" in (await desk.client.call("ask_question", question="?", id="a\ud800", wait=0, **SHOP)).text


# -- a question as a form of the agent's client: its fields, and what a filled one says


def choice(**more: Any) -> Choices:
    return Choices("?", options=(Option("red"), Option("蓝")), **more)


def test_a_plain_question_has_one_field() -> None:
    form = form_of(None)
    assert form["required"] == ["answer"]
    assert said_in(None, {"answer": " 周三\n"}) == "周三"


def test_one_of_the_options_or_own_words() -> None:
    form = form_of(choice())
    assert form["properties"]["choice"]["enum"] == ["red", "蓝"]
    assert form["required"] == []
    assert said_in(choice(), {"choice": "蓝"}) == "蓝"
    assert said_in(choice(), {"answer": "green"}) == "green"
    assert said_in(choice(), {"choice": "red", "answer": "but dark"}) == "red\n\nbut dark"


def test_where_own_words_are_not_welcome_an_option_has_to_be_chosen() -> None:
    form = form_of(choice(custom=False))
    assert ([*form["properties"]], form["required"]) == (["choice"], ["choice"])
    assert said_in(choice(custom=False), {"choice": "red", "answer": "green"}) == "red"
    assert said_in(choice(custom=False), {"answer": "green"}) == ""


def test_several_options_are_a_field_each() -> None:
    form = form_of(choice(multiple=True))
    assert [field.get("title") for field in form["properties"].values()] == ["red", "蓝", "In own words"]
    assert said_in(choice(multiple=True), {"option_1": True, "option_2": True}) == "red, 蓝"
    assert said_in(choice(multiple=True), {"option_1": False, "option_2": True, "answer": "x"}) == "蓝\n\nx"


@pytest.mark.parametrize("asked", [None, choice(), choice(multiple=True), choice(custom=False)])
@pytest.mark.parametrize("fields", [{}, {"answer": "  "}, {"choice": "green", "option_1": "yes", "answer": 7}])
def test_an_empty_form_or_a_strange_one_says_nothing(asked: Choices | None, fields: dict[str, Any]) -> None:
    assert said_in(asked, fields) == ""
