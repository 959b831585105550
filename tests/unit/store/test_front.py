"""What the store takes for its folder."""

from pathlib import Path
from typing import Any

import pytest

from nanobot_transcript import ConfigError, GroupTranscriptStore
from nanobot_transcript.outbox.outbox import Outbox
from nanobot_transcript.record import Record


@pytest.mark.parametrize("scheme", ["mysql", "sqlite", "postgresql+psycopg", "https"])
@pytest.mark.parametrize("kind", [str, Path])
@pytest.mark.parametrize("opened", [GroupTranscriptStore, Record.open, Outbox])
def test_what_looks_like_an_address_is_no_folder(
    opened: Any, kind: type, scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"must begin with postgresql://") as refused:
        opened(kind(f"{scheme}://bot:hunter2@127.0.0.1/db"))
    assert "hunter2" not in f"{refused.value}{refused.value.hint}"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("address", ["Postgresql://bot:hunter2@127.0.0.1/db", "POSTGRES://bot:hunter2@127.0.0.1/db"])
def test_the_scheme_of_an_address_may_be_written_in_capitals(address: str) -> None:
    with Record.open(address) as record:
        assert record.place == "postgresql://127.0.0.1/db (schema nanobot)"
    for other in (GroupTranscriptStore, Outbox):
        with pytest.raises(ConfigError, match="no folder"):
            other(address)


@pytest.mark.parametrize("name", ["a:b", "c:/d", "feishu:oc"])
def test_a_folder_may_have_a_colon_in_its_name(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert str(GroupTranscriptStore(name).base_dir) == name


@pytest.mark.parametrize("kind", [str, Path])
def test_the_address_of_a_database_is_no_folder(kind: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be a folder with the password in its name."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="no folder") as refused:
        GroupTranscriptStore(kind("postgresql://bot:hunter2@127.0.0.1/db"))
    assert "hunter2" not in f"{refused.value}{refused.value.hint}"
    assert list(tmp_path.iterdir()) == []
