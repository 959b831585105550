"""How the demo knows that the bots have come to an end: from the record and the log of decisions alone."""

from collections.abc import Callable
from typing import Any

import pytest

from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.demo.who_answers import DemoTurns
from nanobot_transcript.record import Record
from nanobot_transcript.relevance.decision import Decision, Reason, Stage
from nanobot_transcript.relevance.decision_log_file import FileDecisionLog
from transcript_channels.simulator import App, FeishuSimulator, Message

KEY = "feishu:oc_demo"


class Talk:
    """What was said and decided in a group of Alpha and Beta, written as their processes would."""

    def __init__(self, store: GroupTranscriptStore) -> None:
        self.store = store
        self.feishu = FeishuSimulator()
        self.alpha, self.beta = self.feishu.add_app("Alpha"), self.feishu.add_app("Beta")
        self.ada = self.feishu.add_person("Ada")
        self.group = self.feishu.add_group("Team", [self.ada, self.alpha, self.beta])
        self.turns = DemoTurns(Record.open(store.base_dir), KEY, [self.alpha, self.beta])

    async def person(self, text: str) -> Message:
        message = await self.feishu.say(self.group, self.ada, text, wait=False)
        self.store.append(KEY, "user", text, "on_ada", message.message_id, message.created_ms)
        return message

    async def bot(self, app: App, text: str, to: Message, **fields: Any) -> Message:
        message = await self.feishu.say(self.group, app, text, wait=False)
        self.store.append(
            KEY,
            "assistant",
            text,
            app.name,
            message.message_id,
            message.created_ms,
            reply_to=to.message_id,
            agent=app.name,
            **fields,
        )
        return message

    def decides(self, app: App, message: Message, respond: bool, *, is_open: bool = False) -> None:
        stage, reason = (Stage.CERTAIN, Reason.MENTIONED) if respond else (Stage.SCORE, Reason.SCORE_LOW)
        decision = Decision(respond, reason, float(respond), stage, app.name, message.message_id, is_open, KEY)
        FileDecisionLog(self.store.base_dir).write(KEY, decision)


@pytest.fixture
def talk(make_store: Callable[..., GroupTranscriptStore]) -> Talk:
    return Talk(make_store())


async def test_nothing_is_over_before_every_bot_has_decided(talk: Talk) -> None:
    message = await talk.person("The weather is fine.")
    talk.decides(talk.alpha, message, False, is_open=True)
    assert not talk.turns.are_over(message)
    talk.decides(talk.beta, message, False, is_open=True)
    assert talk.turns.are_over(message)


async def test_what_bots_noted_is_told_in_the_order_of_their_names(talk: Talk) -> None:
    message = await talk.person("does anybody know?")
    for app in (talk.beta, talk.alpha):
        talk.decides(app, message, False, is_open=True)
    assert list(talk.turns.noted(message)) == ["Alpha", "Beta"]


async def test_each_bot_that_is_asked_has_to_answer(talk: Talk) -> None:
    message = await talk.person("@Alpha @Beta are you there?")
    talk.decides(talk.alpha, message, True)
    talk.decides(talk.beta, message, True)
    await talk.bot(talk.alpha, "Yes.", message, hop=1)
    assert not talk.turns.are_over(message)
    await talk.bot(talk.beta, "Of course.", message, hop=1)
    assert talk.turns.are_over(message)


async def test_one_answer_is_enough_for_a_question_to_nobody(talk: Talk) -> None:
    message = await talk.person("does anybody know?")
    for app in (talk.alpha, talk.beta):
        talk.decides(app, message, False, is_open=True)
    assert not talk.turns.are_over(message)
    assert [noted.answers for noted in talk.turns.noted(message).values()] == [True, True]
    await talk.bot(talk.beta, "I do.", message, hop=1)
    assert talk.turns.are_over(message)


async def test_a_discussion_is_over_when_the_guard_lets_nobody_go_on(talk: Talk) -> None:
    message = await talk.person("@Alpha discuss it with the other bot")
    talk.decides(talk.alpha, message, True)
    talk.decides(talk.beta, message, False)
    said = message
    for hop in range(1, talk.turns.limit + 1):
        assert not talk.turns.are_over(message)
        speaker, other = (talk.alpha, talk.beta) if hop % 2 else (talk.beta, talk.alpha)
        said = await talk.bot(speaker, f"@{other.name} Point {hop}, what do you think?", said, hop=hop)
    assert talk.turns.are_over(message)
    assert talk.turns.verdict(talk.alpha, said).reason == "hop_limit"


async def test_a_reply_concerns_a_bot_also_without_its_name(talk: Talk) -> None:
    message = await talk.person("@Alpha tell the other bot")
    talk.decides(talk.alpha, message, True)
    talk.decides(talk.beta, message, False)
    first = await talk.bot(talk.alpha, "@Beta the build is red, can you look?", message, hop=1)
    await talk.bot(talk.beta, "It was a flaky test in the upload room.", first, hop=2)
    assert not talk.turns.are_over(message)
