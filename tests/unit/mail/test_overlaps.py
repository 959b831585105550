"""Many patterns against many: the same answers as each with each, and few comparisons."""

import itertools
import random

from transcript_mcp.mail.claims.overlaps import meetings
from transcript_mcp.mail.claims.patterns import normalised, overlap

NAMES = (
    *("a", "ab", "b.py", "*", "a*", "*.py", "a*.py", "?", "a?b", "**", "[a]", "a[bc]", "*[a]b", "*]b", "a*[b"),
    *("[!a]*", "[*]a", "x[*]y", "a*\U0010ffff", "\U0010ffff", "[ab].py", "Makefile", "a[.]py"),
)


def test_the_answers_are_those_of_comparing_each_with_each() -> None:
    draw = random.Random(7)
    patterns = [normalised(name) for name in NAMES]
    patterns += [normalised(f"{one}/{two}") for one, two in itertools.product(NAMES, NAMES)]
    patterns += [normalised("/".join(draw.choices(NAMES, k=3)) + draw.choice(("", "/"))) for _ in range(150)]
    wanted, held = draw.sample(patterns, 80), draw.sample(patterns, 400)
    expected = [(w, h) for w, h in itertools.product(range(80), range(400)) if overlap(wanted[w], held[h])]
    assert len(expected) > 1000
    found = meetings(wanted, held)
    assert list(found.found) == expected
    assert found.complete


def test_thousands_of_patterns_for_names_that_begin_differently_are_not_compared() -> None:
    held = [f"**/mod{number}_*.py" for number in range(10_000)]
    wanted = [f"**/other{number}_*.py" for number in range(200)]
    assert meetings(wanted, held).complete
    assert meetings(["**/*_*.py"], held).found == [(0, number) for number in range(10_000)]


def test_folders_that_are_apart_are_not_compared() -> None:
    held = [f"src/{number}/**/x*" for number in range(10_000)]
    found = meetings([f"docs/{number}/**/x*" for number in range(199)] + ["src/77"], held)
    assert (list(found.found), found.complete) == ([(199, 77)], True)


def test_what_could_take_long_is_looked_at_in_part() -> None:
    held = ["**/" + "*a/" * 10 + f"{number}*" for number in range(1000)]
    found = meetings(["**/" + "*a/" * 10 + f"*{number}" for number in range(200)], held)
    assert not found.complete
    assert 1000 < len(found.found) < 20_000


def test_what_an_earlier_version_kept_and_this_one_refuses_stands_in_nobodys_way() -> None:
    assert meetings(["**", "src"], ["~/x", "src/a"]).found == [(0, 1), (1, 1)]
