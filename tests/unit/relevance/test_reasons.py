"""Every reason and stage is said in words, and stands in the documents."""

from pathlib import Path

import pytest

from nanobot_transcript.relevance import Reason, Stage
from nanobot_transcript.relevance.decision import SENTENCES, STOPS

DOCS = Path(__file__).resolve().parents[3] / "docs"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_reason_and_stage_is_documented_and_nothing_else(language: str) -> None:
    page = (DOCS / language / "gate.md").read_text(encoding="utf-8")
    rows = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `")]
    mine = [reason.value for reason in Reason if reason not in STOPS]  # the loop guard's stand in its chapter
    assert rows == [*(stage.value for stage in Stage), *mine]


def test_every_reason_has_a_sentence() -> None:
    assert set(SENTENCES) == set(Reason)
