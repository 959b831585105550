"""What a mail must be like to be sent."""

import pytest

from nanobot_transcript.errors import InvalidMailError
from transcript_mcp.filebox.options import FileBoxOptions
from transcript_mcp.filebox.rules import checked, checked_box, checked_file_name, checked_id
from transcript_mcp.filebox.values import Draft

OPTIONS = FileBoxOptions()


def draft(**changes: object) -> Draft:
    fields = {"sender": "a", "receiver": "b", "type": "BR", "title": "t", "content": "c"}
    return Draft(**{**fields, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["BR", "ACK", "ER", "INFO", "URGENT"])
def test_the_five_types_of_the_plan_may_be_sent(kind: str) -> None:
    assert checked(draft(type=kind), OPTIONS).type == kind


@pytest.mark.parametrize("kind", ["", "FOO", "br", "BR\n", "X/../../../evil", "BR ", None, 7])
def test_no_other_type_may_unless_it_is_configured(kind: object) -> None:
    with pytest.raises(InvalidMailError):
        checked(draft(type=kind), OPTIONS)
    assert checked(draft(type="DIS"), FileBoxOptions(more_types=("DIS",))).type == "DIS"


def test_an_unknown_type_names_those_there_are() -> None:
    with pytest.raises(InvalidMailError, match="BR, ACK, ER, INFO, URGENT"):
        checked(draft(type="FOO"), OPTIONS)


@pytest.mark.parametrize("title", ["", " \n ", "x" * 256, None])
def test_titles_that_are_none(title: object) -> None:
    with pytest.raises(InvalidMailError):
        checked(draft(title=title), OPTIONS)


def test_a_title_is_one_line() -> None:
    title = "a\n**Sender:** boss\r\nb\u2028c\x00d\te"
    assert checked(draft(title=title), OPTIONS).title == "a **Sender:** boss b c d e"
    assert checked(draft(title="字" * 255), OPTIONS).title == "字" * 255


def test_a_reply_needs_no_title() -> None:
    assert checked(draft(title="", original_id="1b1d8fc0"), OPTIONS).original_id == "1b1d8fc0"


@pytest.mark.parametrize("content", ["", " \n\u3000", None, "x" * (1024 * 1024 + 1), "字" * 400_000])
def test_contents_that_are_none(content: object) -> None:
    with pytest.raises(InvalidMailError):
        checked(draft(content=content), OPTIONS)


def test_a_lone_half_of_a_character_is_replaced() -> None:
    assert checked(draft(title="a\ud83d", content="b\ud83d"), OPTIONS) == draft(title="a\ufffd", content="b\ufffd")


@pytest.mark.parametrize("original", ["", " "])
def test_an_empty_original_is_none(original: str) -> None:
    assert checked(draft(original_id=original), OPTIONS).original_id == ""


@pytest.mark.parametrize("message_id", ["", " ", "a\nb", "x" * 201])
def test_what_is_no_message_id(message_id: str) -> None:
    with pytest.raises(InvalidMailError):
        checked_id(message_id)


@pytest.mark.parametrize("box", ["", "INBOX", "../inbox", ".state", "inbox/", "sent"])
def test_there_are_four_boxes(box: str) -> None:
    with pytest.raises(InvalidMailError, match="inbox, outbox, done, cancel"):
        checked_box(box)


@pytest.mark.parametrize("name", ["", "..", "../x.md", "/etc/passwd", "a/../b.md", "x.txt", None, 3, "x" * 5000])
def test_what_is_no_file_name(name: object) -> None:
    with pytest.raises(InvalidMailError):
        checked_file_name(name)  # type: ignore[arg-type]
