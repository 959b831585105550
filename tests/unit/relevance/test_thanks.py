"""Whom thanks and consent are for: the bot that is to react to them."""

from typing import Any

import pytest

from nanobot_transcript.relevance import Reason
from nanobot_transcript.turns.courtesy import is_wordless

MENTIONED = {"mentions": [{"name": "Alpha", "id": "cli_a"}]}
BETA_MENTIONED = {"mentions": [{"name": "Beta", "id": "cli_b"}]}


def talk(group: Any, bot: str = "alpha", **fields: Any) -> list[Any]:
    """Ada asks a bot, which answers."""
    asked = group.says("ada", f"{bot}, when do we ship?")
    return [asked, group.says(bot, "On Friday.", reply_to=asked["message_id"], **fields)]


def thanked(group: Any, message: Any, *history: Any) -> list[str]:
    """The bots that are thanked by a message; each of them is asked."""
    decisions = [group.decide(message, *history, agent=bot) for bot in (group.alpha, group.beta)]
    assert all(one.respond is False for one in decisions)
    assert all(one.reason is Reason.NO_ANSWER_WANTED for one in decisions if one.thanked)
    return [one.agent for one in decisions if one.thanked]


@pytest.mark.parametrize("text", ["thanks", "谢谢！", "好的", "👍", "ok, got it"])
def test_a_bare_word_of_thanks_is_for_the_bot_that_has_just_answered_the_speaker(group: Any, text: str) -> None:
    assert thanked(group, group.says("ada", text), *talk(group)) == ["Alpha"]
    assert thanked(group, group.says("ada", text), *talk(group, "beta")) == ["Beta"]
    assert thanked(group, group.says("ada", text), *talk(group), *talk(group, "beta")) == ["Beta"]


def test_a_bare_word_of_thanks_in_a_talk_without_replies_is_for_the_bot_that_was_called(group: Any) -> None:
    history = [group.says("ada", "Alpha, when do we ship?"), group.says("alpha", "On Friday.")]
    assert thanked(group, group.says("ada", "thanks"), *history) == ["Alpha"]
    assert thanked(group, group.says("ming", "thanks"), *history) == []


@pytest.mark.parametrize("text", ["bye", "不客气", "哈哈", "😂", "...", "不用回了", "no need to answer", "闭嘴"])
def test_other_courtesies_and_no_answer_wanted_are_no_thanks(group: Any, text: str) -> None:
    history = talk(group)
    for fields in ({},) if is_wordless(text) else ({}, MENTIONED):  # who just mentions a bot is answered
        decision = group.decide(group.says("ada", text, **fields), *history)
        assert (decision.reason, decision.thanked) == (Reason.NO_ANSWER_WANTED, False)


@pytest.mark.parametrize(("text", "fields"), [("@Alpha thanks", MENTIONED), ("谢谢小助手", {}), ("Alpha, 好的", {})])
def test_thanks_by_name_are_for_that_bot_whoever_spoke_last(group: Any, text: str, fields: Any) -> None:
    assert thanked(group, group.says("ming", text, **fields)) == ["Alpha"]
    assert thanked(group, group.says("ada", text, **fields), *talk(group, "beta")) == ["Alpha"]


def test_thanks_in_a_reply_are_for_whom_they_reply_to(group: Any) -> None:
    first, second = talk(group), talk(group, "beta")
    history = [*first, *second, group.says("ming", "午饭吃什么？")]
    assert thanked(group, group.says("ming", "谢谢", reply_to=first[1]["message_id"]), *history) == ["Alpha"]
    assert thanked(group, group.says("ada", "谢谢", reply_to=history[-1]["message_id"]), *history) == []
    assert thanked(group, group.says("ada", "谢谢", reply_to="om_of_long_ago"), *history[:4]) == []


def test_who_mentions_another_bot_thanks_that_one_alone(group: Any) -> None:
    history = talk(group)
    message = group.says("ada", "@Beta thanks", reply_to=history[1]["message_id"], **BETA_MENTIONED)
    assert thanked(group, message, *history) == ["Beta"]


def test_who_names_a_person_thanks_no_bot(group: Any) -> None:
    assert thanked(group, group.says("ada", "谢谢小明"), *talk(group)) == []
    assert thanked(group, group.says("ada", "@所有人 谢谢"), *talk(group)) == []


def test_thanks_between_people_are_for_no_bot(group: Any) -> None:
    history = [*talk(group), group.says("ada", "小明, will you come?")]
    assert thanked(group, group.says("ming", "ok"), *history) == []
    assert thanked(group, group.says("ada", "thanks"), *history) == []


def test_consent_to_what_somebody_else_asked_meanwhile_is_for_no_bot(group: Any) -> None:
    said, asked = group.says("ming", "今天真热。"), group.says("ming", "去吃饭吗？")
    assert thanked(group, group.says("ada", "好的"), *talk(group), said) == ["Alpha"]
    assert thanked(group, group.says("ada", "好的"), *talk(group), asked) == []


def test_thanks_a_while_after_an_answer_are_for_no_bot(group: Any) -> None:
    history = talk(group)
    late = group.says("ada", "thanks", ts=history[1]["ts"] + 11 * 60_000)
    assert thanked(group, late, *history) == []
    noise = [group.says("ming", f"今天 {number}", ts=history[1]["ts"] + number) for number in range(12)]
    assert thanked(group, group.says("ada", "thanks", ts=history[1]["ts"] + 100), *history, *noise) == []


def test_in_a_thread_of_the_bot_people_may_thank_each_other(group: Any) -> None:
    thread = {"thread_id": "omt_1"}
    history = [
        group.says("ada", "Alpha, when do we ship?", **thread),
        group.says("alpha", "On Friday.", **thread),
        group.says("ming", "Ada, I bring the cake.", **thread),
    ]
    decision = group.decide(group.says("ada", "thanks", **thread), *history, owner="Alpha")
    assert (decision.reason, decision.thanked) == (Reason.NO_ANSWER_WANTED, False)
    decision = group.decide(group.says("ada", "thanks", **thread), *history[:2], owner="Alpha")
    assert (decision.reason, decision.thanked) == (Reason.NO_ANSWER_WANTED, True)


def test_what_a_bot_says_and_what_is_stale_is_no_thanks(group: Any) -> None:
    history = talk(group)
    assert not group.decide(group.says("beta", "@Alpha thanks", **MENTIONED), *history).thanked
    old = group.says("ada", "@Alpha thanks", **MENTIONED)
    assert not group.decide(old, *history, now_ms=old["ts"] + 3_600_000).thanked


@pytest.mark.parametrize(
    "text",
    [
        "把周报分别发给小王和小李",
        "特别说明一下第三条",
        "计算了两次，重新核对",
        "别管格式，先把结果发出来",
        "先别重启，先把日志发我",
        "add dist/ to the ignore list",
        "please summarize this thread, no need for details",
        "I'm not asking Beta, you do it",
        "算了，帮我查下天气",
    ],
)
def test_a_request_with_words_like_no_answer_wanted_is_answered(group: Any, text: str) -> None:
    assert group.decide(group.says("ada", f"@Alpha {text}", **MENTIONED)).reason is Reason.MENTIONED


@pytest.mark.parametrize("text", ["好的", "可以", "是的", "同意", "ok", "sure", "yep", "👍"])
def test_consent_to_what_a_bot_has_just_asked_is_an_answer(group: Any, text: str) -> None:
    asked = [
        group.says("ada", "@Alpha restart the build", **MENTIONED),
        group.says("alpha", "Shall I restart it now?", reply_to="om_1"),
    ]
    for fields in (MENTIONED, {"reply_to": "om_2"}):
        decision = group.decide(group.says("ada", text, **fields), *asked)
        assert decision.reason is not Reason.NO_ANSWER_WANTED
    told = [asked[0], group.says("alpha", "It runs again.", reply_to="om_1")]
    assert group.decide(group.says("ada", text), *told).reason is Reason.NO_ANSWER_WANTED
    assert group.decide(group.says("ada", "谢谢", **MENTIONED), *asked).reason is Reason.NO_ANSWER_WANTED


@pytest.mark.parametrize("text", ["?", "？？", "!?"])
def test_a_question_mark_alone_is_a_question(group: Any, text: str) -> None:
    assert group.decide(group.says("ada", text), *talk(group)).reason is not Reason.NO_ANSWER_WANTED


@pytest.mark.parametrize("text", ["早上好", "大家好", "hi呀", "hello啊", ""])
def test_who_greets_or_just_mentions_a_bot_is_answered(group: Any, text: str) -> None:
    assert group.decide(group.says("ada", f"@Alpha {text}", **MENTIONED)).reason is Reason.MENTIONED
