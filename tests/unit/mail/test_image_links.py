"""Which parts of a Markdown text are pictures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples

from transcript_mcp.mail.messages.image_links import image_links


def targets(text: str) -> list[str]:
    return [link.target for link in image_links(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("![diagram](docs/flow.png)", ["docs/flow.png"]),
        ("![](a.png)![](b.png)", ["a.png", "b.png"]),
        ('![a](a.png "title")', ["a.png"]),
        ("![a]( a.png 'it\\'s' )", ["a.png"]),
        ("![a](a.png (title))", ["a.png"]),
        ("![a](<my flow.png>)", ["my flow.png"]),
        ("![a](flow(1).png)", ["flow(1).png"]),
        ("![a](flow\\(1.png)", ["flow(1.png"]),
        ("![a [b] c](a.png)", ["a.png"]),
        ("![a\\]](a.png)", ["a.png"]),
        ("![图](图/流程.png)，见图", ["图/流程.png"]),
        ("[![a](a.png)](https://x.org)", ["a.png"]),
        ("![`code`](a.png)", ["a.png"]),
        ("- item\n\n  ![a](a.png)", ["a.png"]),
        ("> ![a](a.png)", ["a.png"]),
        ("`open ![a](a.png)", ["a.png"]),
        ("`open\n\n![a](a.png) and `", ["a.png"]),
        ("\\`![a](a.png)`", ["a.png"]),
        ("`` ` ``![a](a.png)` ", ["a.png"]),
        ("```\ncode\n```\n![a](a.png)", ["a.png"]),
        ("``` not ` a fence\n![a](a.png)", ["a.png"]),
    ],
)
def test_pictures_are_found(text: str, found: list[str]) -> None:
    assert targets(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('<img src="docs/flow.png">', ["docs/flow.png"]),
        ("<IMG alt='a > b' SRC = 'my flow.png' width=40/>", ["my flow.png"]),
        ("<img src=a.png>", ["a.png"]),
        ("<img\n  alt=x\n  src=a.png\n/>", ["a.png"]),
        ('<img src="a.png?x=1&amp;y=2">', ["a.png?x=1&y=2"]),
        ('<p><img src="a.png"><img src="b.png"></p>', ["a.png", "b.png"]),
        ('<img src="a.png" src="b.png">', ["a.png"]),
        ('![a](a.png) <img src="b.png"> ![c](c.png)', ["a.png", "b.png", "c.png"]),
        ("![flow][f]\n\n[f]: docs/flow.png", ["docs/flow.png"]),
        ('![flow][]\n\n[flow]: <my flow.png> "title"', ["my flow.png"]),
        ("![The  Flow]\n\n[the flow]: a.png", ["a.png"]),
        ("![a][f] ![b][F]\n\n[f]: a.png\n[F]: b.png", ["a.png"]),
        ("[f]: a.png\n\n![a][f] ![b](b.png)", ["a.png", "b.png"]),
        ("[f]:\n  a\\(1.png\n\n![a][f]", ["a(1.png"]),
        ("> ![a][f]\n>\n> [f]: a.png", ["a.png"]),
        ("![a] (b) and\n\n[a]: a.png", ["a.png"]),
    ],
)
def test_pictures_of_html_and_of_references_are_found(text: str, found: list[str]) -> None:
    assert targets(text) == found


@pytest.mark.parametrize(
    "text",
    [
        '<img alt="src=a.png">',
        "<img>",
        "<img src>",
        '<img src="a.png"',
        '<image src="a.png">',
        '<img data-src="a.png">',
        '\\<img src="a.png">',
        '`<img src="a.png">`',
        '```html\n<img src="a.png">\n```',
        "![a][f]",
        "[a][f]\n\n[f]: a.png",
        "![a][f]\n\n`[f]: a.png`",
        "`![a][f]`\n\n[f]: a.png",
        "\\![a][f]\n\n[f]: a.png",
    ],
)
def test_what_only_looks_like_html_or_a_reference_is_left_alone(text: str) -> None:
    assert targets(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "[a](a.png)",
        "!(a.png)",
        "\\![a](a.png)",
        "![a](a b.png)",
        "![a](a.png",
        "![a] (a.png)",
        "![a]()",
        "`![a](a.png)`",
        "`` `![a](a.png) ``",
        "`two\nlines ![a](a.png)`",
        "```\n![a](a.png)\n```",
        "~~~python\n```\n![a](a.png)\n~~~",
        "````\n```\n![a](a.png)\n````",
        "```\n![a](a.png)",
        "- ```\n  ![a](a.png)\n  ```",
        "> ```\n> ![a](a.png)\n> ```",
        "![a`](a.png)`",
        "![a](`a.png`)",
    ],
)
def test_code_and_what_only_looks_like_a_picture_is_left_alone(text: str) -> None:
    assert targets(text) == []


def test_the_place_is_that_of_the_target() -> None:
    text = 'x ```y``` ![a](<b c.png> "t")'
    (link,) = image_links(text)
    assert text[link.start : link.end] == "b c.png"


HOSTILE = [
    "![" * 500_000,
    "![](" * 250_000,
    '![](a "' * 150_000,
    "![](a '![](b \"![](c (" * 50_000,
    "![a[b]" * 170_000,
    "![](a(b)" * 125_000,
    "![](<" * 200_000,
    "![" + "[a]" * 330_000,
    "![](" + "(a)" * 330_000,
    "![](" + "\\" * 1_000_000,
    ("![](" + " " * 1000) * 1000,
    "`" * 1_000_000 + "![",
    "![" + "".join("`" * n + " " for n in range(1400)),
    "![" + "` `` ``` " * 110_000,
    "![](a.png)\n```\n" * 60_000,
    ">" * 1_000_000 + "![](a)",
    " " * 1_000_000 + "![](a)",
    "1" * 1_000_000 + "![](a)",
    "![](data:image/png;base64," + "A" * 1_000_000,
    "![a](" + "a " * 500_000,
    "\n" * 1_000_000 + "![",
    "![" + "\\]" * 500_000,
    "<img " * 200_000,
    '<img a="' * 120_000,
    "<img a='<img b=\"" * 60_000,
    "<img a=\"<img b='\" c='" * 50_000,
    "<img " + "a " * 500_000,
    "<img src=" + "a" * 1_000_000,
    '<img src="' + "a" * 1_000_000,
    '<img a="x"' * 100_000,
    "<img src=a>" * 60_000,
    "[a]: b\n![a]\n" * 60_000,
    "".join(f"[{n}]: b\n![{n}]\n" for n in range(60_000)),
    "![][" * 250_000 + "\n[a]: b",
    "[a]:" + "\n" * 1_000_000 + "![a]",
    "[" + "a\n" * 500_000 + "![",
    "[a]:\n" * 200_000 + "![a]",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_of_a_megabyte_are_read_in_time(text: str) -> None:
    assert len(image_links(text)) <= 60_000


@examples(100, 1000)
@given(st.lists(st.sampled_from(["<img ", "src=", *"![]()<>\"'`~\\ \n\0a>-:\ud800"]), max_size=60).map("".join))
def test_no_text_raises_and_places_are_in_order(text: str) -> None:
    at = 0
    for link in image_links(text):
        assert at <= link.start <= link.end <= len(text)
        at = link.end
