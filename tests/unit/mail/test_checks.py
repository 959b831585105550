"""Braces in paths are expanded as a shell does it."""

import itertools
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples

from transcript_mcp.mail.claims.checks import expanded


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("{a,b}.py", ["a.py", "b.py"]),
        ("src/*.{ts,tsx}", ["src/*.ts", "src/*.tsx"]),
        ("{src/{a,b},docs}/x", ["src/a/x", "src/b/x", "docs/x"]),
        ("{a,b}{1,2}", ["a1", "a2", "b1", "b2"]),
        ("src{,/api}", ["src", "src/api"]),
        ("{{cookiecutter.name}}/{id}", ["{{cookiecutter.name}}/{id}"]),
        ("{{a,b}}", ["{a}", "{b}"]),
        ("{a,{b,c}", ["{a,b", "{a,c"]),
        ("{a,b", ["{a,b"]),
        ("a,b}", ["a,b}"]),
        ("}{", ["}{"]),
        ("[{a,b}].py", ["[{a,b}].py"]),
        ("{[a,b],c}", ["[a,b]", "c"]),
        ("app/[id]/{page,layout}.tsx", ["app/[id]/page.tsx", "app/[id]/layout.tsx"]),
        ("[{a,b}/]", ["[a/]", "[b/]"]),
        ("[]{,}]{x,y}", ["[]{,}]x", "[]{,}]y"]),
        ("[!]{a,b}", ["[!]a", "[!]b"]),
    ],
)
def test_a_group_stands_for_what_is_between_its_commas(pattern: str, found: list[str]) -> None:
    assert expanded(pattern, 10) == found


def test_no_more_is_made_than_is_asked_for() -> None:
    assert expanded("{a,b}" * 200, 3) == ["a" * 200, "a" * 199 + "b", "a" * 198 + "ba"]
    assert expanded("{a,b}" * 4, 16) == expanded("{a,b}" * 4, 1000)
    assert len(expanded("{," * 333, 5)) == 1
    assert len(expanded("{," * 333 + "}" * 333, 5)) == 5
    assert expanded("{a,b}" * 201, 3) == ["{a,b}" * 201]


@dataclass(frozen=True)
class Group:
    """Alternatives; each is a list of texts and groups, one after the other."""

    alternatives: list[list["str | Group"]]


TEXTS = st.sampled_from(["a", "b/", "*", "[{,]", "{c}", "", "[!x]"])
PARTS = st.recursive(
    TEXTS,
    lambda part: st.lists(st.lists(part, max_size=3), min_size=2, max_size=3).map(Group),
    max_leaves=8,
)


def written(part: str | Group) -> str:
    """With braces."""
    if isinstance(part, str):
        return part
    return "{" + ",".join("".join(map(written, alternative)) for alternative in part.alternatives) + "}"


def meant(parts: list[str | Group]) -> list[str]:
    """By the definition: each choice of alternatives."""
    choices = [
        [part] if isinstance(part, str) else [text for alternative in part.alternatives for text in meant(alternative)]
        for part in parts
    ]
    return ["".join(chosen) for chosen in itertools.product(*choices)]


@examples(200, 2000)
@given(st.lists(PARTS, max_size=4))
def test_groups_in_groups_stand_for_each_choice_of_what_is_in_them(parts: list[str | Group]) -> None:
    assert expanded("".join(map(written, parts)), 100_000) == meant(parts)
