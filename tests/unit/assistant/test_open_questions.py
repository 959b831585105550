"""How much may wait for an answer, and how long a question is kept that nobody waits for."""

import asyncio

import pytest

from nanobot_transcript.errors import InvalidQuestionError
from transcript_mcp.assistant.questions.open_questions import OpenQuestions
from transcript_mcp.assistant.questions.values import Inquiry, Question

MIB = 1024 * 1024


def question(id: str, text: str = "Which?") -> Question:
    return Question("s", id, "question", text)


def test_what_waits_together_has_a_limit_in_bytes() -> None:
    questions = OpenQuestions(lambda *_: None, grace=60)
    large = "x" * (20 * MIB)
    with questions.room_for(question("q1", large)):
        with (
            pytest.raises(InvalidQuestionError, match="waiting for an answer already have"),
            questions.room_for(question("q2", large)),
        ):
            pytest.fail("it was let in")
        with questions.room_for(question("q3")):
            pass
    with questions.room_for(question("q2", large)):
        pass


async def test_a_question_that_somebody_waits_for_is_not_closed_after_the_grace() -> None:
    loop = asyncio.get_running_loop()
    closed: list[tuple[str, str]] = []
    questions = OpenQuestions(lambda key, _: closed.append(key), grace=0)
    for each in ("awaited", "left"):
        questions.add(Inquiry(question(each), 1, 0.0, "waiting"), 600)
    awaited = questions.get("s", "awaited")
    assert awaited is not None
    questions.join(awaited, loop.create_future())
    later = loop.create_future()
    loop.call_later(0, later.set_result, None)  # timers ring in their order
    await later
    assert closed == [("s", "left")]
