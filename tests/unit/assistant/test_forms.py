"""A question as a form of the agent's client: its fields, and what a filled one says."""

from typing import Any

import pytest

from transcript_mcp.assistant.forms import form_of, said_in
from transcript_mcp.assistant.values import Choice, Option


def choice(**more: Any) -> Choice:
    return Choice("?", options=(Option("red"), Option("蓝")), **more)


def test_a_plain_question_has_one_field() -> None:
    form = form_of(None)
    assert form["required"] == ["answer"]
    assert said_in(None, {"answer": " 周三\n"}) == "周三"


def test_one_of_the_options_or_own_words() -> None:
    form = form_of(choice())
    assert form["properties"]["choice"]["enum"] == ["red", "蓝"]
    assert form["required"] == []
    assert said_in(choice(), {"choice": "蓝"}) == "蓝"
    assert said_in(choice(), {"answer": "green"}) == "green"
    assert said_in(choice(), {"choice": "red", "answer": "but dark"}) == "red\n\nbut dark"


def test_where_own_words_are_not_welcome_an_option_has_to_be_chosen() -> None:
    form = form_of(choice(custom=False))
    assert ([*form["properties"]], form["required"]) == (["choice"], ["choice"])
    assert said_in(choice(custom=False), {"choice": "red", "answer": "green"}) == "red"
    assert said_in(choice(custom=False), {"answer": "green"}) == ""


def test_several_options_are_a_field_each() -> None:
    form = form_of(choice(multiple=True))
    assert [field.get("title") for field in form["properties"].values()] == ["red", "蓝", "In own words"]
    assert said_in(choice(multiple=True), {"option_1": True, "option_2": True}) == "red, 蓝"
    assert said_in(choice(multiple=True), {"option_1": False, "option_2": True, "answer": "x"}) == "蓝\n\nx"


@pytest.mark.parametrize("asked", [None, choice(), choice(multiple=True), choice(custom=False)])
@pytest.mark.parametrize("fields", [{}, {"answer": "  "}, {"choice": "green", "option_1": "yes", "answer": 7}])
def test_an_empty_form_or_a_strange_one_says_nothing(asked: Choice | None, fields: dict[str, Any]) -> None:
    assert said_in(asked, fields) == ""
