"""One bad question, answer or chat keeps no other question from being asked and answered in its group."""

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from support.waiting import PATIENCE, until

from nanobot_transcript.coordination.clock import Moment
from nanobot_transcript.errors import StoreBusyError
from nanobot_transcript.outbox import Action, Job, Outbox, post_id_for
from nanobot_transcript.sql.location import Shelf
from nanobot_transcript.store.member_file import FileMembers
from nanobot_transcript.store.member_view import Member
from transcript_mcp.assistant.group_cards import question_card
from transcript_mcp.assistant.groups import GroupQuestions
from transcript_mcp.assistant.questions.service import Assistant
from transcript_mcp.assistant.questions.sql_store import SqlQuestionStore
from transcript_mcp.assistant.questions.values import AnswerContent, Choices, Inquiry, Option, Question

CHAT = "feishu:oc_1"
CHOICES = (Choices("?", options=(Option("Yes"), Option("No")), custom=False),)


class Members(FileMembers):
    """Nobody is known. ``trouble`` is raised when it is asked for the so-many-th time, and always while ``busy``."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.asked = 0
        self.trouble: dict[int, Exception] = {}
        self.busy = False
        self.slow = 0.0

    def of_chat(self, session_key: str) -> list[Member]:
        self.asked += 1
        time.sleep(self.slow)
        if self.busy:
            raise StoreBusyError("busy")
        if (trouble := self.trouble.pop(self.asked, None)) is not None:
            raise trouble
        return super().of_chat(session_key)

    def name_of(self, sender: str) -> str | None:
        if sender == "on_odd":
            raise RuntimeError("nobody foresaw this")
        return super().name_of(sender)


class Place:
    """A hub's part in groups; the tests are the bot."""

    def __init__(self, folder: Path, overdue: float = 5.0) -> None:
        self.folder = folder
        self.outbox = Outbox(folder / "transcripts")
        self.members = Members(folder / "transcripts")
        self.assistant = Assistant(SqlQuestionStore(Shelf(folder / "hub")), chat=CHAT, overdue=overdue)
        self.posts: dict[str, Job] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        with closing(Outbox(self.folder / "transcripts", busy=0.05)) as outbox:
            async with GroupQuestions(self.assistant, outbox, self.members).running():
                yield

    async def ask(self, id: str, **fields: Any) -> str:
        """A question that stands in its chat; the id of the message. By the text ``id``."""
        await self.assistant.ask(question(id, **fields))
        return await self.sent(id)

    async def sent(self, id: str) -> str:
        await until(lambda: self.deliver() or post_id(id) in self.posts)
        return f"om_{post_id(id)}"

    def deliver(self) -> None:
        """Send all that waits."""
        for key in self.outbox.waiting():
            while (job := self.outbox.take("bot", [key])) is not None:
                self.posts[job.id] = job
                self.outbox.sent(job, f"om_{job.id}", "Alpha")

    def revised(self) -> list[str]:
        """Show the next card in the place of one that stands there; of which post it is."""
        revision = self.outbox.take_revision("bot", "Alpha")
        if revision is None:
            return []
        self.outbox.revised(revision)
        return [revision.post_id]

    def press(self, message_id: str, option: str = "1") -> bool:
        return self.outbox.offer_action(Action(message_id, {"option": option}, "on_ada", "Ada"))

    def wants_answers(self, id: str) -> bool:
        sql = "SELECT wants_answers FROM jobs WHERE id = ?"
        return self.outbox._database.read(lambda db: db.execute(sql, (post_id(id),)).fetchone()[0], 1) == 1


def question(id: str, **fields: Any) -> Question:
    chosen = {"choices": CHOICES, "fetched": True, **fields}
    return Question("s", id, "question", chosen.pop("text", f"Question {id}?"), **chosen)


def post_id(id: str) -> str:
    return post_id_for(f"question\0s\0{id}")


def changed(path: Path, statement: str) -> None:
    """Another program's hand in a file."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()


@pytest.fixture
async def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Place]:
    monkeypatch.setattr("transcript_mcp.assistant.groups._LOOK_EVERY", 0.02)
    monkeypatch.setattr("transcript_mcp.assistant.groups._AFTER_TROUBLE", 0.02)
    made = Place(tmp_path)
    yield made
    made.outbox.close()
    made.assistant.close()


async def answered(place: Place, id: str) -> Inquiry:
    record = await place.assistant.wait("s", id, PATIENCE)
    assert record.state == "answered"
    return record


async def test_an_answer_that_cannot_be_kept_is_passed_over(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    async with place.running():
        lost, other = await place.ask("lost"), await place.ask("other")
        changed(place.folder / "hub" / "assistant.sqlite3", "DELETE FROM records WHERE id = 'lost'")
        assert place.press(lost)
        assert place.press(other, "2")
        assert (await answered(place, "other")).contents == (AnswerContent("text", "No"),)
        await until(lambda: "cannot be saved" in caplog.text)
    assert caplog.text.count("cannot be saved") == 1


@pytest.mark.parametrize(
    ("option", "sender", "error"), [("9" * 5000, "on_ada", "ValueError"), ("1", "on_odd", "nobody foresaw this")]
)
async def test_an_answer_that_nobody_foresaw_is_passed_over(
    place: Place, caplog: pytest.LogCaptureFixture, option: str, sender: str, error: str
) -> None:
    async with place.running():
        message_id = await place.ask("1")
        assert place.outbox.offer_action(Action(message_id, {"option": option}, sender))
        assert place.press(message_id, "2")
        assert (await answered(place, "1")).contents == (AnswerContent("text", "No"),)
    assert caplog.text.count("An answer cannot be saved") == 1
    assert error in caplog.text


async def test_an_answer_is_handed_on_when_the_disk_is_back(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    async with place.running():
        message_id = await place.ask("1")
        path = place.folder / "hub" / "assistant.sqlite3"
        place.assistant.close()
        aside = path.rename(path.with_name("aside"))
        path.mkdir()
        assert place.press(message_id)
        await until(lambda: "Questions cannot be asked in groups now" in caplog.text)
        path.rmdir()
        aside.rename(path)
        assert (await answered(place, "1")).by == "Ada"


async def test_who_is_told_how_to_answer_in_other_words_already_is_told_no_more(place: Place) -> None:
    said: Any = {"role": "user", "content": "maybe", "sender": "on_ada", "message_id": "om_r", "ts": 1}
    async with place.running():
        message_id = await place.ask("1")
        key = f"wrong choice\0{post_id('1')}\0om_r"
        place.outbox.post(CHAT, "As an older version said it.", wants_answers=False, idempotency_key=key)
        assert place.outbox.offer_reply({**said, "reply_to": message_id})
        assert place.press(message_id)
        assert (await answered(place, "1")).contents == (AnswerContent("text", "Yes"),)


async def test_a_question_that_ends_is_not_brought_back_into_a_chat_that_was_erased(place: Place) -> None:
    async with place.running():
        erased, other = await place.ask("erased"), await place.ask("other", chat="feishu:oc_2")
        assert place.outbox.forget(session_key=CHAT) == 1
        assert not place.press(erased)
        await place.assistant.answer("s", "erased", [AnswerContent("text", "No")], by="Bo", where="web")
        assert place.press(other)
        await answered(place, "other")
        await until(lambda: not place.wants_answers("other"))
    assert place.outbox.waiting() == []
    assert place.outbox.forget(session_key=CHAT) == 0


async def test_a_question_whose_post_is_no_card_still_ends(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    place.outbox.post(CHAT, "An older version asked in words.", idempotency_key="question\0s\0" + "text")
    async with place.running():
        text, other = await place.ask("text"), await place.ask("other")
        assert place.press(text)
        await answered(place, "text")
        await until(lambda: not place.wants_answers("text"))
        assert place.press(other)
        await answered(place, "other")
        await until(lambda: not place.wants_answers("other"))
    assert caplog.text.count("Only a card can be replaced") == 1


async def test_a_question_that_is_refused_by_the_platform_ends_elsewhere(place: Place) -> None:
    async with place.running():
        await place.assistant.ask(question("refused"))
        await until(place.outbox.waiting)
        job = place.outbox.take("bot", [CHAT])
        assert job is not None
        place.outbox.failed(job, "this card cannot be shown", None)
        other = await place.ask("other")
        await place.assistant.answer("s", "refused", [AnswerContent("text", "No")], by="Bo", where="web")
        assert place.press(other)
        await answered(place, "other")
        shown: list[str] = []
        await until(lambda: shown.extend(place.revised()) or shown)
        assert shown == [post_id("other")]


async def test_a_question_that_nobody_foresaw_is_passed_over(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    place.members.trouble = {1: RuntimeError("nobody foresaw this")}
    async with place.running():
        await place.assistant.ask(question("odd"))
        other = await place.ask("other")
        assert place.press(other)
        await answered(place, "other")
    assert caplog.text.count("nobody foresaw this") == 1
    assert list(place.posts) == [post_id("other")]


async def test_what_waits_at_the_start_is_told_once_although_the_outbox_is_busy_in_between(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(30):
        await place.assistant.ask(question(str(number)))
    place.members.trouble = {20: StoreBusyError("busy"), 25: StoreBusyError("busy")}
    async with place.running():
        message_id = await place.sent("29")
        assert place.press(message_id)
        await answered(place, "29")
    assert len(place.posts) == 30
    tried_again = caplog.text.count("Questions cannot be asked in groups now")  # twice, unless it really was busy, too
    assert tried_again >= 2
    assert place.members.asked == 30 + tried_again


async def test_a_question_that_ended_while_it_could_not_be_asked_is_not_left_open(place: Place) -> None:
    async with place.running():
        place.members.busy = True
        await place.assistant.ask(question("1"))
        await until(lambda: place.members.asked)
        await place.assistant.answer("s", "1", [AnswerContent("text", "No")], by="Bo", where="web")
        tried = place.members.asked
        await until(lambda: place.members.asked > tried + 1)
        place.members.busy = False
        await place.sent("1")
        await until(lambda: not place.wants_answers("1"))
        await place.ask("last")
    assert not place.wants_answers("1")


@pytest.mark.parametrize("how", ["set aside", "removed"])
async def test_when_the_outbox_has_lost_its_file_what_waits_is_asked_again_and_answers_are_heard(
    place: Place, how: str
) -> None:
    async with place.running():
        for number in range(3):
            assert place.press(await place.ask(str(number)))
            await answered(place, str(number))
        await place.ask("waits")
        place.posts.clear()
        for path in (place.folder / "transcripts" / ".state" / "outbox").iterdir():
            path.unlink() if how == "removed" else path.rename(path.with_suffix(".aside"))
        message_id = await place.sent("waits")
        assert list(place.posts) == [post_id("waits")]
        assert place.press(message_id)
        assert (await answered(place, "waits")).by == "Ada"


async def test_an_answer_behind_very_many_others_is_heard_at_once(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = place.outbox.post(CHAT, "Something else")
    place.deliver()
    await place.assistant.ask(question("1"))
    async with place.running():
        message_id = await place.sent("1")
    rows = [(waiting, f"mark {number}") for number in range(1200)]
    insert = "INSERT INTO answers (job_id, mark, kind, message_id, sender, sender_name, ts, body)"
    place.outbox._database.write(
        lambda db: db.executemany(f"{insert} VALUES (?, ?, 'reply', 'om', 'on_bo', 'Bo', 1, '{{}}')", rows)
    )
    assert place.press(message_id)
    monkeypatch.setattr("transcript_mcp.assistant.groups._LOOK_EVERY", 3600)
    async with place.running():
        await answered(place, "1")


@pytest.mark.parametrize("revised", [False, True], ids=["before the card", "between the card and its answers"])
async def test_a_card_whose_hub_was_killed_before_it_showed_the_answer_is_closed_by_the_next(
    place: Place, *, revised: bool
) -> None:
    async with place.running():
        await place.ask("1")
        await place.ask("open")
    await place.assistant.answer("s", "1", [AnswerContent("text", "No")], by="Bo", where="web")
    if revised:
        place.outbox.revise(post_id("1"), {"a": "card"})
    async with place.running():
        await until(lambda: not place.wants_answers("1"))
        assert place.wants_answers("open")
        assert place.revised() == [post_id("1")]


async def test_a_hub_that_stops_shows_what_has_ended(place: Place) -> None:
    async with place.running():
        ids = [str(number) for number in range(20)]
        for each in ids:
            await place.ask(each)
        for each in ids:
            await place.assistant.answer("s", each, [AnswerContent("text", "No")], by="Bo", where="web")
    assert not any(map(place.wants_answers, ids))


async def test_a_hub_stops_although_the_outbox_cannot_be_written(place: Place) -> None:
    path = place.outbox._database.path
    place.outbox.post(CHAT, "so that there is one")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        async with asyncio.timeout(PATIENCE), place.running():
            await place.ask("1")
            other.execute("BEGIN IMMEDIATE")
            await place.assistant.answer("s", "1", [AnswerContent("text", "No")], by="Bo", where="web")
        assert place.wants_answers("1")
        other.execute("ROLLBACK")
    async with place.running():
        await until(lambda: not place.wants_answers("1"))


@pytest.mark.parametrize("count", [50, pytest.param(1000, marks=pytest.mark.soak)])
async def test_answers_that_came_in_time_while_no_hub_ran_count(tmp_path: Path, count: int) -> None:
    """Although all questions have run out by the time that their cards could be asked for again."""
    ids = [str(number) for number in range(count)]
    long_ago = SqlQuestionStore(Shelf(tmp_path / "hub"), clock=lambda: time.time() - 3600, moment=Moment)
    with closing(Outbox(tmp_path / "transcripts")) as outbox:
        for each in ids:
            asked = question(each, chat=CHAT, timeout=600)
            await long_ago.put(asked, "waiting")
            outbox.post(CHAT, card=question_card(asked), idempotency_key=f"question\0s\0{each}")
            job = outbox.take("bot", [CHAT])
            assert job is not None
            outbox.sent(job, f"om_{each}", "Alpha")
            assert outbox.offer_action(Action(f"om_{each}", {"option": "1"}, "on_ada", "Ada"))
    long_ago.close()
    place = Place(tmp_path, overdue=60.0)
    place.members.slow = 2 * 60.0 / count
    async with place.running():
        states = [(await place.assistant.wait("s", each)).state for each in ids]
    assert states == ["answered"] * count
    place.outbox.close()
    place.assistant.close()
