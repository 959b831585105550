"""What the store takes for its folder."""

from pathlib import Path

import pytest

from nanobot_transcript import ConfigError, GroupTranscriptStore


@pytest.mark.parametrize("kind", [str, Path])
def test_the_address_of_a_database_is_no_folder(kind: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be a folder with the password in its name."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="no folder") as refused:
        GroupTranscriptStore(kind("postgresql://bot:hunter2@127.0.0.1/db"))
    assert "hunter2" not in f"{refused.value}{refused.value.hint}"
    assert list(tmp_path.iterdir()) == []
