"""The life of a question, without a connection."""

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from msgspec.structs import replace
from support.loop_clock import later, no_time_passes
from support.waiting import PATIENCE, until

from nanobot_transcript.coordination.clock import Moment, moment
from nanobot_transcript.errors import InvalidQuestionError, StoreError, UnknownQuestionError
from nanobot_transcript.sql.location import Shelf
from nanobot_transcript.sql.sqlite import SqliteDatabase
from transcript_mcp.assistant.questions.service import Assistant
from transcript_mcp.assistant.questions.sql_store import SqlQuestionStore
from transcript_mcp.assistant.questions.values import (
    AnswerContent,
    AnswerOutcome,
    Choices,
    GivenAnswer,
    HistoryQuery,
    Inquiry,
    Option,
    Question,
    QuestionEvent,
)

ASKED = Question("s", "q1", "question", "Deploy?", said_as="AskQuestion", project="/p", agent="Alpha", timeout=60)
OK = (AnswerContent("text", "ok"),)


def other(**changes: Any) -> Question:
    return replace(ASKED, **changes)


def held(assistant: Assistant) -> list[Inquiry]:
    return assistant._open.records(None)


async def at_rest_after(assistant: Assistant, seconds: float) -> None:
    """Return when what happens within so many seconds has come to its end."""
    later(seconds)
    for _ in range(3):
        await asyncio.sleep(0)
    await until(lambda: not assistant._tasks)


@contextmanager
def disk_gone(place: "Place") -> Iterator[None]:
    """Nothing can be read or written in the block."""
    path = place.folder / "assistant.sqlite3"
    aside = path.rename(path.with_name("aside"))
    path.mkdir()
    try:
        yield
    finally:
        path.rmdir()
        aside.rename(path)


async def cancelled_after(steps: int, work: Coroutine[Any, Any, Any]) -> None:
    """Leave after so many steps of the event loop."""
    task = asyncio.create_task(work)
    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


class Place:
    """A folder, and the services that are started on it one after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.news: list[QuestionEvent] = []
        self.opened: list[Assistant] = []

    def start(self, **options: float) -> Assistant:
        assistant = Assistant(SqlQuestionStore(Shelf(self.folder)), **options)
        assistant.listen(self.news.append)
        self.opened.append(assistant)
        return assistant

    def kinds(self) -> list[str]:
        return [event.kind for event in self.news]


@pytest_asyncio.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    made = Place(tmp_path)
    yield made
    for assistant in made.opened:
        assistant.close()


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One more for each transaction that begins to be written."""
    begun, write = list[int](), SqliteDatabase.write
    monkeypatch.setattr(SqliteDatabase, "write", lambda *given: (begun.append(1), write(*given))[1])
    return begun


async def test_an_answer_reaches_who_waits(place: Place) -> None:
    assistant = place.start()
    await assistant.ask(ASKED)
    waiting = asyncio.create_task(assistant.wait("s", "q1"))
    outcome = await assistant.answer("s", "q1", OK, by="Ada", where="web")
    record = await asyncio.wait_for(waiting, PATIENCE)
    assert outcome.accepted
    assert (record.state, record.by, record.where, record.contents) == ("answered", "Ada", "web", OK)
    assert place.kinds() == ["asked", "answered"]


async def test_two_who_wait_for_one_id_get_one_answer(place: Place) -> None:
    assistant = place.start()
    await assistant.ask(ASKED)
    await assistant.ask(ASKED)
    waiting = [asyncio.create_task(assistant.wait("s", "q1")) for _ in range(2)]
    await assistant.answer("s", "q1", OK, by="Ada", where="web")
    records = await asyncio.wait_for(asyncio.gather(*waiting), PATIENCE)
    assert [record.by for record in records] == ["Ada", "Ada"]
    assert place.kinds() == ["asked", "answered"]


async def test_an_answer_that_is_too_late_is_told_who_was_first(place: Place) -> None:
    assistant = place.start()
    await assistant.ask(ASKED)
    await assistant.answer("s", "q1", OK, by="Ada", where="web")
    late = await assistant.answer("s", "q1", (AnswerContent("text", "no"),), by="Bo", where="web")
    assert (late.accepted, late.record.by) == (False, "Ada")
    assert place.kinds().count("answered") == 1


async def test_an_answer_that_is_none_of_the_options_leaves_the_question_open(place: Place) -> None:
    assistant = place.start()
    await assistant.ask(other(choices=(Choices("Which?", options=(Option("red"), Option("blue")), custom=False),)))
    with pytest.raises(InvalidQuestionError, match="options"):
        await assistant.answer("s", "q1", OK, by="Ada", where="web")
    assert (await assistant.wait("s", "q1", 0)).state == "waiting"
    assert (await assistant.answer("s", "q1", (AnswerContent("text", "blue"),), by="Ada", where="web")).accepted
    assert not (await assistant.answer("s", "q1", OK, by="Bo", where="web")).accepted


async def test_wrong_answers_among_many_are_told_and_the_others_count(place: Place) -> None:
    assistant = place.start()
    await asyncio.gather(*(assistant.ask(other(id=f"q{number}")) for number in range(3)))
    await assistant.ask(other(id="told", kind="report", expects=False))
    said = [("q0", OK), ("q1", ()), ("nowhere", OK), ("q0", OK), ("told", OK), ("q2", OK)]
    outcomes = await assistant.answer_all([GivenAnswer("s", each, contents, "Ada", "web") for each, contents in said])
    assert [outcome.accepted if isinstance(outcome, AnswerOutcome) else type(outcome) for outcome in outcomes] == [
        *(True, InvalidQuestionError, UnknownQuestionError, False, True, True)
    ]
    assert [record.question.id for record in held(assistant)] == ["q1"]
    assert place.kinds().count("answered") == 2


async def test_who_does_not_wait_for_its_time_to_be_over_hears_of_the_answer_that_came_in_it(place: Place) -> None:
    assistant = place.start()
    await assistant.ask(ASKED)
    waiting = [asyncio.create_task(assistant.wait("s", "q1", seconds)) for seconds in (0.01, None, 30)]
    assert (await asyncio.wait_for(waiting[0], PATIENCE)).state == "waiting"
    waiting[1].cancel()
    await assistant.answer("s", "q1", OK, by="Ada", where="web")
    assert (await asyncio.wait_for(waiting[2], PATIENCE)).contents == OK


async def test_a_question_times_out(place: Place) -> None:
    assistant = place.start()
    await assistant.ask(other(timeout=0))
    record = await asyncio.wait_for(assistant.wait("s", "q1"), PATIENCE)
    assert record.state == "timeout"
    assert place.kinds() == ["asked", "closed"]
    assert not (await assistant.answer("s", "q1", OK, by="Ada", where="web")).accepted


async def test_waiting_a_while_gives_the_question_as_it_stands(place: Place) -> None:
    assistant = place.start()
    await assistant.ask(other(fetched=True))
    assert (await assistant.wait("s", "q1", 0)).state == "waiting"
    await assistant.answer("s", "q1", OK, by="Ada", where="web")
    assert (await assistant.wait("s", "q1", 0)).state == "answered"


async def test_a_question_that_nobody_waits_for_any_more_is_cancelled(place: Place) -> None:
    assistant = place.start(grace=0)
    await assistant.ask(ASKED)
    waiting = asyncio.create_task(assistant.wait("s", "q1"))
    await asyncio.sleep(0)
    waiting.cancel()
    await until(lambda: "closed" in place.kinds())
    assert (await assistant.wait("s", "q1")).state == "cancelled"


async def test_who_comes_back_in_time_goes_on_waiting(place: Place) -> None:
    assistant = place.start(grace=30)
    await assistant.ask(ASKED)
    waiting = asyncio.create_task(assistant.wait("s", "q1"))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await assistant.answer("s", "q1", OK, by="Ada", where="web")
    assert (await assistant.ask(ASKED)).contents == OK


async def test_a_question_that_is_fetched_outlives_who_asked(place: Place) -> None:
    assistant = place.start(grace=0)
    await assistant.ask(other(fetched=True))
    assert (await assistant.wait("s", "q1", 0.05)).state == "waiting"


async def test_a_question_is_taken_back(place: Place) -> None:
    assistant = place.start()
    await assistant.ask(ASKED)
    assert (await assistant.withdraw("s", "q1")).state == "withdrawn"
    assert list(await assistant.waiting("s")) == []
    assert place.news[-1].record.state == "withdrawn"


async def test_a_restart_goes_on_with_what_waits(place: Place) -> None:
    first = place.start()
    await first.ask(ASKED)
    await first.ask(other(id="q2", timeout=600))
    first.close()
    second = place.start()
    waiting = asyncio.create_task(second.wait("s", "q1"))
    await second.answer("s", "q1", OK, by="Ada", where="web")
    assert (await asyncio.wait_for(waiting, PATIENCE)).by == "Ada"
    assert [record.question.id for record in await second.waiting("s")] == ["q2"]


async def test_what_timed_out_while_nothing_ran_is_closed_at_once(place: Place, tmp_path: Path) -> None:
    store = SqlQuestionStore(Shelf(tmp_path), clock=lambda: 1000.0, moment=Moment)
    await store.put(ASKED, "waiting")
    store.close()
    assert (await asyncio.wait_for(place.start(overdue=0).wait("s", "q1"), PATIENCE)).state == "timeout"


async def test_an_answer_that_came_while_nothing_ran_counts(place: Place, tmp_path: Path) -> None:
    store = SqlQuestionStore(Shelf(tmp_path), clock=lambda: 1000.0, moment=Moment)
    await store.put(ASKED, "waiting")
    store.close()
    assistant = place.start(overdue=60)
    waiting = asyncio.create_task(assistant.wait("s", "q1"))
    await until(lambda: "q1" in [record.question.id for record in held(assistant)])
    assert (await assistant.answer("s", "q1", OK, by="Ada", where="group")).accepted
    assert (await asyncio.wait_for(waiting, PATIENCE)).by == "Ada"


@pytest.mark.parametrize("steps", range(12))
async def test_a_question_whose_caller_leaves_at_any_moment_is_shown_or_was_never_asked(
    place: Place, steps: int
) -> None:
    assistant = place.start()
    await assistant.ask(other(id="before"))
    await cancelled_after(steps, assistant.ask(other(id="q", fetched=True)))
    await until(lambda: not assistant._tasks)
    asked = [event.record.question.id for event in place.news]
    is_kept = await assistant._store.get("s", "q") is not None
    assert ("q" in asked) == is_kept
    assert ("q" in [record.question.id for record in held(assistant)]) == is_kept
    assert is_kept or steps < 2


@pytest.mark.parametrize("steps", range(12))
@pytest.mark.parametrize("ends", ["answered", "withdrawn"])
async def test_an_end_whose_sender_leaves_at_any_moment_reaches_the_caller_or_never_was(
    place: Place, steps: int, ends: str
) -> None:
    assistant = place.start()
    await assistant.ask(ASKED)
    waiting = asyncio.create_task(assistant.wait("s", "q1"))
    await asyncio.sleep(0)
    ending = (
        assistant.answer("s", "q1", OK, by="Ada", where="web") if ends == "answered" else assistant.withdraw("s", "q1")
    )
    await cancelled_after(steps, ending)
    await assistant.ask(other(id="afterwards"))  # what was kept before has been told by then
    kept = await assistant._store.get("s", "q1")
    assert kept is not None
    assert waiting.done() == (kept.state == ends)
    assert (kept.state == ends) == (not {"answered", "closed"}.isdisjoint(place.kinds()))
    assert kept.state == ends or steps < 2
    waiting.cancel()


async def test_what_another_process_has_ended_is_let_go_when_it_is_answered_here(place: Place) -> None:
    here, there = place.start(), place.start()
    await here.ask(ASKED)
    waiting = asyncio.create_task(here.wait("s", "q1"))
    await there.answer("s", "q1", OK, by="Ada", where="web")
    assert not (await here.answer("s", "q1", OK, by="Bo", where="web")).accepted
    assert (await asyncio.wait_for(waiting, PATIENCE)).by == "Ada"


async def test_a_clock_that_was_set_back_makes_nobody_wait_longer_than_asked(place: Place, tmp_path: Path) -> None:
    store = SqlQuestionStore(Shelf(tmp_path), clock=lambda: 4e9, moment=Moment)
    await store.put(other(timeout=0), "waiting")
    store.close()
    assert (await asyncio.wait_for(place.start().wait("s", "q1"), PATIENCE)).state == "timeout"


@pytest.mark.skipif(not moment().boot, reason="this system does not tell one start of the machine from another")
async def test_a_clock_that_was_set_forward_ends_no_question_of_the_last_process(place: Place, tmp_path: Path) -> None:
    store = SqlQuestionStore(Shelf(tmp_path), clock=lambda: time.time() - 86_400)  # set right by a day since then
    await store.put(other(timeout=600), "waiting")
    store.close()
    assert (await place.start(overdue=0).wait("s", "q1", 0.2)).state == "waiting"


async def test_another_scope_neither_sees_nor_answers(place: Place) -> None:
    assistant = place.start()
    await assistant.ask(ASKED)
    for attempt in (
        assistant.wait("t", "q1"),
        assistant.answer("t", "q1", OK, by="Eve", where="web"),
        assistant.withdraw("t", "q1"),
    ):
        with pytest.raises(UnknownQuestionError):
            await attempt
    assert list(await assistant.waiting("t")) == []
    assert (await assistant.history(("t",), HistoryQuery())).records == ()


async def test_a_report_that_wants_no_answer_is_told_and_closed(place: Place) -> None:
    assistant = place.start()
    record = await assistant.ask(other(kind="report", expects=False))
    assert record.state == "notified"
    assert (await assistant.wait("s", "q1")).state == "notified"
    assert list(await assistant.waiting("s")) == []
    assert place.kinds() == ["asked"]


async def test_what_is_said_to_such_a_report_reaches_its_agent(place: Place) -> None:
    assistant = place.start()
    await assistant.ask(other(kind="report", expects=False))
    outcome = await assistant.answer("s", "q1", OK, by="Ada", where="web")
    assert outcome.accepted
    asked = await assistant.ask(other(id="q2"))
    (message,) = await assistant.messages_for(asked)
    assert (message.question.text, message.by, message.question.agent) == ("ok", "Ada", "Alpha")


async def test_what_is_said_twice_to_such_a_report_by_one_person_is_one_message(place: Place) -> None:
    assistant = place.start()
    for report in ("q1", "q2"):
        await assistant.ask(other(id=report, kind="report", expects=False))
        for by in ("Ada", "Ada", "Bo"):
            assert (await assistant.answer("s", report, OK, by=by, where="web")).accepted
    await assistant.answer("s", "q1", (AnswerContent("text", "other words"),), by="Ada", where="web")
    assert place.kinds().count("message") == 5


async def test_who_waits_is_told_in_time_that_nothing_can_be_written_and_loses_no_answer(place: Place) -> None:
    assistant = place.start()
    await assistant.ask(other(timeout=600))
    waiting = [asyncio.create_task(assistant.wait("s", "q1")) for _ in range(2)]
    await asyncio.sleep(0)
    assistant.close()
    with disk_gone(place):
        later(600)
        for each in waiting:
            with pytest.raises(StoreError):
                await each
        again = asyncio.create_task(assistant.wait("s", "q1"))
        await asyncio.sleep(0)
        later(60)
        with pytest.raises(StoreError):
            await again
    with no_time_passes():
        assert (await assistant.answer("s", "q1", OK, by="Ada", where="web")).accepted
        assert (await assistant.wait("s", "q1")).contents == OK


async def test_who_comes_back_while_a_cancelled_question_cannot_be_closed_goes_on_waiting(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    assistant = place.start(grace=60)
    await assistant.ask(other(timeout=600))
    assistant.close()
    with disk_gone(place):
        await at_rest_after(assistant, 61)
        assert "cannot be saved yet" in caplog.text
        waiting = asyncio.create_task(assistant.wait("s", "q1"))
        await asyncio.sleep(0)
    await at_rest_after(assistant, 61)
    await assistant.answer("s", "q1", OK, by="Ada", where="web")
    assert (await waiting).state == "answered"


async def test_a_message_is_waiting_then_picked_up(place: Place) -> None:
    assistant = place.start()
    written = await assistant.write(other(id="", text="先停"), by="Ada", where="web")
    assert written.state == "waiting"
    record = await assistant.ask(ASKED)
    (lent,) = await assistant.messages_for(record)
    assert lent.state == "waiting"
    assert not await assistant.messages_for(await assistant.ask(other(id="q2")))
    assistant.delivered(record, arrived=True)
    await until(lambda: "picked_up" in place.kinds())
    assert [(event.kind, event.record.state) for event in place.news if event.record.question.kind == "message"] == [
        ("message", "waiting"),
        ("picked_up", "picked_up"),
    ]


@pytest.mark.parametrize(
    "wrong", [{"text": " "}, {"id": ""}, {"id": "x" * 300}, {"id": "a\0"}, {"text": "x" * 1_000_001}]
)
async def test_what_cannot_be_asked_is_refused(place: Place, wrong: dict[str, str]) -> None:
    with pytest.raises(InvalidQuestionError):
        await place.start().ask(other(**wrong))


async def test_an_id_of_something_else_is_refused(place: Place) -> None:
    assistant = place.start()
    await assistant.ask(ASKED)
    for changed in ({"text": "Else?"}, {"kind": "report"}):
        with pytest.raises(InvalidQuestionError):
            await assistant.ask(other(**changed))


async def test_half_a_character_does_no_harm(place: Place) -> None:
    record = await place.start().ask(other(text="a\ud800b\0c"))
    assert record.question.text == "a?b\ufffdc"


async def test_nobody_has_a_thousand_questions_open(place: Place) -> None:
    assistant = place.start()
    asked = [assistant.ask(other(id=f"q{number}")) for number in range(1200)]
    outcomes = await asyncio.gather(*asked, return_exceptions=True)
    assert sum(isinstance(outcome, Inquiry) for outcome in outcomes) == 1000
    with pytest.raises(InvalidQuestionError):
        await assistant.ask(other(id="more"))
    await assistant.withdraw("s", "q0")
    await assistant.ask(other(id="more"))
    await assistant.ask(other(scope="t", id="more"))


async def test_nobody_has_more_open_than_a_page_can_be_sent(place: Place) -> None:
    assistant = place.start()
    large = "x" * 990_000
    outcomes = await asyncio.gather(
        *(assistant.ask(other(id=f"q{number}", text=large)) for number in range(60)), return_exceptions=True
    )
    kept = [outcome for outcome in outcomes if isinstance(outcome, Inquiry)]
    assert 30 <= len(kept) <= 34
    with pytest.raises(InvalidQuestionError, match="bytes"):
        await assistant.ask(other(id="more", text=large))
    await assistant.ask(other(id=kept[0].question.id, text=large))
    await assistant.ask(other(scope="t", text=large))
    await assistant.withdraw("s", kept[0].question.id)
    await assistant.ask(other(id="more", text=large))


async def test_a_listener_that_fails_hinders_nobody(place: Place) -> None:
    assistant = place.start()

    def fail(_event: QuestionEvent) -> None:
        raise RuntimeError("no")

    assistant.listen(fail)
    await assistant.ask(ASKED)
    assert (await assistant.answer("s", "q1", OK, by="Ada", where="web")).accepted


async def test_a_message_that_waits_is_not_taken_for_a_other(place: Place) -> None:
    assistant = place.start()
    await assistant.write(other(id="m1", kind="message", text="stop"), by="Ada", where="web")
    with pytest.raises(InvalidQuestionError, match="another question"):
        await assistant.ask(other(id="m1"))
    assert list(await assistant.waiting(None)) == []


async def test_whoever_waits_keeps_a_question_open_whose_closing_had_failed(place: Place) -> None:
    assistant = place.start(grace=60)
    await assistant.ask(other(id="q1", timeout=600))
    one = assistant._open.get("s", "q1")
    assert one is not None
    for _ in range(2):
        assistant._open.keep_open(one)
    waiting = asyncio.create_task(assistant.wait("s", "q1"))
    await asyncio.sleep(0)
    await at_rest_after(assistant, 61)
    assert not waiting.done()
    await assistant.answer("s", "q1", OK, by="Ada", where="web")
    assert (await waiting).state == "answered"


async def test_whoever_comes_back_while_the_closing_waits_for_the_disk_keeps_the_question_open(
    place: Place, writes: list[int]
) -> None:
    assistant = place.start(grace=60)
    await assistant.ask(other(id="q1", timeout=600))
    with closing(sqlite3.connect(place.folder / "assistant.sqlite3")) as foreign:
        foreign.execute("BEGIN IMMEDIATE")
        writes.clear()
        later(61)
        await until(lambda: writes)  # the closing is at the disk
        waiting = asyncio.create_task(assistant.wait("s", "q1"))
        await asyncio.sleep(0)
        foreign.execute("ROLLBACK")
    await until(lambda: not assistant._tasks)
    assert not waiting.done()
    await assistant.answer("s", "q1", OK, by="Ada", where="web")
    assert (await waiting).state == "answered"


async def test_whoever_asks_again_while_the_closing_waits_for_the_disk_keeps_the_question_open(
    place: Place, writes: list[int]
) -> None:
    assistant = place.start(grace=60)
    asked = other(timeout=600)
    await assistant.ask(asked)

    async def ask_again() -> Inquiry:
        await assistant.ask(asked)
        return await assistant.wait("s", "q1")

    with closing(sqlite3.connect(place.folder / "assistant.sqlite3", isolation_level=None)) as foreign:
        foreign.execute("BEGIN IMMEDIATE")
        writes.clear()
        first = asyncio.create_task(assistant.ask(other(id="q2", timeout=600)))
        await until(lambda: writes)  # what is written now keeps all others waiting
        waiting = asyncio.create_task(ask_again())
        await asyncio.sleep(0)
        later(61)
        for _ in range(3):
            await asyncio.sleep(0)
        foreign.execute("ROLLBACK")
    await first
    await until(lambda: not assistant._tasks)
    assert not waiting.done()
    await assistant.answer("s", "q1", OK, by="Ada", where="web")
    assert (await waiting).state == "answered"


async def test_who_waits_is_told_when_the_question_is_no_longer_on_the_disk(place: Place) -> None:
    assistant = place.start()
    await assistant.ask(other(id="q1", timeout=600))
    waiting = asyncio.create_task(assistant.wait("s", "q1"))
    await asyncio.sleep(0)
    for file in place.folder.glob("assistant.sqlite3*"):
        file.unlink()
    later(600)
    assert (await asyncio.wait_for(waiting, PATIENCE)).state == "cancelled"
    assert list(await assistant.waiting(None)) == []


async def test_a_question_is_counted_once_while_it_is_asked(place: Place) -> None:
    assistant = place.start()
    told = list[int]()
    assistant.listen(lambda _event: told.append(assistant._open._number["s"]))
    await asyncio.gather(*(assistant.ask(other(id=f"q{number}")) for number in range(20)))
    assert max(told) == 20


async def test_a_question_that_is_asked_twice_at_once_counts_once_and_no_more_when_it_has_ended(place: Place) -> None:
    assistant = place.start()
    await asyncio.gather(assistant.ask(ASKED), assistant.ask(ASKED))
    assert assistant._open._number == {"s": 1}
    await assistant.answer("s", "q1", OK, by="Ada", where="web")
    assert assistant._open._number == {}


async def test_wrong_answers_do_not_come_near_the_disk(place: Place, writes: list[int]) -> None:
    assistant = place.start()
    await assistant.ask(ASKED)
    writes.clear()
    wrong = await assistant.answer_all([GivenAnswer("s", "q1", (), "Ada", "web")] * 3)
    assert [type(each) for each in wrong] == [InvalidQuestionError] * 3
    assert writes == []  # an empty transaction, too, waits for whoever else writes


async def test_what_is_said_to_many_reports_is_written_down_together(place: Place, writes: list[int]) -> None:
    assistant, ids = place.start(), [f"r{number}" for number in range(30)]
    for each in ids:
        await assistant.ask(other(id=each, kind="report", expects=False))
    writes.clear()
    outcomes = await assistant.answer_all([GivenAnswer("s", each, OK, "Ada", "web") for each in ids])
    assert all(isinstance(outcome, AnswerOutcome) and outcome.accepted for outcome in outcomes)
    assert len(writes) <= 4


async def test_news_reach_everybody_also_where_one_listener_fails(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    assistant, heard = place.start(), list[str]()

    def fails(_event: QuestionEvent) -> None:
        raise ZeroDivisionError

    assistant.listen(fails)
    assistant.listen(lambda event: heard.append(event.kind))
    await assistant.ask(ASKED)
    assert heard == ["asked"]
    assert "A listener of the assistant failed" in caplog.text


async def test_what_fails_when_nobody_waits_for_it_is_in_the_log(
    place: Place, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assistant = place.start(grace=60)

    async def fails(*_: object) -> None:
        raise ZeroDivisionError

    await assistant.ask(ASKED)
    monkeypatch.setattr(assistant._store, "end_all", fails)
    later(61)
    await until(lambda: "A task of the assistant failed" in caplog.text)
