"""Posts, queues, questions and mail: they go on in the new place, with their numbers and their words."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

import pytest
from contract.transfer.conftest import Open, Way
from support.moves import say

from nanobot_transcript.errors import StoreBusyError
from nanobot_transcript.record import Record
from nanobot_transcript.record.transfer.kept_tables import POSTS, TablesPart
from nanobot_transcript.record.transfer.move import MoveReport, check, move
from nanobot_transcript.settings import Settings
from transcript_mcp.assistant.questions.contract import End
from transcript_mcp.assistant.questions.sql_store import SqlQuestionStore
from transcript_mcp.assistant.questions.values import AnswerContent, Ending, HistoryQuery, Question
from transcript_mcp.io_bridge.store import SqlQueueStore
from transcript_mcp.mail.mail import AgentMail
from transcript_mcp.mail.search.hits import search
from transcript_mcp.mail.store import MailStore
from transcript_mcp.mail.values import Draft
from transcript_mcp.rooms import kept_tables

SHOP = "/srv/shop"

Carry = Callable[..., MoveReport]


class Rooms:
    """What a hub does with a record."""

    def __init__(self, record: Record, folder: Path) -> None:
        self.record: Record = record
        self.queues = SqlQueueStore(record.shelf(folder), processes=record.processes)
        self.questions = SqlQuestionStore(record.shelf(folder))
        self.mail = AgentMail(MailStore.on(record.shelf(folder / "mail")))

    async def ask(self, number: int, text: str, answer: str = "") -> None:
        """Ask, and answer if there is an answer."""
        await self.questions.put(Question(scope="ada", id=f"q{number}", kind="question", text=text), "waiting")
        if answer:
            await self.answer(number, answer)

    async def answer(self, number: int, text: str) -> None:
        """Answer what was asked."""
        await self.questions.end_all(
            [End("ada", f"q{number}", Ending("answered", contents=(AnswerContent("text", text),)))]
        )

    async def asked(self, text: str) -> list[str]:
        """The questions that a search finds."""
        page = await self.questions.history(("ada",), HistoryQuery(text=text))
        return [found.question.id for found in page.records]

    def write(self, subject: str) -> str:
        """A letter."""
        for name in ("GreenCastle", "RedStone"):
            self.mail.register_agent(SHOP, name)
        draft = Draft(subject, f"about {subject}, 发布窗口", to=["RedStone"])
        return self.mail.send(SHOP, self.mail.whois(SHOP, "GreenCastle"), draft).id

    def found(self, text: str) -> list[str]:
        """The letters that a search finds."""
        return [hit["id"] for hit in search(self.mail.reader, self.mail.project(SHOP).id, text).hits]

    def close(self) -> None:
        """Release the tables."""
        with ExitStack() as opened:
            for room in (self.queues, self.questions, self.mail):
                opened.callback(room.close)


@pytest.fixture
def here(source: Record, tmp_path: Path) -> Iterator[Rooms]:
    with closing(Rooms(source, tmp_path / "hub")) as rooms:
        yield rooms


@pytest.fixture
def there(target: Record, tmp_path: Path) -> Iterator[Rooms]:
    with closing(Rooms(target, tmp_path / "hub")) as rooms:
        yield rooms


@pytest.fixture
def carry(tmp_path: Path) -> Carry:
    """``carry(source, target)`` moves all rooms; with ``only`` something else is done with them."""

    def carried(source: Record, target: Record, only: Carry = move) -> MoveReport:
        hub = tmp_path / "hub"
        settings = Settings.model_validate({"hub": {"data_dir": hub}, "mail": {"store": hub / "mail"}})
        return only(source, target, tables=kept_tables(settings))

    return carried


def lacking(report: MoveReport) -> dict[str, int]:
    return {part.part: part.lacking for part in report.parts if part.lacking}


async def test_everything_goes_on_there(
    here: Rooms, there: Rooms, carry: Carry, source: Record, target: Record
) -> None:
    say(source.store, "hello", "om_1")
    post = source.outbox.post("feishu:oc_team", "待发 \0 text", idempotency_key="once")
    first = await here.queues.put("s", "in", "input 一", key="k")
    gone = await here.queues.put("s", "out", "taken")
    assert (await here.queues.take("s", "out")) is not None
    await here.queues.remove([gone.seq])
    await here.ask(1, "什么时候发布？", "明天早上")
    await here.ask(2, "which window")
    letter = here.write("Plan")
    assert carry(source, target).is_fine
    assert lacking(carry(source, target, check)) == {}
    assert target.outbox.status(post).state == "queued"
    assert target.outbox.post("feishu:oc_team", "待发 \0 text", idempotency_key="once") == post
    item = await there.queues.take("s", "in")
    assert item is not None
    assert (item.seq, item.text) == (first.seq, "input 一")
    assert (await there.queues.put("s", "out", "next")).seq > gone.seq
    assert [await there.asked(text) for text in ("发布", "早上", "window")] == [["q1"], ["q1"], ["q2"]]
    await there.answer(2, "in the evening")
    assert await there.asked("evening") == ["q2"]
    assert there.found("发布窗口") == [letter]
    assert there.write("Next") not in (letter, "")
    assert len(there.found("发布窗口")) == 2
    inbox = there.mail.inbox(there.mail.whois(SHOP, "RedStone"))
    assert len(inbox) == 2


async def test_the_next_run_brings_what_has_changed(
    here: Rooms, there: Rooms, carry: Carry, source: Record, target: Record
) -> None:
    say(source.store, "hello", "om_1")
    for number in range(3):
        await here.ask(number, f"question {number}")
    await here.queues.put("s", "in", "input")
    old = here.write("Old")
    carry(source, target)
    await here.answer(1, "答案 found")
    await here.ask(7, "later")
    assert await here.queues.take("s", "in") is not None
    new = here.write("New")
    report = carry(source, target)
    moved = {part.part: part.moved for part in report.parts if part.moved}
    assert report.is_fine
    assert moved["questions"] == 2
    assert await there.asked("答案") == ["q1"]
    assert sorted(await there.asked("question")) == ["q0", "q1", "q2"]
    assert await there.asked("later") == ["q7"]
    assert there.found("发布窗口") == [new, old]
    assert not {"posts", "questions", "mail"} & {part.part for part in carry(source, target).parts if part.moved}


async def test_where_others_have_gone_on_nothing_is_overwritten(
    here: Rooms, there: Rooms, carry: Carry, source: Record, target: Record
) -> None:
    say(source.store, "hello", "om_1")
    await here.ask(1, "question")
    first = source.outbox.post("feishu:oc_team", "first")
    carry(source, target)
    await there.answer(1, "answered there")
    new = target.outbox.post("feishu:oc_team", "given there")
    assert lacking(carry(source, target)) == {}
    source.outbox.post("feishu:oc_team", "given here, late")
    for only in (move, check):
        report = carry(source, target, only)
        assert (report.is_fine, lacking(report)) == (False, {"posts": 1})
    assert [status.id for status in target.outbox.open_posts()] == [first, new]
    assert await there.asked("answered") == ["q1"]


async def test_a_room_that_was_begun_elsewhere_is_left_alone(
    here: Rooms, there: Rooms, carry: Carry, source: Record, target: Record
) -> None:
    say(source.store, "hello", "om_1")
    await here.ask(1, "question")
    await there.ask(1, "another one")
    assert lacking(carry(source, target)) == {"questions": 1}
    assert await there.asked("another") == ["q1"]


async def test_there_and_back(here: Rooms, there: Rooms, carry: Carry, source: Record, target: Record) -> None:
    say(source.store, "hello", "om_1")
    await here.ask(1, "question", "answer")
    letter = here.write("Plan")
    carry(source, target)
    await there.ask(2, "asked there", "回答")
    later = there.write("Later")
    assert carry(target, source).is_fine
    assert await here.asked("回答") == ["q2"]
    assert here.found("about") == [later, letter]
    await here.ask(3, "and again")
    assert carry(source, target).is_fine
    assert await there.asked("again") == ["q3"]
    assert lacking(carry(source, target, check)) == {}


def test_what_is_posted_there_during_the_move_is_not_lost(
    source: Record, target: Record, way: Way, opened: Open
) -> None:
    say(source.store, "hello", "om_1")
    first = source.outbox.post("feishu:oc_team", "first")
    move(source, target)
    source.outbox.post("feishu:oc_team", "second")
    other = opened(way.target)
    given: list[str] = []

    def advance(progress: object) -> None:
        if not given:
            given.append(other.outbox.post("feishu:oc_team", "given there"))

    assert lacking(move(source, target, advance)) == {POSTS.name: 1}
    assert [status.id for status in target.outbox.open_posts()] == [first, *given]


def test_who_moves_the_same_at_once_leaves_it_to_the_next_one_to_go_on(
    source: Record, target: Record, way: Way, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nanobot_transcript.record.transfer.database._MOVED_WITHIN", 0.1)
    say(source.store, "hello", "om_1")
    source.outbox.post("feishu:oc_team", "first")
    others, note = [(opened(way.source), opened(way.target))], TablesPart._note

    def another(part: TablesPart, *noted: Any) -> None:
        """Just before it notes what it is going to write there, another process does all that it can."""
        for places in [others.pop()] if others else []:
            places[0].outbox.post("feishu:oc_team", "second")
            with suppress(StoreBusyError):
                move(*places)
        note(part, *noted)

    monkeypatch.setattr(TablesPart, "_note", another)
    move(source, target)
    source.outbox.post("feishu:oc_team", "third")
    report = move(source, target)
    assert report.is_fine, report
    assert len(target.outbox.open_posts()) == 3
