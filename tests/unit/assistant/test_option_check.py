"""Which words are one of the options, as all kinds of clients say them."""

import pytest

from nanobot_transcript.errors import InvalidQuestionError
from transcript_mcp.assistant.questions.option_check import check_answer
from transcript_mcp.assistant.questions.values import AnswerContent, Choices, Option, Question


def choice(*labels: str, header: str = "", multiple: bool = False, custom: bool = False) -> Choices:
    return Choices("Which?", header, tuple(map(Option, labels)), multiple, custom)


ONE = (choice("red", "dark blue, or so", " 绿 ", "grey (Recommended)"),)
SEVERAL = (choice("a", "a, b", "b", multiple=True),)
FORM = (choice("red", "blue", header="Colour"), choice("S", "L", header="Size", multiple=True))


def answer(choices: tuple[Choices, ...], *contents: str | AnswerContent) -> None:
    said = [AnswerContent("text", each) if isinstance(each, str) else each for each in contents]
    check_answer(Question("s", "q1", "question", "Which?", choices=choices), said)


@pytest.mark.parametrize(
    ("choices", "contents"),
    [
        (ONE, ["red"]),
        (ONE, [" red\n"]),
        (ONE, ["dark blue, or so"]),
        (ONE, ["绿"]),
        (ONE, ["grey (Recommended)"]),
        (ONE, ["grey"]),
        (ONE, ["Q: Which?\nA: red"]),
        (ONE, ["[before] Q: Which?\nA: grey\n\n[after]"]),
        (ONE, ["red", AnswerContent("image", data=b"x")]),
        (SEVERAL, ["a"]),
        (SEVERAL, ["b, a"]),
        (SEVERAL, ["a, b, a, b"]),
        (SEVERAL, ["a", "b"]),
        (SEVERAL, ["Q: Which?\nA: a, b"]),
        (FORM, ["Colour: red\n\nSize: S, L"]),
        (FORM, ["Size: L"]),
        (FORM, ["red\n\nS"]),
        (FORM, ["red", "L"]),
        (FORM, ["Q: Colour\nA: red\n\nQ: Size\nA: S, L"]),
    ],
)
def test_what_pages_groups_and_forms_say_of_options_is_taken(
    choices: tuple[Choices, ...], contents: list[str | AnswerContent]
) -> None:
    answer(choices, *contents)


@pytest.mark.parametrize(
    ("choices", "contents"),
    [
        (ONE, ["neither"]),
        (ONE, ["red, dark blue, or so"]),
        (ONE, ["red\n\nbut not too much"]),
        (ONE, ["red", "red"]),
        (ONE, ["reddish"]),
        (ONE, [AnswerContent("image", data=b"x")]),
        (ONE, ["Q: Which?\nA: neither"]),
        (SEVERAL, ["a, c"]),
        (SEVERAL, ["a", "c"]),
        (SEVERAL, ["a,"]),
        (FORM, ["Colour: L"]),
        (FORM, ["Colour: red, blue"]),
        (FORM, ["Colour: red\n\nas you like"]),
    ],
)
def test_anything_else_is_refused_with_the_options(
    choices: tuple[Choices, ...], contents: list[str | AnswerContent]
) -> None:
    with pytest.raises(InvalidQuestionError) as refused:
        answer(choices, *contents)
    assert choices[0].options[0].label in refused.value.hint


@pytest.mark.parametrize("choices", [(), (choice("red", custom=True),), (choice(),), (*ONE, choice("x", custom=True))])
def test_own_words_are_taken_where_they_are_welcome(choices: tuple[Choices, ...]) -> None:
    answer(choices, "neither")


def test_options_that_can_be_read_in_many_ways_cost_no_time() -> None:
    labels = [", ".join("a" * count) for count in range(1, 60)]
    with pytest.raises(InvalidQuestionError):
        answer((choice(*labels, multiple=True),), ", ".join("a" * 5000) + ", x")
