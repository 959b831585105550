"""The page of supported names lists what there is, and no example takes another one."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from golden.names import listed_names

import nanobot_transcript

ROOT = Path(__file__).resolve().parents[2]
OURS = ("nanobot_transcript", "transcript_channels", "transcript_mcp")
CODE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


def test_every_listed_name_can_be_imported() -> None:
    missing = [
        f"{module}.{name}"
        for module, names in listed_names().items()
        for name in names
        if not hasattr(importlib.import_module(module), name)
    ]
    assert missing == []


def test_every_listed_name_is_public_where_it_is_listed() -> None:
    hidden = [
        f"{module}.{name}"
        for module, names in listed_names().items()
        for name in names
        if name not in importlib.import_module(module).__all__
    ]
    assert hidden == []


def test_the_page_lists_all_that_the_package_itself_offers() -> None:
    assert sorted(listed_names()["nanobot_transcript"]) == sorted(nanobot_transcript.__all__)


def test_both_languages_list_the_same_names() -> None:
    assert listed_names("zh") == listed_names("en")
    assert len(listed_names()) > 10


def examples() -> Iterator[tuple[str, str]]:
    """The Python code of the documents and of ``examples/``, with where it stands."""
    for path in sorted(DOCUMENTS):
        for number, code in enumerate(CODE.findall(path.read_text("utf-8")), 1):
            yield f"{path.relative_to(ROOT)}, example {number}", code
    for path in sorted((ROOT / "examples").rglob("*.py")):
        yield str(path.relative_to(ROOT)), path.read_text("utf-8")


def imported(code: str) -> Iterator[tuple[str, str]]:
    """Our modules and the names that an example takes from them; of a whole module the name is empty."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(OURS):
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.startswith(OURS))


def strangers(code: str) -> list[str]:
    """What an example imports that no list supports."""
    listed = listed_names()
    return [f"{module} {name}".strip() for module, name in imported(code) if name not in listed.get(module, ())]


def test_an_example_imports_supported_names_only() -> None:
    wrong = [f"{where}: {stranger}" for where, code in examples() for stranger in strangers(code)]
    assert wrong == [], "list them in docs/en/api.md and docs/zh/api.md, or let the example do without"


def test_examples_are_found_in_every_kind_of_place() -> None:
    places = {where.split(",")[0] for where, code in examples() if list(imported(code))}
    assert places >= {"README.md", "README.zh-CN.md", "docs/en/store.md", "docs/zh/runner.md"}


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("from nanobot_transcript import GroupTranscriptStore", []),
        (
            "from nanobot_transcript.store.front import GroupTranscriptStore",
            ["nanobot_transcript.store.front GroupTranscriptStore"],
        ),
        ("def f():\n    import transcript_mcp.hub.app", ["transcript_mcp.hub.app"]),
    ],
)
def test_an_import_of_another_name_is_noticed(code: str, found: list[str]) -> None:
    assert strangers(code) == found
