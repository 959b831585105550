"""File names of mails."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transcript_mcp.filebox.file_names import (
    file_name,
    id_suffix,
    is_file_name,
    numbered,
    shown_name,
    slug,
    suffix_of_name,
)

ID = "1b1d8fc0-034e-4fd4-874b-a8d39f95ba68"


def test_the_name_is_the_one_of_the_plan() -> None:
    moment = datetime(2025, 6, 30, 8, 15, 22, tzinfo=UTC)
    assert file_name(moment, "BR", "API performance issue", ID) == (
        "2025-06-30_0815-BR-api-performance-issue-1b1d8fc0.md"
    )


@pytest.mark.usefixtures("far_east")
def test_the_minute_is_in_utc_wherever_the_machine_stands() -> None:
    assert file_name(datetime(2025, 6, 30, 8, 15, 59, tzinfo=UTC), "BR", "x", ID).startswith("2025-06-30_0815-")
    moment = datetime(2025, 6, 30, 16, 15, tzinfo=timezone(timedelta(hours=8)))
    assert file_name(moment, "BR", "x", ID).startswith("2025-06-30_0815-")


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("API performance issue", "api-performance-issue"),
        (" Hello  World ", "hello-world"),
        ("v1.2 -- now!", "v12-now"),
        ("登录页面验证码显示异常", "登录页面验证码显示异常"),
        ("Привет, мир", "привет-мир"),
        ("हिन्दी शीर्षक", "हिन्दी-शीर्षक"),
        ("e\u0301te\u0301", "été"),
        ("🙂", "message"),
        ("\U0001f3f3\ufe0f\u200d\U0001f308" * 40, "message"),
        ("\u26a0\ufe0f disk \u0301full", "disk-full"),
        ("---", "message"),
        ("", "message"),
        ("../../etc/passwd", "etcpasswd"),
    ],
)
def test_a_slug_keeps_letters_of_any_script(title: str, expected: str) -> None:
    assert slug(title, 80) == expected


@given(st.text(), st.integers(7, 300))
def test_a_slug_is_short_whole_and_can_stand_in_a_name(title: str, longest: int) -> None:
    made = slug(title, longest)
    assert 0 < len(made.encode()) <= longest
    assert is_file_name(file_name(datetime(2025, 1, 1, tzinfo=UTC), "BR", title, ID))


@pytest.mark.parametrize("msg_type", ["BR", "A_TYPE_OF_16_CHA"])
@pytest.mark.parametrize("letter", ["x", "é", "登", "𝒳"])
def test_a_name_holds_as_much_of_the_title_as_a_file_name_has_room_for(msg_type: str, letter: str) -> None:
    name = file_name(datetime(2025, 1, 1, tzinfo=UTC), msg_type, letter * 1000, ID)
    assert 255 - len(letter.encode()) < len(name.encode()) <= 255
    assert f"{letter * 50}-1b1d8fc0.md" in name


@pytest.mark.parametrize("stem", ["x" * 243, "登" * 81, "\udcff" * 243])
def test_another_name_for_one_that_has_no_room_left_is_cut_before_the_number(stem: str) -> None:
    another = numbered(f"{stem}-1b1d8fc0.md", 9999)
    assert another.endswith("-9999-1b1d8fc0.md")
    assert is_file_name(shown_name(another))


@pytest.mark.parametrize("name", ["a.md", "2025-06-30_0815-BR--2472c76b.md", "登录.md", "a b.md", "-.md"])
def test_names_of_mails(name: str) -> None:
    assert is_file_name(name)


@pytest.mark.parametrize(
    "name",
    ["", ".md", ".hidden.md", "a.txt", "../a.md", "a/b.md", "a\\b.md", "a\0.md", "a\n.md", "..", "a.md\n", "a.MD"],
)
def test_what_is_no_name_of_a_mail(name: str) -> None:
    assert not is_file_name(name)


def test_the_end_of_a_name_tells_the_id() -> None:
    assert id_suffix(ID) == "-1b1d8fc0.md"
    assert id_suffix("1B1D8FC0") == "-1b1d8fc0.md"
    assert id_suffix("1b1d8fc0034e") is None
    assert id_suffix("abc") is None
    assert suffix_of_name("2025-06-30_0815-BR-x-1b1d8fc0.md") == "-1b1d8fc0.md"
    assert suffix_of_name("notes.md") is None
    assert suffix_of_name(numbered("2025-06-30_0815-BR-x-1b1d8fc0.md", 2)) == "-1b1d8fc0.md"
    assert numbered("notes.md", 3) == "notes-3.md"
