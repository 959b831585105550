"""Questions that are asked in a group, with an outbox and whoever sits in the chat."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.waiting import PATIENCE, until

from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.errors import InvalidQuestionError
from nanobot_transcript.outbox import Action, Outbox, OutboxServer, Receipt
from nanobot_transcript.sql.location import Shelf
from transcript_mcp.assistant.groups import GroupQuestions
from transcript_mcp.assistant.questions.service import Assistant
from transcript_mcp.assistant.questions.sql_store import SqlQuestionStore
from transcript_mcp.assistant.questions.values import AnswerContent, Choices, Inquiry, Option, Question

if TYPE_CHECKING:
    from nanobot_transcript.entry import Entry

CHAT = "feishu:oc_1"
CHOICES = (Choices("?", options=(Option("Yes"), Option("No")), custom=False),)


class Group:
    """The chat, and a bot that sends what lies in the outbox. ``cards`` are what it shows now."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.outbox = Outbox(folder / "transcripts")
        self.store = GroupTranscriptStore(folder / "transcripts")
        self.store.members.remember_person("on_ada", name="Ada")
        self.sent_by: list[str | None] = []
        self.cards: dict[str, dict[str, Any]] = {}
        self.texts: list[str] = []
        self.at_once: Callable[[str], object] = lambda message_id: None
        """What a person does with a card before the bot has noted where it stands."""

    async def send(self, job: Any) -> Receipt:
        self.sent_by.append(job.agent)
        message_id = f"om_{len(self.cards) + len(self.texts) + 1}"
        if job.card is None:
            self.texts.append(job.content)
        else:
            self.cards[message_id] = job.card
            await asyncio.to_thread(self.at_once, message_id)
        return Receipt(message_id)

    async def revise(self, revision: Any) -> None:
        self.cards[revision.message_id] = revision.card

    def stand(self, number: int = 1) -> bool:
        """Whether it is noted where so many cards stand: what is said before is kept, and said to be for the bots."""
        return sum(post.message_id is not None for post in self.outbox.open_posts()) >= number

    def shown(self) -> str:
        return str(list(self.cards.values()))

    def reply(self, text: str, number: int = 1, to: str = "om_1") -> bool:
        """Ada replies; False when that is for the bots: the post is not there yet, or wants no answer any more."""
        said: Entry = {"role": "user", "content": text, "sender": "on_ada", "message_id": f"om_r{number}", "ts": 1}
        return self.outbox.offer_reply({**said, "reply_to": to})

    @asynccontextmanager
    async def hub(self, chat: str = CHAT) -> AsyncIterator[Assistant]:
        """A hub's part in it, as after each start."""
        assistant = Assistant(SqlQuestionStore(Shelf(self.folder / "hub")), chat=chat)
        outbox = Outbox(self.folder / "transcripts")
        async with GroupQuestions(assistant, outbox, self.store.members).running():
            yield assistant
        assistant.close()


@pytest.fixture
async def group(tmp_path: Path) -> AsyncIterator[Group]:
    one = Group(tmp_path)
    server = OutboxServer(
        one.outbox, one.send, agent="Alpha", sits_in=lambda _: True, revise=one.revise, look_every=0.05
    )
    serving = asyncio.create_task(server.serve())
    try:
        yield one
    finally:
        server.stop()
        await serving
        one.outbox.close()
        one.store.close()


def asked(id: str = "1", **fields: Any) -> Question:
    return Question("s", id, "question", fields.pop("text", "Ship it?"), **{"fetched": True, **fields})


async def answered(assistant: Assistant, id: str = "1") -> Inquiry:
    record = await assistant.wait("s", id, PATIENCE)
    assert record.state == "answered"
    return record


async def test_a_pressed_button_answers_and_the_card_says_who_did(group: Group) -> None:
    async with group.hub() as assistant:
        await assistant.ask(asked(choices=CHOICES))
        await until(group.stand)
        assert "Ship it?" in group.shown()
        assert group.outbox.offer_action(Action("om_1", {"option": "2"}, "on_ada"))
        record = await answered(assistant)
        assert (record.by, record.where, record.contents) == ("Ada", "group", (AnswerContent("text", "No"),))
        await until(lambda: "Ada answered: No" in group.shown())


async def test_a_button_that_is_pressed_before_the_bot_has_noted_where_the_card_stands_answers(group: Group) -> None:
    heard: list[bool] = []
    pressed = {"option": "2"}
    group.at_once = lambda card: heard.append(group.outbox.offer_action(Action(card, pressed, "on_ada")))
    async with group.hub() as assistant:
        await assistant.ask(asked(choices=CHOICES))
        record = await answered(assistant)
        assert (record.by, record.where, record.contents) == ("Ada", "group", (AnswerContent("text", "No"),))
        await until(lambda: "Ada answered: No" in group.shown())
    assert heard == [False]


async def test_a_reply_that_comes_before_the_bot_has_noted_where_the_card_stands_answers(group: Group) -> None:
    group.at_once = lambda card: group.reply("Yes, do.", to=card)
    async with group.hub() as assistant:
        await assistant.ask(asked())
        assert (await answered(assistant)).contents == (AnswerContent("text", "Yes, do."),)


async def test_a_reply_answers_and_what_is_no_option_is_told_so(group: Group) -> None:
    async with group.hub() as assistant:
        await assistant.ask(asked(choices=CHOICES))
        await until(group.stand)
        assert group.reply("maybe")
        await until(lambda: group.texts)
        assert group.texts == ["Please answer with a number from 1 to 2."]
        assert group.reply("@Alpha 1", number=2)
        assert (await answered(assistant)).contents == (AnswerContent("text", "Yes"),)


async def test_who_answers_elsewhere_is_shown_in_the_group_and_later_replies_are_for_the_bots(group: Group) -> None:
    async with group.hub() as assistant:
        await assistant.ask(asked())
        await until(lambda: group.cards)
        await assistant.answer("s", "1", [AnswerContent("text", "Later.")], by="Bo", where="web")
        await until(lambda: "Bo answered: Later." in group.shown())
        await until(lambda: not group.reply("too late"))
        await assistant.ask(asked("2", text="发布吗？"))
        await until(lambda: len(group.cards) == 2)
        await assistant.answer("s", "2", [AnswerContent("text", "好。")], by="", where="web")
        await until(lambda: "有人在网页上回答了：好。" in group.shown())


async def test_a_question_outlives_the_hub_and_is_asked_once(group: Group) -> None:
    async with group.hub() as assistant:
        await assistant.ask(asked())
        await until(group.stand)
    assert group.reply("Yes, do.")
    async with group.hub() as assistant:
        assert (await answered(assistant)).contents == (AnswerContent("text", "Yes, do."),)
        await until(lambda: "Ada answered" in group.shown())
    assert len(group.cards) == 1


async def test_a_bot_of_the_chat_asks_by_itself(group: Group) -> None:
    group.store.members.remember_bot("cli_a", "Alpha")
    group.store.append(CHAT, "assistant", "I am here.", "Alpha", "om_0", sender_kind="bot", agent="Alpha")
    group.store.members.saw(CHAT, "Alpha")
    async with group.hub() as assistant:
        await assistant.ask(asked("1", agent="Alpha"))
        await assistant.ask(asked("2", agent="Somebody else"))
        await until(lambda: len(group.cards) == 2)
    assert sorted(map(str, group.sent_by)) == ["Alpha", "None"]


async def test_a_card_that_another_version_made_is_answered_all_the_same(group: Group) -> None:
    group.outbox.post(CHAT, card={"an": "older card"}, idempotency_key="question\0s\x001")
    await until(group.stand)
    async with group.hub() as assistant:
        await assistant.ask(asked())
        assert group.reply("Yes.")
        assert (await answered(assistant)).contents == (AnswerContent("text", "Yes."),)
    assert len(group.cards) == 1


async def test_questions_of_many_are_each_answered_once(group: Group) -> None:
    async with group.hub() as assistant:
        for number in range(20):
            await assistant.ask(asked(str(number), text=f"Question {number}?"))
        await until(lambda: group.stand(20))
        for number, (message_id, card) in enumerate(dict(group.cards).items()):
            said = f"to {card['body']['elements'][0]['content']}"
            assert group.reply(said, number, message_id)
        for number in range(20):
            assert (await answered(assistant, str(number))).contents == (
                AnswerContent("text", f"to Question {number}?"),
            )


async def test_a_question_names_its_chat_or_none(group: Group) -> None:
    async with group.hub() as assistant:
        record = await assistant.ask(asked("1", chat=""))
        assert record.question.chat == ""
        record = await assistant.ask(asked("2", chat="oc_2"))
        assert record.question.chat == "feishu:oc_2"
        for wrong in ("feishu:", "x" * 5000):
            with pytest.raises(InvalidQuestionError, match="not a group chat"):
                await assistant.ask(asked("3", chat=wrong))
        await until(lambda: group.cards)
    assert len(group.cards) == 1


async def test_an_outbox_that_cannot_be_used_is_tried_again(
    group: Group, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("transcript_mcp.assistant.groups._AFTER_TROUBLE", 0.05)
    group.outbox.post(CHAT, "so that there is one")
    await until(lambda: group.texts)
    file = group.folder / "transcripts" / ".state" / "outbox" / "outbox.db"
    aside = file.rename(file.with_name("aside"))
    file.symlink_to("nowhere")
    async with group.hub() as assistant:
        await assistant.ask(asked())
        await until(lambda: "cannot be asked in groups now" in caplog.text)
        aside.rename(file)
        await until(lambda: group.cards)
