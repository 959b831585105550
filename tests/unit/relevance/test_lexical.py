"""How much a text has to do with what was said lately."""

import pytest

from nanobot_transcript.relevance import lexical


@pytest.mark.parametrize(
    ("text", "related", "unrelated"),
    [
        ("when is the release?", ["the release is on Friday", "hi"], ["lunch at noon", "hi"]),
        ("发布时间定了吗", ["发布时间是周五", "早"], ["午饭吃面", "早"]),
        ("Alpha的部署脚本", ["部署脚本坏了"], ["会议室没有转接头"]),
    ],
)
def test_a_text_about_the_same_scores_higher(text: str, related: list[str], unrelated: list[str]) -> None:
    assert lexical.score(text, related) > lexical.score(text, unrelated)


def test_what_was_said_word_by_word_scores_high_and_nothing_in_common_scores_zero() -> None:
    assert lexical.score("部署脚本", ["早", "部署脚本"]) > 0.75
    assert lexical.score("部署脚本", ["早"]) == 0.0


@pytest.mark.parametrize(
    ("text", "window"), [("", ["a"]), ("a", []), ("!!!", ["!!!"]), ("x y", [""]), ("hi", ["", " "])]
)
def test_nothing_to_compare_scores_zero(text: str, window: list[str]) -> None:
    assert lexical.score(text, window) == 0.0


def test_the_score_stays_between_zero_and_one() -> None:
    texts = ["a b c", "release " * 5000, "发布" * 5000, "?", "the the the"]
    assert all(0.0 <= lexical.score(text, texts) <= 1.0 for text in texts)
