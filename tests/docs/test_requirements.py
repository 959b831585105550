"""``tests/requirements.yaml`` and the tests agree, in both directions.

Every sentence of a plan is proven by tests, or given up with a documented reason, or open with an issue; every test
that is named exists. Every question has tests, and every test that says it answers a question (its docstring begins
with ``Q7:``) is listed there.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

TESTS = Path(__file__).resolve().parent.parent
ROOT = TESTS.parent
QUESTION = re.compile(r"Q(\d+)\b")


@cache
def requirements() -> dict[str, Any]:
    return yaml.safe_load((TESTS / "requirements.yaml").read_text(encoding="utf-8"))


@cache
def all_tests() -> dict[str, str]:
    """The docstring of every test there is, by ``path::name``."""
    found: dict[str, str] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        file = path.relative_to(ROOT).as_posix()
        for name, node in functions(ast.parse(path.read_text(encoding="utf-8"))):
            found[f"{file}::{name}"] = ast.get_docstring(node) or ""
    return found


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            yield from functions(node, f"{node.name}::")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield f"{prefix}{node.name}", node


def sentences() -> list[dict[str, Any]]:
    return [entry for plan in requirements()["plans"].values() for entry in plan["sentences"]]


def questions() -> list[dict[str, Any]]:
    return requirements()["questions"]


def named_tests(entry: dict[str, Any]) -> list[str]:
    return [f"tests/{name}" for name in entry.get("tests", ())]


def test_every_entry_has_an_id_of_its_own() -> None:
    known = [entry["id"] for entry in [*sentences(), *questions()]]
    assert sorted(set(known)) == sorted(known)


def test_every_sentence_is_proven_given_up_or_open() -> None:
    settled = ("tests", "deviation", "issue")
    for entry in sentences():
        assert entry["text"].strip(), entry["id"]
        assert entry.keys() <= {"id", "text", *settled}, entry["id"]
        assert any(entry.get(how) for how in settled), entry["id"]


def test_every_test_that_is_named_exists() -> None:
    named = [(entry["id"], name) for entry in [*sentences(), *questions()] for name in named_tests(entry)]
    assert [(number, name) for number, name in named if name not in all_tests()] == []


def test_every_deviation_is_documented_in_both_languages() -> None:
    pages = {page.relative_to(ROOT / "docs").as_posix(): page for page in (ROOT / "docs").glob("??/*.md")}
    texts = {name: page.read_text(encoding="utf-8") for name, page in pages.items()}
    for entry in sentences():
        if deviation := entry.get("deviation"):
            assert deviation["reason"].strip(), entry["id"]
            page, _, anchor = deviation["documented"].partition("#")
            for language in ("en", "zh"):
                assert f'<a id="{anchor}"></a>' in texts[f"{language}/{page}"], entry["id"]


def test_every_open_sentence_says_what_is_still_to_come() -> None:
    assert [entry["id"] for entry in sentences() if "issue" in entry and len(entry["issue"].split()) < 3] == []


def test_every_answer_to_a_question_is_listed_and_every_listed_one_names_its_question() -> None:
    listed = {(question["id"], name) for question in questions() for name in named_tests(question)}
    answering = {(match[0], name) for name, text in all_tests().items() if (match := QUESTION.match(text))}
    assert sorted(answering - listed) == []
    assert sorted(listed - answering) == []


def test_every_question_has_an_answer_and_a_test() -> None:
    assert [question["id"] for question in questions()] == [f"Q{number}" for number in range(1, 23)]
    assert [question["id"] for question in questions() if not question.get("tests")] == []
