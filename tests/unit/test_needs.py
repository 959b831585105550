"""What a run says about the tests it skipped, and when that fails it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.needs import lacks, missing_groups
from support.waiting import PATIENCE

TESTS = Path(__file__).resolve().parents[1]
BROWSER = lacks("no Chromium", "apt-get install chromium")
SDK_2 = lacks("needs SDK 2", "make test-mcp2")
NO_NANOBOT = lacks("no nanobot", "make test")
IMPORTED = "could not import 'nanobot': No module named 'nanobot'"


def test_each_group_is_named_once_with_its_number_reason_and_command() -> None:
    skipped = [("tests/browser/test_a.py::test_1", f"Skipped: {BROWSER}"), ("tests/browser/test_b.py::test_2", BROWSER)]
    assert missing_groups(skipped) == [("browser, 2 tests: no Chromium; `apt-get install chromium`", True)]


def test_what_another_step_runs_or_nothing_can_change_may_be_skipped() -> None:
    skipped = [("tests/unit/x/test_a.py::test_1", SDK_2), ("tests/unit/x/b.py::test_2", "root may read everything")]
    assert [must_run for _, must_run in missing_groups(skipped)] == [False, False]


def test_what_this_very_step_has_to_run_may_not_be_skipped_in_ci() -> None:
    here = Path(sys.prefix).name == ".venv"  # other environments lack nanobot on purpose
    skipped = [("tests/unit/x/test_a.py::test_1", NO_NANOBOT), ("tests/unit/y/test_b.py::test_2", IMPORTED)]
    assert [must_run for _, must_run in missing_groups(skipped)] == [here, True]


@pytest.mark.parametrize(
    ("reason", "ci", "code"), [(BROWSER, "true", 1), (BROWSER, "", 0), (SDK_2, "true", 0), (IMPORTED, "true", 1)]
)
def test_a_run_in_ci_fails_when_a_command_could_have_brought_what_was_missing(
    tmp_path: Path, reason: str, ci: str, code: int
) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    tests = f"import pytest\n\ndef test_1():\n    pytest.skip({reason!r})\n\ndef test_2():\n    pass\n"
    (tmp_path / "test_it.py").write_text(tests, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "support.needs", "-p", "no:cacheprovider", str(tmp_path)]
    env = {**os.environ, "PYTHONPATH": str(TESTS), "CI": ci, "PYTEST_ADDOPTS": ""}
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == code, done.stdout
    assert f"1 test: {reason}" in done.stdout
