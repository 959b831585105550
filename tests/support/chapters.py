"""The programs and commands that a chapter of the documents prints."""

import os
import re
import subprocess
import sys
from pathlib import Path

from support.waiting import PATIENCE

__all__ = ["blocks_of_section", "output_of_programs"]

_DOCS = Path(__file__).resolve().parents[2] / "docs"


def output_of_programs(page: str, home: Path) -> list[str]:
    """Run the Python blocks of ``docs/<page>`` one after the other in a fresh home; the lines they print."""
    text = (_DOCS / page).read_text(encoding="utf-8")
    programs = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    code = f"for program in {programs!r}: exec(program, {{'__name__': '__main__'}})"
    env = os.environ | {"HOME": str(home), "PYTHONWARNINGS": "error"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, check=True, capture_output=True, text=True, timeout=PATIENCE
    )
    return done.stdout.splitlines()


def blocks_of_section(language: str, holding: str) -> list[tuple[str, str]]:
    """The blocks of the first section of the simulator's chapter that holds a text, each behind its language."""
    text = (_DOCS / language / "simulator.md").read_text(encoding="utf-8")
    start = text.rindex("\n### ", 0, text.index(holding))
    end = min(at for heading in ("\n## ", "\n### ") if (at := text.find(heading, start + 1)) > 0)
    return re.findall(r"^```(\w+)\n(.*?)^```", text[start:end], re.DOTALL | re.MULTILINE)
