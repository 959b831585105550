"""What the options of several commands have in common."""

from pathlib import Path

import pytest

from nanobot_transcript.cli.terminal.options import warn_of_record
from nanobot_transcript.settings import load_settings


def test_a_record_that_cannot_be_read_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "record").write_text("no folder", encoding="utf-8")
    file = tmp_path / "my.yaml"
    file.write_text(f"store: {{dir: {tmp_path / 'record'}}}", encoding="utf-8")
    warn_of_record(load_settings(file, look_in_cwd=False))
    (told,) = caplog.records
    assert told.levelname == "WARNING"
    assert str(tmp_path / "record") in told.getMessage()
