"""A transcript excerpt as quoted Markdown stays a quote, whatever people wrote."""

from typing import Any

import pytest

from nanobot_transcript.topics.quote import quote


def entry(text: Any, **fields: Any) -> Any:
    return {
        "role": "user",
        "content": text,
        "sender": "on_ada",
        "message_id": "om_1",
        "ts": 1_763_600_000_000.0,
    } | fields


def test_an_entry_is_a_name_a_time_and_the_text() -> None:
    assert quote([entry("On Friday.")], names={"on_ada": "Ada"}) == "> **Ada** (2025-11-20 00:53): On Friday."


def test_every_line_of_a_text_is_quoted() -> None:
    lines = quote([entry("one\ntwo\r\n\r\n# three\u2028four\rfive")]).split("\n")
    assert len(lines) == 6
    assert all(line.startswith(">") for line in lines)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# head", r"\# head"),
        ("> deeper", r"\> deeper"),
        ("- item", r"\- item"),
        ("1. item", r"1\. item"),
        ("---", r"\---"),
        ("**bold** `code`", r"\*\*bold\*\* \`code\`"),
        ("[x](javascript:1)", r"\[x\](javascript:1)"),
        ("![x](y)", r"\!\[x\](y)"),
        ("<script>", r"\<script\>"),
        ("@all", r"\@all"),
        ("a | b", r"a \| b"),
    ],
)
def test_marks_of_markdown_are_shown_and_not_obeyed(text: str, shown: str) -> None:
    assert quote([entry(text)]).endswith(f": {shown}")
    assert quote([entry(f"x\n{text}")]).endswith(f"\n> {shown}")


def test_an_address_is_no_link() -> None:
    assert "https://" not in quote([entry("see https://example.org")])


def test_marks_that_turn_text_around_are_gone() -> None:
    assert "\u202e" not in quote([entry("a\u202eb\x1b[0m", sender_name="A\u202e\nB")])


def test_a_name_cannot_leave_its_place() -> None:
    shown = quote([entry("hi", sender_name="**Eve**\n> **Ada**")])
    assert shown.count("\n") == 0
    assert shown.startswith(r"> **\*\*Eve\*\* \> \*\*Ada\*\***")


def test_the_newest_that_fit_are_shown_and_the_rest_is_counted() -> None:
    shown = quote([entry(f"line {at} " + "长" * 50) for at in range(100)], max_chars=1000)
    assert len(shown) <= 1000
    assert "line 99" in shown
    assert "line 0" not in shown
    assert shown.startswith("> … (")


def test_what_is_shown_has_no_gaps() -> None:
    assert quote([entry("short"), entry("long " * 20), entry("newest")], max_chars=100).split("\n>\n") == [
        "> … (2)",
        r"> **on\_ada** (2025-11-20 00:53): newest",
    ]


def test_a_long_text_is_cut() -> None:
    assert len(quote([entry("长" * 100_000)], max_entry_chars=100)) < 200


def test_odd_entries_raise_nothing() -> None:
    odd: list[Any] = [
        None,
        {},
        entry(None),
        entry(5, ts="soon"),
        entry("x", ts=1e300),
        entry("x", sender=None),
    ]
    assert quote(odd).count("> **") == 5
    assert quote([]) == ""
