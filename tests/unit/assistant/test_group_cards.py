"""What a question looks like in a group, and what is said to it there."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from transcript_mcp.assistant.group_cards import chosen, closed_card, question_card, replied, wrong_choice
from transcript_mcp.assistant.questions.values import AnswerContent, Choices, Inquiry, Option, Question

OPTIONS = (Option("Ship it"), Option("Wait", "until Monday"), Option("2"))
ASKED = Question("s", "1", "question", "Ship it now?", project="/srv/shop", agent="Claude")
ONE = replace(ASKED, choices=(Choices("?", options=OPTIONS),))
STRICT = replace(ASKED, choices=(Choices("?", options=OPTIONS, custom=False),))
SEVERAL = replace(ASKED, choices=(Choices("?", options=OPTIONS, multiple=True),))


def texts(contents: list[AnswerContent]) -> list[str]:
    return [each.text for each in contents]


def elements(card: dict[str, Any], tag: str) -> list[dict[str, Any]]:
    return [one for one in card["body"]["elements"] if one["tag"] == tag]


def test_the_card_says_who_asks_what_and_how_to_answer() -> None:
    card = question_card(ONE)
    assert card["header"]["title"]["content"] == "Claude asks · shop"
    shown = json.dumps(card, ensure_ascii=False)
    assert "Ship it now?" in shown
    assert "**2.** Wait — until Monday" in shown
    buttons = elements(card, "button")
    assert [one["text"]["content"] for one in buttons] == ["1. Ship it", "2. Wait", "3. 2"]
    assert [one["behaviors"][0]["value"] for one in buttons] == [{"option": "1"}, {"option": "2"}, {"option": "3"}]
    assert question_card(ONE) == card


def test_options_that_fit_on_their_buttons_stand_there_alone() -> None:
    short = replace(ASKED, choices=(Choices("?", options=(Option("Yes"), Option("No"))),))
    assert "**1.**" not in json.dumps(question_card(short))
    long = replace(ASKED, choices=(Choices("?", options=(Option("Yes"), Option("No" * 60))),))
    assert "**1.** Yes" in json.dumps(question_card(long))


def test_a_chinese_question_gets_chinese_words() -> None:
    card = question_card(replace(ONE, text="现在发布吗？"))
    assert card["header"]["title"]["content"] == "Claude 提问 · shop"
    assert "选项编号" in card["body"]["elements"][-1]["content"]


def test_an_agents_text_mentions_nobody_and_loads_no_picture() -> None:
    text = "<at id=all></at> ![x](http://a.example/p.png) <AT user_id='ou_1'>"
    question = replace(ASKED, text=text, choices=(Choices("?", options=(Option(text, text),)),), agent=text)
    said = Inquiry(question, 1, 0.0, "answered", by=text, contents=(AnswerContent("text", text),))
    for card in (
        question_card(question),
        closed_card(said),
    ):
        for one in card["body"]["elements"]:
            if one["tag"] == "markdown":
                assert "<at" not in one["content"].lower()
                assert "![" not in one["content"]


@pytest.mark.parametrize(("said", "meant"), [
    ("1", ["Ship it"]),
    ("２", ["2"]),
    ("@Alpha 1.", ["Ship it"]),
    ("选 1", ["Ship it"]),
    ("wait", ["Wait"]),
    ("WAIT ", ["Wait"]),
    ("2", ["2"]),
    ("1 2", ["1 2"]),
    ("4", ["4"]),
    ("0", ["0"]),
    ("not before Monday", ["not before Monday"]),
])  # fmt: skip
def test_a_reply_is_an_option_or_words_of_its_own(said: str, meant: list[str]) -> None:
    """An option that is called "2" is meant by that before the second one."""
    assert texts(replied(ONE, said)) == meant


@pytest.mark.parametrize("said", ["4", "0", "maybe", "1, 2", "99999999999999999999"])
def test_what_is_no_option_is_no_answer_where_only_options_count(said: str) -> None:
    assert replied(STRICT, said) == []
    assert wrong_choice(STRICT) == "Please answer with a number from 1 to 3."


@pytest.mark.parametrize("said", ["1,3", "1、3", "3 和 1", "1 3", "1，3，3"])
def test_several_options_may_be_chosen_where_that_is_asked_for(said: str) -> None:
    assert sorted(texts(replied(SEVERAL, said))) == ["2", "Ship it"]


def test_without_options_every_reply_counts_as_it_stands() -> None:
    assert texts(replied(ASKED, "@Alpha 1")) == ["@Alpha 1"]


@pytest.mark.parametrize(("value", "form", "meant"), [
    ({"option": "2"}, {}, ["Wait"]),
    ({"option": 2}, {}, ["Wait"]),
    ({}, {"options": ["1", "3"]}, []),
    ({"option": "4"}, {}, []),
    ({"option": None}, {}, []),
    ({"option": {"a": 1}}, {}, []),
    ({}, {}, []),
    ({"confirm": True}, {}, ["Confirm"]),
])  # fmt: skip
def test_a_button_is_the_option_it_stands_for(value: dict[str, Any], form: dict[str, Any], meant: list[str]) -> None:
    assert texts(chosen(ONE, value, form)) == meant


def test_the_form_of_several_options_is_understood() -> None:
    (form,) = elements(question_card(SEVERAL), "form")
    picking, send = form["elements"]
    assert [one["value"] for one in picking["options"]] == ["1", "2", "3"]
    assert send["form_action_type"] == "submit"
    assert texts(chosen(SEVERAL, {}, {picking["name"]: ["1", "3"]})) == ["Ship it", "2"]


def test_many_options_have_numbers_and_no_buttons_and_a_huge_text_is_cut() -> None:
    many = replace(
        ASKED, text="x" * 100_000, choices=(Choices("?", options=tuple(Option(f"o{n}") for n in range(30))),)
    )
    card = question_card(many)
    assert elements(card, "button") == []
    assert texts(replied(many, "30")) == ["o29"]
    assert len(json.dumps(card, ensure_ascii=False).encode()) < 30 * 1024


@pytest.mark.parametrize("count", [2, 20, 21, 10_000])
@pytest.mark.parametrize("multiple", [False, True])
def test_no_question_makes_a_card_that_the_platform_refuses(count: int, *, multiple: bool) -> None:
    options = tuple(Option("选" * 5000, "说" * 5000) for _ in range(count))
    huge = replace(
        ASKED, text="问" * 1_000_000, agent="名" * 1000, choices=(Choices("?", options=options, multiple=multiple),)
    )
    record = Inquiry(huge, 1, 0.0, "answered", by="名" * 1000, contents=(AnswerContent("text", "答" * 100_000),))
    for card in (question_card(huge), closed_card(record)):
        assert len(json.dumps(card, ensure_ascii=False).encode()) < 30 * 1024


def test_a_report_is_confirmed_with_a_button() -> None:
    report = replace(ASKED, kind="report", text="全部完成")
    card = question_card(report)
    assert card["header"]["title"]["content"] == "Claude 汇报 · shop"
    (button,) = elements(card, "button")
    assert button["text"]["content"] == "确认"
    assert texts(chosen(report, button["behaviors"][0]["value"], {})) == ["确认"]


@pytest.mark.parametrize(
    ("state", "said"), [("timeout", "in time"), ("cancelled", "Nobody is waiting"), ("withdrawn", "withdrawn")]
)
def test_what_was_not_answered_says_why(state: Any, said: str) -> None:
    card = closed_card(Inquiry(ASKED, 1, 0.0, state))
    assert said in card["body"]["elements"][-1]["content"]
    assert elements(card, "button") == []


def test_what_was_answered_says_by_whom() -> None:
    record = Inquiry(ONE, 1, 0.0, "answered", by="Ada", contents=(AnswerContent("text", "Wait"),))
    assert closed_card(record)["body"]["elements"][-1]["content"] == "✅ Ada answered: Wait"
    picture = replace(record, contents=(AnswerContent("image", data=b"1", mime_type="image/png"),))
    assert "(a picture or a file)" in closed_card(picture)["body"]["elements"][-1]["content"]


@pytest.mark.parametrize(
    ("text", "where", "outcome"),
    [
        ("Deploy?", "web", "✅ Answered on the page: 1"),
        ("发布吗？", "web", "✅ 有人在网页上回答了：1"),
        ("Deploy?", "connect", "✅ Answered: 1"),
        ("发布吗？", "connect", "✅ 有人回答了：1"),
    ],
)
def test_who_said_no_name_is_somebody(text: str, where: str, outcome: str) -> None:
    question = Question("s", "1", "question", text)
    record = Inquiry(question, 1, 0.0, "answered", by=" ", where=where, contents=(AnswerContent("text", "1"),))
    assert closed_card(record)["body"]["elements"][-1]["content"] == outcome


@pytest.mark.parametrize(
    ("by", "contents", "outcome"),
    [
        ("Ada", (AnswerContent("text", "Ask operations."),), "⛔ Ada refused to answer. Ask operations."),
        (" ", (), "⛔ Somebody refused to answer."),
    ],
)
def test_what_was_refused_says_by_whom_and_why(by: str, contents: tuple[AnswerContent, ...], outcome: str) -> None:
    card = closed_card(Inquiry(ASKED, 1, 0.0, "refused", by=by, contents=contents))
    assert card["body"]["elements"][-1]["content"] == outcome
    assert card["header"]["template"] == "grey"
