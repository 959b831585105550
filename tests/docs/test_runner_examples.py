"""What the runner's chapter prints runs, and its smallest configuration is valid."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from nanobot_transcript.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["docs/en/runner.md", "docs/zh/runner.md"]


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES)
def test_the_printed_program_answers_and_records(page: str, tmp_path: Path) -> None:
    (code,) = blocks(page, "python")
    env = os.environ | {"HOME": str(tmp_path), "PYTHONWARNINGS": "error", "PYTHONUTF8": "1"}
    run = subprocess.run(
        [sys.executable, "-c", code], env=env, check=True, capture_output=True, text=True, encoding="utf-8", timeout=30
    )
    answer, count = run.stdout.splitlines()
    assert "@Echo" in answer
    assert "2" in count


@pytest.mark.parametrize("page", PAGES)
def test_the_printed_configuration_is_valid(page: str) -> None:
    (text,) = blocks(page, "yaml")
    (bot,) = Settings(**yaml.safe_load(text)).agents.values()
    assert (bot.name, bot.responder.command) == ("Parrot", ["cat"])
