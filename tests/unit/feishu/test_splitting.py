"""Long texts in parts."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from transcript_channels.feishu.splitting import encoded_size, split_markdown, split_text

FAMILY = "👩‍👩‍👧‍👦"
FLAG = "🇨🇳"
THUMB = "👍🏽"


def test_a_text_that_fits_stays_whole() -> None:
    assert split_text("short  ", 100) == ["short  "]
    assert split_markdown("```\ncode\n```", 100) == ["```\ncode\n```"]


@pytest.mark.parametrize(
    ("text", "limit", "parts"),
    [
        ("first paragraph\n\nsecond one\nhas lines", 30, ["first paragraph", "second one\nhas lines"]),
        ("one line\nanother line", 20, ["one line", "another line"]),
        ("第一句话。第二句话。第三句话。", 33, ["第一句话。第二句话。", "第三句话。"]),
        ("One thing. Another thing.", 18, ["One thing.", "Another thing."]),
        ("word word word", 11, ["word word", "word"]),
        ("abcdefghij", 4, ["abcd", "efgh", "ij"]),
    ],
)
def test_a_text_is_cut_where_a_reader_would_pause(text: str, limit: int, parts: list[str]) -> None:
    assert split_text(text, limit) == parts


@pytest.mark.parametrize("character", [FAMILY, FLAG, THUMB, "é", "한", "𠮷"])
def test_no_character_is_torn_apart(character: str) -> None:
    size = encoded_size(character)
    for limit in range(size, 3 * size):
        parts = split_text(character * 9, limit)
        assert "".join(parts) == character * 9
        assert all(part == character * (len(part) // len(character)) for part in parts), (limit, parts)


def test_a_block_of_code_that_is_cut_is_closed_and_opened_again() -> None:
    lines = "\n".join(f"    line {number}" for number in range(40))
    parts = split_markdown(f"before\n```python\n{lines}\n```\nafter", 300)
    assert len(parts) > 2
    assert all(part.count("```") % 2 == 0 for part in parts)
    assert parts[1].startswith("```python\n    line")
    assert parts[-1].endswith("after")
    shown = [line for part in parts for line in part.splitlines() if not line.startswith("```")]
    assert shown == ["before", *lines.splitlines(), "after"]


@example("好" * 60, 40)
@example("a" * 3000 + '"' * 3000, 2000)
@given(st.text(alphabet=st.sampled_from('ab .\n"\\好。,🇨👍🏽\u200d`\x00'), max_size=400), st.integers(40, 200))
def test_every_part_fits_and_only_white_space_is_lost(text: str, limit: int) -> None:
    parts = split_text(text, limit)
    assert all(encoded_size(part) <= limit for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


@given(st.text(alphabet=st.sampled_from("ab .\n`~好"), max_size=600))
def test_every_part_of_markdown_fits(text: str) -> None:
    assert all(encoded_size(part) <= 200 for part in split_markdown(text, 200))


@given(st.text(), st.text())
def test_the_size_of_a_text_is_that_of_its_pieces(one: str, two: str) -> None:
    assert encoded_size(one + two) == encoded_size(one) + encoded_size(two)
