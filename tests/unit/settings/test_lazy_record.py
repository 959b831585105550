"""Where the record is, when a part of its address is not known."""

from pathlib import Path

import pytest

from nanobot_transcript.errors import ConfigError
from nanobot_transcript.settings import load_settings
from nanobot_transcript.settings.lazy_record import Opening


def test_an_address_with_a_variable_that_is_not_set_leads_into_no_other_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DB_PASSWORD", raising=False)
    file = tmp_path / "transcript.yaml"
    file.write_text("record: {url: 'postgresql://nanobot:${DB_PASSWORD}@127.0.0.1/nanobot'}\n", encoding="utf-8")
    settings = load_settings(file, later=True)
    for use in (settings.open_record, settings.open_database, lambda: Opening(settings).shelf(tmp_path)):
        with pytest.raises(ConfigError, match="DB_PASSWORD"):
            use()


def test_a_record_that_several_share_is_closed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing one whose server stands still takes seconds."""
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_STORE__DIR", str(tmp_path))
    opening, closed = Opening(load_settings()), list[str]()
    monkeypatch.setattr(opening.record, "close", lambda: closed.append("closed"))
    for _ in range(5):
        opening.close()
    assert closed == ["closed"]
