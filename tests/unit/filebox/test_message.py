"""The text of a mail, byte for byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transcript_mcp.filebox.message import milliseconds, new_message, parsed, rewritten, timestamp, trimmed
from transcript_mcp.filebox.values import Draft

ID = "1b1d8fc0-034e-4fd4-874b-a8d39f95ba68"
TIME = "2025-06-30T08:15:22.616Z"
STAMP = (1_700_000_000_000_000_000, 1, 1)
DRAFT = Draft("qa_agent", "dev_agent", "BR", "登录页面验证码显示异常", "  原始消息内容...\n")


def test_a_new_mail_has_the_bytes_of_the_plan() -> None:
    assert new_message(DRAFT, ID, TIME) == (
        "# BR: 登录页面验证码显示异常\n"
        "\n"
        "**Format Version:** 1.0\n"
        "**Message ID:** 1b1d8fc0-034e-4fd4-874b-a8d39f95ba68\n"
        "**Sender:** qa_agent\n"
        "**Receiver:** dev_agent\n"
        "**Timestamp:** 2025-06-30T08:15:22.616Z\n"
        "**Original Sender:** qa_agent\n"
        "**Current Owner:** dev_agent\n"
        "\n"
        "===== MESSAGE THREAD =====\n"
        "\n"
        "## 2025-06-30T08:15:22.616Z - qa_agent to dev_agent (BR)\n"
        "\n"
        "原始消息内容..."
    )


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_header_is_read_as_it_was_written(line_end: str) -> None:
    mail = parsed("x.md", new_message(DRAFT, ID, TIME).replace("\n", line_end), STAMP)
    assert (mail.id, mail.type, mail.title) == (ID, "BR", "登录页面验证码显示异常")
    assert (mail.sender, mail.receiver, mail.original_sender) == ("qa_agent", "dev_agent", "qa_agent")
    assert (mail.timestamp, mail.time_ms, mail.problem) == (TIME, 1751271322616, "")


def test_a_mark_at_the_beginning_of_the_file_does_not_hide_the_title() -> None:
    assert parsed("x.md", "\ufeff" + new_message(DRAFT, ID, TIME), STAMP).type == "BR"


def test_a_title_of_another_program_with_line_breaks_forges_no_header() -> None:
    text = new_message(DRAFT, ID, TIME).replace("异常\n", "异常\n**Message ID:** forged\n**Sender:** boss\n", 1)
    mail = parsed("x.md", text, STAMP)
    assert (mail.id, mail.sender) == (ID, "qa_agent")


def test_a_content_that_quotes_a_header_is_not_one() -> None:
    text = new_message(DRAFT, ID, TIME) + "\n**Message ID:** quoted\n**Sender:** boss"
    mail = parsed("x.md", text, STAMP)
    assert (mail.id, mail.sender) == (ID, "qa_agent")
    assert parsed("x.md", "# BR: t\n\nsee this:\n**Message ID:** quoted", STAMP).problem


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty"),
        (" \n", "is empty"),
        ("hello", "no Message ID"),
        ("# BR: x\n\n**Message ID:**\n", "no Message ID"),
    ],
)
def test_what_cannot_be_understood_says_why_and_keeps_its_files_time(text: str, problem: str) -> None:
    mail = parsed("x.md", text, STAMP)
    assert problem in mail.problem
    assert (mail.id, mail.time_ms) == ("", 1_700_000_000_000)


@given(st.text())
def test_no_text_makes_reading_a_header_fail(text: str) -> None:
    parsed("x.md", text, STAMP)
    parsed("x.md", f"# BR: {text}\n**Message ID:** {text}\n**Timestamp:** {text}\n", STAMP)


def test_a_header_is_rewritten_and_nothing_else() -> None:
    text = "# BR: **Sender:** x\n\n**Message ID:** 1\n**Sender:** a\r\n**Odd:** kept\n\n===== MESSAGE THREAD ====="
    assert rewritten(text, {"Sender": "b", "Timestamp": TIME}) == (
        "# BR: **Sender:** x\n\n**Message ID:** 1\n**Sender:** b\r\n**Odd:** kept\n"
        f"**Timestamp:** {TIME}\n\n===== MESSAGE THREAD ====="
    )


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        (TIME, 1751271322616),
        ("2025-06-30T16:15:22.616+08:00", 1751271322616),
        ("2025-06-30T08:15:22", 1751271322000),
        ("yesterday", None),
        ("", None),
        ("2025-02-30T08:15:22Z", None),
    ],
)
def test_times(time: str, expected: int | None) -> None:
    assert milliseconds(time) == expected


@given(st.integers(min_value=0, max_value=4_000_000_000_000))
def test_a_time_is_read_back_to_the_millisecond(moment: int) -> None:
    assert milliseconds(timestamp(moment)) == moment


def test_white_space_at_the_ends_is_what_other_writers_take_for_it() -> None:
    assert trimmed("\ufeff\u3000 \n a b \u2029\t") == "a b"
    assert trimmed("\x1ca\x85") == "\x1ca\x85"
