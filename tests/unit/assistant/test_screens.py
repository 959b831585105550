"""What connected clients are told, without a connection."""

import logging
from pathlib import Path

import pytest
from support.waiting import until

from nanobot_transcript.sql.location import Shelf
from transcript_mcp.assistant.protocol import proto, wire
from transcript_mcp.assistant.protocol.screens import Screen, Screens
from transcript_mcp.assistant.questions.service import Assistant
from transcript_mcp.assistant.questions.sql_store import SqlQuestionStore
from transcript_mcp.assistant.questions.values import AnswerContent, GivenAnswer, Question, QuestionEvent
from transcript_mcp.door.identity import Tokens

TOKEN = "test-token"


async def at_once() -> None:
    pass


async def logged_in(screens: Screens, heard: list[bytes], nickname: str = "") -> Screen:
    screen = screens.connect(heard.append, at_once)
    await log_in(screens, screen, nickname)
    return screen


async def log_in(screens: Screens, screen: Screen, nickname: str) -> None:
    await screens.handle(screen, proto.WebsocketMessage(Cmd="UserLogin", StrParam=TOKEN, Nickname=nickname))


def told(heard: list[bytes]) -> list[tuple[str, str]]:
    messages = [wire.decoded(proto.WebsocketMessage, frame) for frame in heard]
    return [(message.Cmd, message.AskQuestionRequest.ID) for message in messages]


@pytest.mark.parametrize("nickname", ["", " \t"])
async def test_who_logs_in_without_a_name_gets_one_that_nobody_beside_them_has(tmp_path: Path, nickname: str) -> None:
    assistant = Assistant(SqlQuestionStore(Shelf(tmp_path)))
    screens, heard = Screens(assistant, Tokens(askers={"me": TOKEN})), list[bytes]()
    screen = await logged_in(screens, heard, nickname)
    assert screen.nickname == f"User_{screen.id[:8]}"
    assert wire.decoded(proto.WebsocketMessage, heard[0]).Nickname == screen.nickname
    await log_in(screens, screen, "Ada")
    namesake = await logged_in(screens, [], f"User_{screen.id[:8]}")
    await log_in(screens, screen, nickname)
    assert screen.nickname != namesake.nickname
    screens.leave(namesake)
    assistant.close()


async def test_the_end_of_one_question_that_cannot_be_told_keeps_no_other_from_being_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tokens = Tokens(askers={"me": TOKEN})
    assistant = Assistant(SqlQuestionStore(Shelf(tmp_path)))
    screens, heard = Screens(assistant, tokens), list[bytes]()
    await logged_in(screens, heard)
    scope, tell = tokens.asking(TOKEN).scopes[0], screens._tell_ending

    def fails_for_the_first(event: QuestionEvent) -> None:
        if event.record.question.id == "q1":
            raise ZeroDivisionError
        tell(event)

    monkeypatch.setattr(screens, "_tell_ending", fails_for_the_first)
    for each in ("q1", "q2"):
        await assistant.ask(Question(scope, each, "question", "Deploy?", said_as="AskQuestion", timeout=60))
    text = (AnswerContent("text", "ok"),)
    await assistant.answer_all([GivenAnswer(scope, each, text, "Ada", "web", "") for each in ("q1", "q2")])
    await until(lambda: ("AskQuestionReplyNotification", "q2") in told(heard))
    assert ("AskQuestionReplyNotification", "q1") not in told(heard)
    with caplog.at_level(logging.ERROR):
        assert "Clients could not be told that a question ended" in caplog.text
    assistant.close()
