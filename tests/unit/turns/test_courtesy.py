"""Which words need no answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot_transcript.turns.courtesy import fingerprint, is_courtesy, is_thanks

NO_ANSWER = [
    "ok", "OK!", "Okay.", "thanks", "Thank you so much!!", "thx 🙏", "Thanks @Beta, sounds good", "You're welcome!",
    "ok, got it, thanks a lot", "Great job everyone", "Thanks, Beta!", "good night", "np", "Hello all",
    "好的", "好", "好的，谢谢！👍", "收到", "收到，辛苦了", "嗯嗯", "谢谢大家", "没问题", "明白了",
    "那好的", "不客气😊", "ok好的", "Ｏｋ",
    "👍", "👍👍👍", "🎉 🎉", "...", "！！！", "", "   ", "@Beta", "@Beta 👍", "@小助手 谢谢",
]  # fmt: skip
ANSWER = [
    "ok, but which one?", "ok?", "好的吗？", "No.", "不行", "42", "Thanks, the second one fails with error 7",
    "好的，那第二个问题呢", "那你先说", "thanks to the cache it is fast", "you", "Beta", "okra",
    "The release is good to go",
    "谢谢参数有误", "收到的数据不对", "good question about locks", "I disagree", "不同意", "停", "stop",
]  # fmt: skip


@pytest.mark.parametrize("text", NO_ANSWER)
def test_thanks_consent_and_emoji_need_no_answer(text: str) -> None:
    assert is_courtesy(text, ["Beta"])


@pytest.mark.parametrize("text", ANSWER)
def test_what_says_more_may_be_answered(text: str) -> None:
    assert not is_courtesy(text, ["Beta"])


@pytest.mark.parametrize(
    "text",
    ["thanks", "ok, thanks, bye", "Thanks @Beta, sounds good", "no problem", "@小助手 谢谢", "好的", "那好的",
     "收到，辛苦了", "没问题", "嗯嗯", "👍🏽", "🙏🙏", "@Beta 👍", "谢谢😂", "Beta, thank you!", "[OK]", "[赞]"],
)  # fmt: skip
def test_thanks_and_consent_are_told_from_other_courtesies(text: str) -> None:
    assert is_thanks(text, ["Beta"])
    assert is_courtesy(text, ["Beta"])


@pytest.mark.parametrize(
    "text",
    ["", "@Beta", "...", "😂", "🤔", "👍？", "hi", "你好", "bye", "good night", "晚安", "You're welcome!", "np",
     "不客气😊", "没事", "哈哈", "lol", "加油", "thanks?", "ok, but which one?", "不同意", "不用回了", "闭嘴",
     "thanks " * 30],
)  # fmt: skip
def test_other_courtesies_are_neither_thanks_nor_consent(text: str) -> None:
    assert not is_thanks(text, ["Beta"])


def test_a_long_text_is_never_a_courtesy() -> None:
    assert not is_courtesy("thanks " * 30)


@given(st.text(max_size=300))
def test_any_text_is_judged(text: str) -> None:
    assert is_courtesy(text) in (True, False)
    assert fingerprint(text) == fingerprint(f" {text}!\n")


def test_texts_in_the_same_words_have_one_fingerprint() -> None:
    assert fingerprint("Build 7 is DONE!") == fingerprint("build 7 is done ✅")
    assert fingerprint("构建完成。") == fingerprint("构建完成")
    assert fingerprint("Build 7") != fingerprint("Build 8")
