"""The words of the architecture pages are those of the code: each names the class, or the module, that is the thing."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.listed import LANGUAGES, ROOT, differing, page, spans, table

SOURCES = ("nanobot_transcript", "channels/transcript_channels", "mcp_tools/transcript_mcp")
BORDERS = frozenset(
    {"contract", "entry", "identity", "platform", "policy", "ports", "room", "session_key"}  # by the names of modules
)
"""Modules whose classes other rooms meet: who reads code of any room has to know these words."""
KNOWN_TO_ONE = "record/transfer/contract.py"
"""A border within one room: nobody but the command ``migrate`` meets these."""
MOST_WORDS = 60
"""A glossary is read; a list of all classes is not."""


def modules() -> Iterator[tuple[str, Path]]:
    """Each module of the product, by its path below its package; the simulator has the platform's words."""
    for source in SOURCES:
        for path in sorted((ROOT / source).rglob("*.py")):
            if "simulator" not in path.parts:
                yield path.relative_to(ROOT / source).as_posix(), path


def public_classes(path: Path) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node.name for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]


CLASSES = {name: public_classes(path) for name, path in modules()}
"""By module."""


def in_the_code(language: str) -> list[str]:
    """What stands in the last column of the words."""
    return [name for row in table(page(language, "architecture"), "Entry", column=-1) for name in spans(row[-1])]


def places_of(name: str) -> list[str]:
    """The modules that a name of the glossary may mean: ``turns/owner.py`` a module, ``mail.values.Agent`` the class of
    that module, and ``Entry`` the class of any.
    """
    if name.endswith(".py"):
        return [module for module in CLASSES if f"/{module}".endswith(f"/{name}")]
    module, _, kind = name.rpartition(".")
    ending = f"/{module.replace('.', '/')}.py" if module else ".py"
    return [place for place, kinds in CLASSES.items() if kind in kinds and f"/{place}".endswith(ending)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_name_in_the_glossary_is_one_class_or_module(language: str) -> None:
    assert {name: places for name in in_the_code(language) if len(places := places_of(name)) != 1} == {}


def test_every_class_at_a_border_between_rooms_is_in_the_glossary() -> None:
    borders = [module for module in CLASSES if Path(module).stem in BORDERS and module != KNOWN_TO_ONE]
    assert {Path(module).stem for module in borders} == BORDERS
    named = {name.rpartition(".")[2] for name in in_the_code("en")}
    assert {module: missing for module in borders if (missing := set(CLASSES[module]) - named)} == {}


def test_the_glossary_has_the_same_words_in_both_languages() -> None:
    assert differing({f"docs/{language}/architecture.md": in_the_code(language) for language in LANGUAGES}) == {}


def test_each_word_of_the_glossary_has_something_in_the_code_and_all_can_be_read() -> None:
    for language in LANGUAGES:
        rows = table(page(language, "architecture"), "Entry", column=-1)
        assert [row[0] for row in rows if not spans(row[-1])] == []
        assert len(rows) <= MOST_WORDS
        named = in_the_code(language)
        assert sorted(set(named)) == sorted(named), "a name is the thing of one word"


WAYS = {"en": ("How a message travels", "How a mail travels"), "zh": ("一条消息怎么走", "一封邮件怎么走")}


def steps(language: str, heading: str) -> list[str]:
    """The numbered steps of a section, each on one line."""
    (section,) = re.findall(rf"^## {heading}\n(.*?)(?=^## )", page(language, "architecture"), re.MULTILINE | re.DOTALL)
    return re.findall(r"^\d+\. .*(?:\n   .*)*", section, re.MULTILINE)


def passed(step: str) -> Iterator[str]:
    """The modules that a step names. One without a folder lies in that of the one before."""
    folder = ""
    for name in spans(step):
        if name.endswith(".py"):
            folder = folder if "/" not in name else f"{name.rpartition('/')[0]}/"
            yield f"{folder}{name.rpartition('/')[2]}"


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_way_of_a_message_leads_through_modules_that_exist(language: str) -> None:
    names = [name for step in steps(language, WAYS[language][0]) for name in passed(step)]
    assert len(set(names)) > 25
    assert [name for name in names if name not in CLASSES] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_way_of_a_mail_leads_through_modules_that_exist(language: str) -> None:
    names = [name for step in steps(language, WAYS[language][1]) for name in spans(step) if name.endswith(".py")]
    assert len(set(names)) > 20
    assert [name for name in names if name not in CLASSES and f"mail/{name}" not in CLASSES] == []


def test_the_ways_have_the_same_steps_in_both_languages() -> None:
    for english, chinese in zip(WAYS["en"], WAYS["zh"], strict=True):
        for step, same in zip(steps("en", english), steps("zh", chinese), strict=True):
            assert sorted(spans(step)) == sorted(spans(same))
