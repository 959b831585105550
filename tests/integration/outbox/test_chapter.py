"""The program in the chapter runs as it is printed."""

from pathlib import Path

import pytest
from support.chapters import output_of_programs


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_printed_program_runs_in_a_fresh_home(language: str, tmp_path: Path) -> None:
    said, state = output_of_programs(f"{language}/outbox.md", tmp_path)
    assert said.startswith("feishu:oc_team ")
    assert state == "sent"
