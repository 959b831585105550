"""Asking a judge for what is to be recorded: how many at once, and what happens when it fails."""

import asyncio
from collections.abc import Callable

import pytest
from support.waiting import until

from nanobot_transcript.errors import ResponderError, StoreFullError
from nanobot_transcript.relevance import Prompt
from nanobot_transcript.relevance.evaluation.recorded_answers import RecordedAnswer
from nanobot_transcript.relevance.evaluation.recorder import AT_ONCE, IN_A_ROW, record
from nanobot_transcript.relevance.openai_judge import Reply


class Scripted:
    """An endpoint that answers by the number of the question; it notes how many were asked at once."""

    model = "m"

    def __init__(self, reply: Callable[[int], Reply | Exception]) -> None:
        self._reply = reply
        self.asked = 0
        self.now = 0
        self.most = 0
        self.given_up = 0

    async def reply(self, prompt: Prompt, /) -> Reply:
        self.asked += 1
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(0)
            reply = self._reply(int(prompt.user))
            if reply == Reply("hang"):
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.given_up += 1
            raise
        finally:
            self.now -= 1
        if isinstance(reply, Exception):
            raise reply
        return reply


def questions(count: int) -> dict[str, Prompt]:
    return {f"{at:064x}": Prompt("", str(at)) for at in range(count)}


async def test_a_few_questions_are_asked_at_once_and_every_answer_is_kept() -> None:
    endpoint, kept, told = Scripted(lambda at: Reply("yes" if at % 2 else "no", at, 1)), [], []
    made = await record(questions(30), endpoint, kept.append, lambda done, of: told.append((done, of)))
    assert (made.answered, made.failed, made.unclear) == (30, 0, 0)
    assert endpoint.most == AT_ONCE
    assert {(one.key, one.respond, one.prompt_tokens) for one in kept} == {
        (f"{at:064x}", bool(at % 2), at) for at in range(30)
    }
    assert all(one.seconds >= 0 for one in kept)
    assert told[-1] == (30, 30)


async def test_what_an_unclear_answer_said_is_told_but_not_kept() -> None:
    kept: list[RecordedAnswer] = []
    made = await record(questions(2), Scripted(lambda _: Reply("I can't\nrespond to that.")), kept.append)
    assert (made.answered, made.unclear, made.example) == (2, 2, "I can't respond to that.")
    assert [one.respond for one in kept] == [None, None]
    made = await record(questions(1), Scripted(lambda _: Reply("x" * 5_000)), kept.append)
    assert len(made.example) == 300


async def test_questions_that_fail_now_and_then_are_counted_and_the_others_asked() -> None:
    def every_fourth_answers(at: int) -> Reply | Exception:
        return RuntimeError("too\nmany") if at % 4 else Reply("yes")

    kept: list[RecordedAnswer] = []
    made = await record(questions(20), Scripted(every_fourth_answers), kept.append)
    assert (made.answered, made.failed, made.why) == (5, 15, "too many")
    assert len(kept) == 5


async def test_a_judge_that_fails_again_and_again_is_asked_no_more() -> None:
    endpoint, kept = Scripted(lambda at: Reply("yes") if at < 10 else TimeoutError()), []
    with pytest.raises(ResponderError, match="times in a row: TimeoutError") as caught:
        await record(questions(100), endpoint, kept.append)
    assert len(kept) == 10
    assert endpoint.asked <= 10 + IN_A_ROW + 2 * AT_ONCE
    assert endpoint.now == 0
    assert "gate.judge.base_url" in caught.value.hint
    assert "continues" in caught.value.hint


async def test_who_interrupts_a_recording_leaves_no_question_behind() -> None:
    endpoint, kept = Scripted(lambda at: Reply("yes" if at < 6 else "hang")), []
    recording = asyncio.create_task(record(questions(100), endpoint, kept.append))
    await until(lambda: len(kept) == 6 and endpoint.now == AT_ONCE)
    recording.cancel()
    with pytest.raises(asyncio.CancelledError):
        await recording
    assert (endpoint.given_up, endpoint.now, len(kept)) == (AT_ONCE, 0, 6)


async def test_an_answer_that_cannot_be_kept_ends_the_recording() -> None:
    def full(_answer: RecordedAnswer) -> None:
        raise StoreFullError("full")

    endpoint = Scripted(lambda _: Reply("yes"))
    with pytest.raises(StoreFullError):
        await record(questions(100), endpoint, full)
    assert endpoint.now == 0
