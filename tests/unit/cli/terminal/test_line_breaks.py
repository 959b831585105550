"""Lines of a terminal, in English and Chinese."""

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from nanobot_transcript.cli.terminal.line_breaks import wrap


@given(st.text(alphabet="ab ，。任务\n😀@", max_size=60), st.integers(2, 20))
def test_wrapped_lines_fit_and_lose_nothing_but_spaces(text: str, width: int) -> None:
    lines = wrap(text, width)
    assert all(cell_len(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_chinese_is_broken_between_characters_and_never_before_a_comma() -> None:
    assert wrap("任务一，任务二", 7) == ["任务", "一，任", "务二"]


def test_a_word_that_is_longer_than_a_line_leaves_no_line_empty() -> None:
    assert wrap("0123456789", 4) == ["0123", "4567", "89"]
    assert wrap("see 0123456789", 4) == ["see", "0123", "4567", "89"]
    assert wrap("a\n\nb", 4) == ["a", "", "b"]
