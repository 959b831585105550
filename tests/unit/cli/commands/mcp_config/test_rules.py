"""The block in a file of instructions: put in, brought up to date, taken out, and nothing else touched."""

from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as some

from nanobot_transcript.cli.commands.mcp_config.rules import block, rules_of, with_block, without_block
from nanobot_transcript.errors import ConfigError

FILE = Path("AGENTS.md")
RULES = block(["assistant"])
MORE = block(["assistant", "mail", "filebox"])
PREFACE = "---\nalwaysApply: true\n---\n\n"


def test_an_agent_is_told_of_the_servers_that_are_there_and_of_no_others() -> None:
    assert "ask_question" in RULES
    assert "task_finish" in RULES
    for absent in ("check_my_messages", "filebox", "colleague"):
        assert absent not in RULES
    mail = block({"mail", "transcript"})
    assert "check_my_messages" in mail
    assert "ask_question" not in mail
    assert MORE.count("colleague") == 1


def test_a_block_is_short() -> None:
    assert len(MORE.splitlines()) <= 25
    assert all(len(line) <= 120 for section in rules_of().values() for line in section.splitlines())


@pytest.mark.parametrize(
    "known",
    [
        b"",
        b"\n",
        b"# Mine\n",
        b"# Mine",
        b"# Mine\n\n\n",
        b"# Mine\r\n\r\nUse tabs.\r\n",
        b"# Mine\r\nUse tabs.",
        b"\xef\xbb\xbf# Mine\n",
        "# 规则\n".encode(),
        b"\xfe\xfd not UTF-8\n",
    ],
)
def test_a_file_is_byte_for_byte_what_it_was_once_the_rules_are_out_again(known: bytes) -> None:
    made = with_block(FILE, known, RULES)
    assert made.startswith(known)
    assert without_block(FILE, made) == known
    again = with_block(FILE, made, MORE)
    assert again.count(b"nanobot-transcript:begin") == 1
    assert b"check_my_messages" in again
    assert with_block(FILE, again, RULES) == made
    assert without_block(FILE, again) == known


@given(known=some.binary(max_size=40), preface=some.sampled_from(["", PREFACE]))
def test_whatever_is_in_a_file_stays(known: bytes, preface: str) -> None:
    assume(b"\0" not in known and not known.startswith((b"\xff\xfe", b"\xfe\xff")))
    made = with_block(FILE, known, RULES, preface)
    assert made.startswith(known)
    assert without_block(FILE, made, preface) == known


@pytest.mark.parametrize(
    "known", [b"\xff\xfe", "# 规则\n".encode("utf-16"), "\ufeff# Mine\n".encode("utf-16-be"), "x".encode("utf-16-le")]
)
def test_a_file_in_another_coding_is_refused(known: bytes) -> None:
    with pytest.raises(ConfigError, match=r"AGENTS\.md is not UTF-8") as refused:
        with_block(FILE, known, RULES)
    assert refused.value.hint
    assert without_block(FILE, known) == known


@pytest.mark.parametrize("preface", ["", PREFACE])
def test_a_file_that_we_created_goes_with_its_rules(preface: str) -> None:
    made = with_block(FILE, None, RULES, preface)
    assert made.startswith(preface.encode())
    assert made.endswith(b"-->\n")
    assert without_block(FILE, made, preface) is None
    assert without_block(FILE, with_block(FILE, made, MORE, preface), preface) is None


def test_what_a_person_added_to_a_file_that_we_created_stays() -> None:
    made = with_block(FILE, None, RULES, PREFACE)
    assert without_block(FILE, made + b"\nMine.\n", PREFACE) == PREFACE.encode() + b"\nMine.\n"
    assert without_block(FILE, b"Mine.\n\n" + with_block(FILE, None, RULES)) == b"Mine.\n"


def test_what_stands_before_and_behind_the_block_stays_when_it_is_brought_up_to_date() -> None:
    known = b"# Before\n\n" + RULES.encode() + b"\n\n# Behind\n"
    assert with_block(FILE, known, MORE) == b"# Before\n\n" + MORE.encode() + b"\n\n# Behind\n"
    assert without_block(FILE, known) == b"# Before\n\n# Behind\n"


def test_rules_of_an_earlier_version_are_known_by_their_marks() -> None:
    known = b"<!-- nanobot-transcript:begin 0.1 -->\nold\n<!-- nanobot-transcript:end -->\n"
    assert with_block(FILE, known, RULES) == RULES.encode() + b"\n"


def test_lines_end_as_in_the_rest_of_the_file() -> None:
    made = with_block(FILE, b"# Mine\r\n", RULES)
    assert made.count(b"\n") == made.count(b"\r\n")


@pytest.mark.parametrize("known", [None, b"", b"# Mine\n"])
def test_without_rules_there_is_nothing_to_take_out(known: bytes | None) -> None:
    assert without_block(FILE, known) == known


@pytest.mark.parametrize(
    "marks",
    [
        ["begin"],
        ["end"],
        ["end", "begin"],
        ["begin", "begin"],
        ["begin", "end", "begin", "end"],
        ["begin", "begin", "end"],
    ],
)
def test_marks_that_do_not_belong_together_are_left_to_the_person(marks: list[str]) -> None:
    known = "\n".join(f"<!-- nanobot-transcript:{mark} -->" for mark in marks).encode()
    for attempt in (lambda: with_block(FILE, known, RULES), lambda: without_block(FILE, known)):
        with pytest.raises(ConfigError) as refused:
            attempt()
        assert refused.value.hint
