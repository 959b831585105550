"""What people wrote to an agent unasked, for an agent that asks for it by itself."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from msgspec.structs import replace
from support.loop_clock import later
from support.waiting import PATIENCE, until

from nanobot_transcript.sql.location import Shelf
from transcript_mcp.assistant.questions.notes import LentNotes
from transcript_mcp.assistant.questions.service import Assistant
from transcript_mcp.assistant.questions.sql_store import SqlQuestionStore
from transcript_mcp.assistant.questions.values import HistoryQuery, Question, QuestionEvent

ALPHA = Question("s", "", "question", "", project="/p", agent="Alpha")


def message(**changes: Any) -> Question:
    return replace(ALPHA, kind="message", text="stop", **changes)


def texts(lent: LentNotes | None) -> list[str]:
    return [] if lent is None else [each.question.text for each in lent.messages]


class Place:
    """An assistant on a folder, and its news."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.news: list[QuestionEvent] = []
        self.assistant = self.start()

    def start(self, lease: float = 60.0) -> Assistant:
        """Another process's assistant, in place of the one before."""
        self.assistant = Assistant(SqlQuestionStore(Shelf(self.folder)), lease=lease)
        self.assistant.listen(self.news.append)
        return self.assistant

    async def write(self, text: str = "stop") -> None:
        """A person writes to Alpha."""
        await self.assistant.write(replace(message(), text=text), by="Ada", where="web")

    async def lend(self, session: str = "s1", agent: Question = ALPHA) -> LentNotes | None:
        """What Alpha gets there."""
        return await self.assistant.unasked.lend(agent, session)

    async def states(self) -> list[str]:
        """How the messages stand, the oldest first."""
        page = await self.assistant.history(("s",), HistoryQuery())
        return [each.state for each in reversed(page.records) if each.question.kind == "message"]


@pytest_asyncio.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    made = Place(tmp_path)
    yield made
    made.assistant.close()


@pytest.fixture
def alpha(place: Place) -> Iterator[asyncio.Event]:
    """What wakes Alpha."""
    with place.assistant.unasked.news(ALPHA) as news:
        yield news


async def test_a_message_waits_until_its_agent_is_heard_of_again(place: Place) -> None:
    await place.write()
    lent = await place.lend()
    assert lent is not None
    lent.arrived(True)
    assert (texts(lent), await place.states()) == (["stop"], ["waiting"])
    assert await place.lend("s2") is None
    await place.assistant.unasked.confirm("s", "s1")
    assert await place.states() == ["picked_up"]
    assert [event.kind for event in place.news] == ["message", "picked_up"]
    assert place.news[-1].record.taken_by.startswith("i_tool/s1/")


async def test_another_session_or_token_confirms_nothing(place: Place) -> None:
    await place.write()
    await place.lend()
    await place.assistant.unasked.confirm("s", "s2")
    await place.assistant.unasked.confirm("other token", "s1")
    await place.assistant.ask(replace(ALPHA, id="q1", text="?", agent="Beta"))
    assert await place.states() == ["waiting"]


async def test_other_agents_get_nothing(place: Place) -> None:
    await place.write()
    for stranger in ({"agent": "Beta"}, {"project": "/q"}, {"scope": "t"}):
        assert await place.lend(agent=replace(ALPHA, **stranger)) is None


async def test_what_did_not_arrive_is_given_again_whoever_comes_first(place: Place, alpha: asyncio.Event) -> None:
    await place.write()
    lent = await place.lend()
    assert lent is not None
    alpha.clear()
    lent.arrived(False)
    await until(alpha.is_set)
    assert await place.states() == ["waiting"]
    record = await place.assistant.ask(replace(ALPHA, id="r1", text="Done.", kind="report", expects=False))
    (got,) = await place.assistant.messages_for(record)
    assert (got.question.text, got.taken_by) == ("stop", "r1")


async def test_a_question_of_the_agent_confirms_what_it_was_given(place: Place) -> None:
    await place.write()
    await place.lend()
    record = await place.assistant.ask(replace(ALPHA, id="r1", text="Done.", kind="report", expects=False))
    assert await place.states() == ["picked_up"]
    assert not await place.assistant.messages_for(record)


async def test_an_answer_to_an_earlier_question_does_not_bring_what_is_lent(place: Place) -> None:
    record = await place.assistant.ask(replace(ALPHA, id="q1", text="?"))
    await place.write()
    await place.lend()
    assert not await place.assistant.messages_for(record)


async def test_two_calls_in_one_session_share_no_message(place: Place) -> None:
    await place.write("one")
    first = await place.lend()
    await place.write("two")
    second = await place.lend()
    assert (texts(first), texts(second)) == (["one"], ["two"])
    await place.assistant.unasked.confirm("s", "s1")
    assert await place.states() == ["picked_up", "picked_up"]


async def test_what_nobody_confirms_is_given_elsewhere_when_its_time_is_over(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.start(lease=0.05)
    await place.write()
    lent = await place.lend()
    assert lent is not None
    with place.assistant.unasked.news(ALPHA) as news:
        lent.arrived(True)
        await asyncio.wait_for(news.wait(), PATIENCE)
    assert texts(await place.lend("s2")) == ["stop"]
    place.assistant.close()


async def test_a_late_call_confirms_what_nobody_else_got(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.start(lease=0)
    await place.write()
    await place.lend()
    await place.assistant.unasked.confirm("s", "s1")
    assert await place.states() == ["picked_up"]
    place.assistant.close()


async def test_a_process_that_follows_gives_what_the_last_one_left_unconfirmed(place: Place) -> None:
    await place.write()
    await place.lend()
    place.assistant.close()
    place.start()
    assert texts(await place.lend()) == ["stop"]


async def test_an_agent_that_waits_is_woken_by_a_message_to_it_alone(place: Place, alpha: asyncio.Event) -> None:
    await place.assistant.write(message(agent="Beta"), by="Ada", where="web")
    assert not alpha.is_set()
    await place.write()
    assert alpha.is_set()


async def test_a_call_that_is_cancelled_while_it_takes_leaves_the_message(place: Place) -> None:
    await place.write()
    for turns in range(20):
        taking = asyncio.create_task(place.lend())
        for _ in range(turns):
            await asyncio.sleep(0)
        taking.cancel()
        (lent,) = await asyncio.gather(taking, return_exceptions=True)
        if isinstance(lent, LentNotes):
            lent.arrived(False)
        await until(lambda: not place.assistant.unasked._tasks)
    assert texts(await place.lend()) == ["stop"]


async def test_what_went_with_an_answer_that_did_not_arrive_goes_with_the_next(
    place: Place, alpha: asyncio.Event
) -> None:
    first, second = [await place.assistant.ask(replace(ALPHA, id=each, text="?")) for each in ("q1", "q2")]
    await place.write()
    alpha.clear()
    assert len(await place.assistant.messages_for(first)) == 1
    assert not await place.assistant.messages_for(second)
    place.assistant.delivered(first, arrived=False)
    await until(alpha.is_set)
    assert await place.states() == ["waiting"]
    assert len(await place.assistant.messages_for(second)) == 1
    place.assistant.delivered(second, arrived=True)
    await until(lambda: place.news[-1].kind == "picked_up")
    assert place.news[-1].record.taken_by == "q2"


@pytest.mark.parametrize("arrived", [True, False])
async def test_what_went_with_an_answer_is_noted_when_the_disk_is_back(
    place: Place, caplog: pytest.LogCaptureFixture, arrived: bool
) -> None:
    first = await place.assistant.ask(replace(ALPHA, id="q1", text="?"))
    await place.write()
    assert len(await place.assistant.messages_for(first)) == 1
    place.assistant.close()
    path = place.folder / "assistant.sqlite3"
    aside = path.rename(path.with_name("aside"))
    path.mkdir()
    place.assistant.delivered(first, arrived=arrived)
    await until(lambda: "cannot be saved yet" in caplog.text)
    path.rmdir()
    aside.rename(path)
    second = await place.assistant.ask(replace(ALPHA, id="q2", text="?"))
    later(60)
    await until(lambda: not place.assistant.unasked._tasks)
    assert len(await place.assistant.messages_for(second)) == (0 if arrived else 1)


async def test_a_call_that_is_cancelled_while_it_takes_what_goes_with_an_answer_leaves_it(place: Place) -> None:
    first, second = [await place.assistant.ask(replace(ALPHA, id=each, text="?")) for each in ("q1", "q2")]
    await place.write()
    for steps in range(12):
        taking = asyncio.create_task(place.assistant.messages_for(first))
        for _ in range(steps):
            await asyncio.sleep(0.0005)
        if taking.done():
            place.assistant.delivered(first, arrived=False)
        taking.cancel()
        await asyncio.gather(taking, return_exceptions=True)
        await until(lambda: not place.assistant.unasked._tasks)
        assert len(await place.assistant.messages_for(second)) == 1
        place.assistant.delivered(second, arrived=False)
        await until(lambda: not place.assistant.unasked._tasks)


async def test_what_went_with_an_answer_of_a_process_that_ended_goes_with_an_answer_of_the_next(place: Place) -> None:
    first, second = [await place.assistant.ask(replace(ALPHA, id=each, text="?")) for each in ("q1", "q2")]
    await place.write()
    assert len(await place.assistant.messages_for(first)) == 1
    next_one = place.start()
    await next_one.waiting(None)
    assert len(await next_one.messages_for(second)) == 1
    next_one.close()
