"""The command line speaks English, or Chinese where the locale is Chinese."""

import ast
import json
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

import nanobot_transcript
from nanobot_transcript.cli.terminal.language import language, said, speak

HOUSE = Path(nanobot_transcript.__file__).parent
ROOMS = (HOUSE / "cli", HOUSE / "demo")
CHINESE: dict[str, str] = json.loads((HOUSE / "cli" / "terminal" / "chinese.json").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    speak(None)


def nodes() -> Iterator[ast.AST]:
    for path in sorted(path for room in ROOMS for path in room.rglob("*.py")):
        yield from ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def places(sentence: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name}


@pytest.mark.parametrize(
    ("environment", "spoken"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_TW"}, "zh"),
        ({"LANG": "en_GB.UTF-8"}, "en"),
        ({"LC_ALL": "", "LC_MESSAGES": "zh_CN", "LANG": "en_US"}, "zh"),
        ({"LC_ALL": "C", "LC_MESSAGES": "zh_CN", "LANG": "zh_CN"}, "en"),
        ({"LANG": "中文"}, "en"),
        ({"LANG": "xx_XX.UTF-8"}, "en"),
    ],
)
def test_the_locale_says_which(environment: dict[str, str], spoken: str) -> None:
    assert language(environment) == spoken


def test_what_was_chosen_counts_more_than_the_locale() -> None:
    speak("zh")
    assert (language({"LANG": "en_US"}), said("Hint: {hint}", hint="{x}")) == ("zh", "提示：{x}")
    speak(None)
    assert language({"LANG": "en_US"}) == "en"


def test_a_sentence_without_chinese_is_told_in_english() -> None:
    speak("zh")
    assert said("So many: {count}.", count=3) == "So many: 3."


def test_every_sentence_has_its_chinese_and_every_chinese_its_sentence() -> None:
    constants = {node.value for node in nodes() if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    spoken = {
        node.args[0].value
        for node in nodes()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "said"
        if isinstance(node.args[0], ast.Constant)
    }
    spoken |= {
        f"{{count}} {node.args[1].value}s"
        for node in nodes()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "amount"
        if isinstance(node.args[1], ast.Constant)
    }
    assert sorted(spoken - CHINESE.keys()) == []
    assert sorted(CHINESE.keys() - constants - spoken) == []


def test_both_have_the_same_places() -> None:
    assert [english for english, chinese in CHINESE.items() if places(english) != places(chinese)] == []
