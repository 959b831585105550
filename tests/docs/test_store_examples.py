"""The programs in the store's chapter run as they are printed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.waiting import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["docs/en/store.md", "docs/zh/store.md"]


def programs(page: str) -> list[str]:
    """The Python blocks of a page, in order."""
    return re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES)
def test_the_printed_programs_run_in_a_fresh_home(page: str, tmp_path: Path) -> None:
    env = os.environ | {"HOME": str(tmp_path), "PYTHONWARNINGS": "error"}
    outputs = [
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=tmp_path,
            env=env,
            check=True,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        for code in programs(page)
    ]
    assert len(outputs) == 3
    assert "'sender': 'on_ada'" in outputs[0].stdout
    assert "'sender': 'Alpha'" in outputs[0].stdout
    assert outputs[1].stdout.startswith("on_bo ")
    assert [path.name for path in tmp_path.iterdir()] == ["transcripts"]


def test_both_pages_have_the_same_shape() -> None:
    """Headings, tables, blocks and lists correspond one to one."""
    english, chinese = (_shape((ROOT / page).read_text(encoding="utf-8")) for page in PAGES)
    assert english == chinese


def _shape(text: str) -> list[str]:
    kinds = [(r"#+ ", None), (r"\| ", "row"), (r"```", "fence"), (r"- ", "item"), (r"\*\*", "term")]
    shape = []
    for line in text.splitlines():
        for pattern, name in kinds:
            found = re.match(pattern, line)
            if found:
                shape.append(name or found[0])
                break
    return shape
