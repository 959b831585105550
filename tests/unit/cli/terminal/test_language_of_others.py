"""Sentences of other rooms and of the parser are told again in Chinese, by their form."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
import typer

import nanobot_transcript
import transcript_channels
import transcript_mcp
from nanobot_transcript.cli import main
from nanobot_transcript.cli.terminal.language import retold, speak
from nanobot_transcript.relevance.decision import STOPS, Claiming, sentence_of

ROOMS = [Path(room.__file__).parent for room in (nanobot_transcript, transcript_mcp, transcript_channels, typer)]
CHINESE: dict[str, str] = json.loads(
    (ROOMS[0] / "cli" / "terminal" / "chinese_of_others.json").read_text(encoding="utf-8")
)
PLACE = re.compile(r"\{\d\}")
MARKS = re.compile(r"[.,:;()']")
PUT_TOGETHER = {
    "Missing argument",
    "No archiver runs",
    "The archiver runs",
    "Set the environment variables",
    "but must be a number",
    "but must be a number from",
    "but must be a size in bytes",
    "but must be a whole number",
    "but must be a whole number from",
    "but must be an absolute path or begin with ~",
    "but must be at least 64 KiB",
    "but must be text",
    "but must be true or false",
    "but must not begin with ~ and a name that no user of this machine has",
    "or write the value itself",
    "or write the values themselves",
    "requires an argument",
}
"""What no source says in one piece."""
OF_DATABASES = (
    "record/postgres/database_check.py",
    "record/spool/backlog.py",
    "sql/postgres/engine.py",
    "sql/postgres/errors.py",
    "sql/postgres/migrations.py",
    "sql/postgres/address.py",
    "sql/postgres/poolers.py",
)


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    speak(None)


def words(form: str) -> list[str]:
    """What stands between the places and the marks of a form."""
    parts = (" ".join(part.split()) for part in MARKS.split(PLACE.sub(".", form)))
    return [part for part in parts if part]


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("There is no chat oc_x.", "没有群 oc_x。"),
        ("/a: b cannot be written: Permission denied.", "/a: b 无法写入：Permission denied。"),
        (
            "a (b) refers to ${C}, which is not set.\nThe clock is plausible.",
            "a（b）引用了 ${C}，但它没有设置。\n时钟正常。",
        ),
        ("Nobody has said so before.", "Nobody has said so before."),
    ],
)
def test_a_sentence_is_known_by_its_form(english: str, chinese: str) -> None:
    speak("zh")
    assert retold(english) == chinese


def test_in_english_everything_stays_as_it_is() -> None:
    speak("en")
    assert retold("There is no chat oc_x.") == "There is no chat oc_x."


@pytest.mark.timeout(30)
def test_a_long_line_that_almost_fits_costs_no_time() -> None:
    speak("zh")
    line = "store" + " () is , but must be" * 1000 + "#"  # it was tried out for minutes
    assert retold(line) == line


def test_every_form_is_of_a_sentence_that_somebody_says() -> None:
    texts = {
        " ".join(node.value.split())
        for room in ROOMS
        for path in room.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 500
    }
    everything = "\n".join(texts)
    parts = {part for form in CHINESE for part in words(form)}
    assert {part for part in parts if part not in everything} == PUT_TOGETHER


def sentences(module: Path) -> Iterator[str]:
    """Every sentence that a module says, with values in its places."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            text = "".join(part.value if isinstance(part, ast.Constant) else "1" for part in node.values)
        else:
            text = node.value if isinstance(node, ast.Constant) and id(node) not in inside | docstrings else ""
        if isinstance(text, str) and " " in text and text.endswith("."):
            yield text


@pytest.mark.parametrize("module", OF_DATABASES)
def test_whatever_is_said_of_a_database_is_told_in_chinese(module: str) -> None:
    speak("zh")
    said = list(sentences(ROOMS[0] / module))
    assert len(said) > 1
    assert [text for text in said if retold(text) == text] == []


def test_a_hint_about_the_other_address_is_told_in_chinese() -> None:
    speak("zh")
    english = "See whether PostgreSQL runs, and whether host and port in record.listen_url lead to it."
    assert retold(english) == "请确认 PostgreSQL 在运行，并且 record.listen_url 里的主机和端口正确。"


def test_both_have_the_same_places() -> None:
    assert [form for form, chinese in CHINESE.items() if {*PLACE.findall(form)} != {*PLACE.findall(chinese)}] == []


def test_what_the_parser_refuses_is_told_in_chinese(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    assert main(["tail", "--nope"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("用法：")
    assert "查看帮助。\n" in told
    assert "错误：没有选项 --nope" in told


@pytest.mark.parametrize("reason", [*get_args(Claiming), *sorted(STOPS)])
def test_what_came_of_a_decision_is_told_in_chinese(reason: str) -> None:
    assert sentence_of(reason) in CHINESE
