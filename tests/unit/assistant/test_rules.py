"""What may be asked, and in which characters."""

import msgspec
import pytest
from msgspec.structs import replace

from nanobot_transcript.errors import InvalidQuestionError
from transcript_mcp.assistant.questions.rules import checked, group_chat
from transcript_mcp.assistant.questions.values import Choices, Option, Question

ASKED = Question("s", "q1", "question", "Which?")


def with_options(*labels: str, times: int = 1) -> Question:
    return replace(ASKED, choices=(Choices("Which?", options=tuple(map(Option, labels))),) * times)


@pytest.mark.parametrize(
    "id", [" ", " q", "q ", "a\nb", "a\x1b[31m", "a\u202eb", "a\u2066b", "a\u200f", "\u2028", "\ud800"]
)
def test_an_id_that_looks_like_another_is_refused(id: str) -> None:
    with pytest.raises(InvalidQuestionError, match="visible"):
        checked(replace(ASKED, id=id))


@pytest.mark.parametrize("id", ["0199a7c4-8a3f-7c6e-b1d2-0242ac120002", "q 1", "问题/1", "user@host:1", "🙂\u200d🙂"])
def test_other_ids_are_taken_as_they_are(id: str) -> None:
    assert checked(replace(ASKED, id=id)).id == id


def test_a_name_stays_on_one_line_and_turns_nothing_around() -> None:
    named = replace(ASKED, agent="Al\u202epha", project="/srv\n/shop", model="m\x1b[2J", client="c\ud800\0")
    found = checked(named)
    assert (found.agent, found.project, found.model, found.client) == ("Alpha", "/srv /shop", "m [2J", "c?\ufffd")


def test_options_are_in_characters_that_have_bytes() -> None:
    (choice,) = checked(with_options("\ud800ok", "a\0b")).choices
    assert [option.label for option in choice.options] == ["?ok", "a\ufffdb"]


@pytest.mark.parametrize(
    "asked",
    [
        with_options("x" * 100_001),
        with_options(*["x"] * 501),
        with_options(times=51),
        with_options("x", times=51),
        replace(ASKED, choices=(Choices("x" * 50_001, "y" * 50_000),)),
    ],
)
def test_more_choices_than_anybody_reads_are_refused(asked: Question) -> None:
    with pytest.raises(InvalidQuestionError, match=r"option"):
        checked(asked)
    checked(with_options(*["x" * 199] * 500))


@pytest.mark.parametrize(
    ("chat", "key"),
    [
        ("", ""),
        (" ", ""),
        ("oc_1", "feishu:oc_1"),
        (" feishu:oc_1\n", "feishu:oc_1"),
        ("feishu.beta:oc_1", "feishu:oc_1"),
        ("sim:room:1", "sim:room:1"),
    ],
)
def test_a_chat_is_known_by_its_session_key(chat: str, key: str) -> None:
    assert group_chat(chat) == key


@pytest.mark.parametrize(
    "chat",
    ["feishu:", ":oc_1", "Team chat", "feishu:oc_1\nERROR", "feishu:oc\u202e_1", "fei shu:oc_1", "x" * 1001, "\ud800"],
)
def test_what_can_be_no_chat_is_refused(chat: str) -> None:
    with pytest.raises(InvalidQuestionError, match="not a group chat"):
        group_chat(chat)


def test_a_choice_of_which_no_more_is_said_takes_one_option_or_own_words() -> None:
    assert msgspec.json.decode(b'{"question":"?"}', type=Choices) == Choices("?", "", (), multiple=False, custom=True)
    assert msgspec.json.decode(msgspec.json.encode(Choices("?", multiple=True)))["multiple"] is True
