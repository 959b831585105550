"""``make mutants``: what is broken, that it is found again, which tests are asked, and what their end means."""

import ast
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from coverage import CoverageData

from tools.mutants import sample
from tools.mutants.__main__ import Results
from tools.mutants.coverage_map import TestMap
from tools.mutants.operators import breaks
from tools.mutants.sample import Mutant, Product
from tools.mutants.trial import Copy, Outcome, enough, outcome_of

ROOT = Path(__file__).parents[2]
MODULE = '''\
"""A module."""

LIMIT = 20


def first(numbers: list[int], *, limit: int = LIMIT) -> list[int]:
    """The smallest."""
    if (
        limit < 1
        or not numbers
    ):
        return []
    elif limit == 1:
        return [min(numbers)]
    return sorted(numbers)[:limit]
'''

TEST = """\
from nanobot_transcript.store.numbers import first

def test_first():
    assert first([2, 1], limit=1) == [1]

def test_that_fails():
    assert first([2, 1], limit=1) == [2]
"""


def statement(source: str) -> ast.stmt:
    return ast.parse(source).body[0]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A product of one module, in git, and an environment that is this test's."""
    module = tmp_path / "tree" / "nanobot_transcript" / "store" / "numbers.py"
    module.parent.mkdir(parents=True)
    module.write_text(MODULE, encoding="utf-8")
    for package in (module.parent, module.parent.parent):
        (package / "__init__.py").touch()
    root = tmp_path / "tree"
    subprocess.run(["git", "init", "-q", root], check=True)
    (root / ".gitignore").write_text(".venv\n", encoding="utf-8")
    (root / ".venv" / "bin").mkdir(parents=True)
    (root / ".venv" / "lib" / "python3" / "site-packages").mkdir(parents=True)
    return root


@pytest.mark.parametrize(
    ("source", "broken"),
    [
        ("if a < b: pass", {"if not a < b:", "if a >= b:", "if a <= b:"}),
        ("if a and not b: pass", {"if a or not b:", "if a and b:", "if not (a and (not b)):"}),
        ("while a is None: pass", {"while not a is None:", "while a is not None:"}),
        ("return f(x)", {"return None"}),
        ("send(x, at=y)", {"pass", "send(x)"}),
        ("wait = 30.0", {"wait = 31.0"}),
        ("is_done = True", {"is_done = False"}),
        ("kind = 'bot'", {"kind = 'botX'"}),
        ("end = start + 1", {"end = start", "end = start + 2"}),
        ("end = start - size", {"end = start + size"}),
        ("break", {"continue"}),
        ("continue", {"break"}),
        ("def f(limit: int = 20) -> int: ...", {"def f(limit: int=21) -> int:"}),
    ],
)
def test_a_statement_is_broken_in_each_of_its_ways(source: str, broken: set[str]) -> None:
    assert {after for _, after in breaks(statement(source))} == broken


def test_an_except_branch_is_broken_by_raising_what_it_caught() -> None:
    block = statement("try:\n    f()\nexcept OSError as error:\n    g(error)")
    assert isinstance(block, ast.Try)
    assert dict(breaks(block.handlers[0])) == {"except removed": "except OSError as error:\n    raise"}


@pytest.mark.parametrize(
    "source",
    [
        "'''What it does.'''",
        "logger.warning('%s left', 3)",
        "raise StoreError('It is full.', hint='Delete something.')",
        "limit: 'int | None'",
        "T = TypeVar('T')",
        "name = cast('str', name)",
        "from a import b",
    ],
)
def test_what_is_said_logged_or_typed_is_left_alone(source: str) -> None:
    assert list(breaks(statement(source))) == []


def test_every_mutant_of_a_module_compiles_and_moves_no_line(tree: Path) -> None:
    for place in Product(tree).places:
        for _, after in breaks(place.statement):
            broken = place.broken(MODULE, after)
            compile(broken, "numbers.py", "exec")
            assert broken != MODULE
            assert broken.splitlines()[-1] == MODULE.splitlines()[-1] or place.last == len(MODULE.splitlines())


def test_what_stands_outside_of_functions_is_executed_by_whoever_imports_it(tmp_path: Path) -> None:
    (tmp_path / "limits.py").write_text("class Limits:\n    most = 20\n\n    def left(self):\n        return 20\n")
    found = {place.before: place.runs_on_import for place in sample.places_in(tmp_path, "limits.py")}
    assert found == {"class Limits:": True, "most = 20": True, "def left(self):": True, "return 20": False}


def test_a_mutant_is_found_in_another_file_and_another_class(tree: Path) -> None:
    before = "if limit < 1 or not numbers:"
    mutant = Mutant("store-01", "boundary moved", "store", "gone/old.py", before, "", "Numbers.first")
    found = Product(tree).find(mutant)
    assert found is not None
    assert (found.file, found.function, found.first, found.last) == (
        "nanobot_transcript/store/numbers.py",
        "first",
        8,
        11,
    )


def test_a_mutant_whose_statement_was_rewritten_is_gone(tree: Path) -> None:
    mutant = Mutant(
        "store-01", "boundary moved", "store", "nanobot_transcript/store/numbers.py", "if limit < 2:", "pass"
    )
    assert Product(tree).find(mutant) is None


def test_the_same_seed_chooses_the_same_mutants_one_for_a_statement(tree: Path) -> None:
    chosen = sample.choose(Product(tree), 4, seed=7, least=1)
    assert chosen == sample.choose(Product(tree), 4, seed=7, least=1)
    assert len({each.before for each in chosen}) == 4


def test_each_room_has_its_share_and_none_is_left_out() -> None:
    assert sample.shares(Counter(mail=600, store=399, outbox=1), 100, least=4) == {"mail": 59, "outbox": 1, "store": 40}
    assert sample.shares(Counter(mail=900, outbox=100), 20, least=4) == {"mail": 16, "outbox": 4}


def test_the_stored_sample_is_complete_and_in_the_form_it_is_written_in(tmp_path: Path) -> None:
    stored = ROOT / "tests" / "mutants.yaml"
    mutants = sample.load(stored)
    assert len({each.id for each in mutants}) == len(mutants) == 300
    sample.save(tmp_path / "again.yaml", mutants)
    assert (tmp_path / "again.yaml").read_text(encoding="utf-8") == stored.read_text(encoding="utf-8")


def test_tests_that_execute_a_line_themselves_or_by_a_child_are_asked_fastest_first(tmp_path: Path) -> None:
    data = CoverageData(str(tmp_path / "coverage"))
    for context, lines in {"t.py::slow": [1, 9], "t.py::child (call)": [9], "t.py::failed": [9], "": [1]}.items():
        data.set_context(context)
        data.add_lines({str(tmp_path / "store.py"): lines})
    data.write()
    steps = [("slow", "passed", 2.0), ("child", "passed", 1.0), ("failed", "failed", 0.1)]
    (tmp_path / "outcomes-1.jsonl").write_text(
        "\n".join(json.dumps({"test": f"t.py::{name}", "outcome": how, "seconds": time}) for name, how, time in steps)
    )
    tests = TestMap(tmp_path, tmp_path)
    assert tests.tests_of("store.py", range(9, 10)) == ["t.py::child", "t.py::slow"]
    assert tests.tests_of("store.py", range(1, 2)) == ["t.py::slow"]
    assert tests.tests_of("store.py", None) == ["t.py::child", "t.py::slow"]


def test_tests_are_taken_until_the_budget_is_spent_and_those_of_a_file_run_together() -> None:
    seconds = {"a::1": 1.0, "b::1": 2.0, "a::2": 3.0, "b::2": 90.0}
    assert enough(list(seconds), seconds, budget=10, most=9) == ["a::1", "a::2", "b::1"]
    assert enough(["b::2"], seconds, budget=10, most=9) == ["b::2"]
    assert enough(list(seconds), seconds, budget=10, most=1) == ["a::1"]


@pytest.mark.parametrize(
    ("code", "said", "outcome"),
    [
        (0, "2 passed", Outcome("survived")),
        (None, "..", Outcome("timed out", why="..")),
        (1, "FAILED tests/a.py::test_b[x y] - assert 1\n", Outcome("killed", "tests/a.py::test_b[x y]", "assert 1")),
        (2, "ERROR tests/a.py - NameError: x\n", Outcome("killed", "", "NameError: x")),
    ],
)  # fmt: skip
def test_the_end_of_pytest_says_what_became_of_a_mutant(code: int | None, said: str, outcome: Outcome) -> None:
    assert outcome_of(code, said) == outcome


def test_tests_that_are_not_there_are_no_kill() -> None:
    with pytest.raises(RuntimeError, match="not those of the tree"):
        outcome_of(4, "ERROR: not found: tests/a.py::test_b\n")


def test_results_are_kept_until_the_mutant_is_another_one(tmp_path: Path) -> None:
    mutant = Mutant("mail-01", "call removed", "mail", "mail.py", "send()", "pass")
    Results(tmp_path / "results").add(mutant, Outcome("killed", "t.py::a"), "mail.py:3")
    again = Results(tmp_path / "results")
    assert (again.of(mutant) or {})["by"] == "t.py::a"
    assert again.of(Mutant("mail-01", "call removed", "mail", "mail.py", "close()", "pass")) is None
    assert Results(tmp_path / "results", forgotten=[mutant]).of(mutant) is None


def test_a_mutant_runs_in_the_copy_and_the_checkout_stays_as_it_is(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # they take seconds to start
    pth = tree / ".venv" / "lib" / "python3" / "site-packages" / "_editable.pth"
    pth.write_text(f"{tree}\n", encoding="utf-8")
    python = tree / ".venv" / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    (tree / "test_numbers.py").write_text(TEST, encoding="utf-8")
    warm = tree / "tools" / "mutants" / "warm_pytest.py"
    warm.parent.mkdir(parents=True)
    warm.write_text((ROOT / "tools" / "mutants" / "warm_pytest.py").read_text(encoding="utf-8"), encoding="utf-8")
    copy = Copy(tree, tmp_path / "copy")
    copy.refresh()
    place = next(each for each in Product(tree).places if each.before == "if limit < 1 or not numbers:")
    try:
        killed = copy.trial(place, "if limit < 2 or not numbers:", ["test_numbers.py::test_first"], 60)
        survived = copy.trial(place, "if limit < 0 or not numbers:", ["test_numbers.py::test_first"], 60)
        assert copy.failing(["test_numbers.py::test_first"], 60) == copy.failing([], 60) == set()
    finally:
        copy.close()
    assert (killed.verdict, killed.by, survived.verdict) == ("killed", "test_numbers.py::test_first", "survived")
    assert (tree / place.file).read_text(encoding="utf-8") == MODULE
    assert pth.read_text(encoding="utf-8") == f"{tree}\n"
    assert (tmp_path / "copy" / pth.relative_to(tree)).read_text(encoding="utf-8") == f"{tmp_path / 'copy'}\n"
