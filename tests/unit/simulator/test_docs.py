"""The programs on the documentation page run as they stand, in both languages."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.waiting import PATIENCE

DOCS = Path(__file__).resolve().parents[3] / "docs"


def programs(language: str) -> list[str]:
    page = (DOCS / language / "simulator.md").read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", page, re.DOTALL)


@pytest.mark.parametrize(("language", "number"), [("en", 0), ("en", 1), ("zh", 0), ("zh", 1)])
def test_a_program_of_the_page_runs(language: str, number: int) -> None:
    command = [sys.executable, "-W", "error", "-c", programs(language)[number]]
    subprocess.run(command, check=True, timeout=PATIENCE, stdout=subprocess.DEVNULL)


def test_both_languages_have_the_same_headings_and_tables() -> None:
    shapes = []
    for language in ("en", "zh"):
        page = (DOCS / language / "simulator.md").read_text(encoding="utf-8")
        headings = [line.split(" ")[0] for line in page.splitlines() if re.match(r"#+ ", line)]
        shapes.append((headings, len(re.findall(r"^\|", page, re.MULTILINE))))
    assert shapes[0] == shapes[1]
