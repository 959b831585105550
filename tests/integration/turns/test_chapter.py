"""The programs in the chapter run as they are printed."""

from pathlib import Path

import pytest
from support.chapters import output_of_programs


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_printed_programs_run_in_a_fresh_home(language: str, tmp_path: Path) -> None:
    verdict, answered, relayed, granted = output_of_programs(f"{language}/turns.md", tmp_path)
    assert verdict == "Verdict(allowed=False, reason='hop_limit', hops=4)"
    assert answered.startswith("Alpha ")
    assert relayed.startswith("Alpha @Beta ")
    assert granted == "True"
