"""``import`` into a database: a message that is there already is told apart from a new one."""

import json
from pathlib import Path

import pytest
from support.places import open_record

from nanobot_transcript.cli import main

TEAM = "feishu:oc_team"


@pytest.fixture(autouse=True)
def _database(postgres_place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings name a database with nothing in it."""
    url, _, schema = postgres_place.partition("#")
    for name, value in (("URL", url), ("SCHEMA", schema), ("SPOOL_DIR", str(tmp_path / "spool"))):
        monkeypatch.setenv(f"NANOBOT_TRANSCRIPT_RECORD__{name}", value)


def test_what_the_record_has_is_counted_as_known(
    tmp_path: Path, postgres_place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.txt"
    counted = []
    for said in ("Ada: hello\n", "Ada: hello\nBo: hi\n"):
        log.write_text(said, encoding="utf-8")
        assert main(["import", str(log), "--chat", TEAM, "--json"]) == 0
        (report,) = json.loads(capsys.readouterr().out)["imports"]
        counted.append((report["written"], report["known"]))
    assert counted == [(1, 0), (1, 1)]
    with open_record(postgres_place) as record:
        assert len(record.store.get_recent(TEAM, 10)) == 2
