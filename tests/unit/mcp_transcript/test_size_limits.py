"""Answers keep within their bounds, and say how to get what is missing."""

import json
import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transcript_mcp.transcript.json_lines import Line, encode
from transcript_mcp.transcript.size_limits import bounded, fitting, shortened, within


def line(text: str, message_id: str = "om_1") -> Line:
    return {"id": message_id, "text": text}


def test_what_is_asked_for_is_given_as_far_as_it_may_be() -> None:
    assert [bounded(value, 1, 100) for value in (-5, 0, 1, 20, 10**30)] == [1, 1, 1, 20, 100]


def test_a_text_that_fits_is_left_alone() -> None:
    assert shortened(line("x" * 100), 200) == line("x" * 100)


def test_a_long_text_is_cut_and_says_how_to_get_the_rest() -> None:
    short = shortened(line("x" * 5000), 1000)
    assert len(encode(short)) <= 1000
    left = 5000 - len(short["text"])
    at = len(short["text"])
    assert short["more"] == f"{left:,} more characters; transcript_recent with message_id and offset={at} shows them"


def test_without_an_id_only_the_number_of_missing_characters_is_told() -> None:
    short = shortened({"text": "x" * 5000}, 1000)
    assert re.fullmatch(r"4,\d+ more characters", short["more"])


@settings(deadline=None, max_examples=60)
@given(st.text(max_size=3000), st.sampled_from(["", "\x00", "\U000e0041", '"', "报"]), st.integers(300, 2000))
def test_read_from_offset_to_offset_a_text_is_whole_again(text: str, filler: str, limit: int) -> None:
    text = text + filler * 2000
    told, offset = "", 0
    while True:
        piece = shortened(line(text), limit, offset=offset)
        assert len(encode(piece)) <= limit
        told += piece["text"]
        if "more" not in piece:
            break
        assert f"offset={len(told)} " in piece["more"]
        offset = len(told)
    assert told == text


@pytest.mark.parametrize("offset", [5, 10**9])
def test_behind_the_end_of_a_text_there_is_nothing_more(offset: int) -> None:
    assert shortened(line("hello"), 500, offset=offset) == line("")


def test_the_first_lines_that_fit_are_kept() -> None:
    lines = [line("x" * 50, f"om_{number}") for number in range(10)]
    kept = within(lines, 3 * (len(encode(lines[0])) + 1))
    assert kept == lines[:3]


def test_one_line_is_always_kept() -> None:
    assert within([line("x" * 500)], 10) == [line("x" * 500)]
    assert within([], 10) == []


def test_one_giant_does_not_take_the_place_of_the_others() -> None:
    kept = fitting([line("x" * 10**6), *(line("hello") for _ in range(20))], 4000)
    assert len(kept) == 21
    assert sum(len(encode(each)) + 1 for each in kept) <= 4000
    assert json.loads(encode(kept[0]))["text"].startswith("xxx")


def test_lines_that_are_not_needed_are_not_made() -> None:
    made: list[int] = []

    def lines() -> Iterator[Line]:
        for number in range(1000):
            made.append(number)
            yield line("x" * 100)

    fitting(lines(), 500)
    assert len(made) < 10
