"""``doctor`` where the record is in a database: what is wrong is told once, beside everything else that it looks at."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nanobot_transcript.cli import main

AWAY = "postgresql://bot:hunter2@127.0.0.1:1/db"
Finding = dict[str, Any]


Wrong = Callable[..., Finding]


@pytest.fixture
def wrong(capsys: pytest.CaptureFixture[str]) -> Wrong:
    """``wrong()``: the one error that doctor finds; it has looked at the rest all the same."""

    def found(*arguments: str) -> Finding:
        assert main(["doctor", "--json", *arguments]) == 1
        findings = json.loads(capsys.readouterr().out)["findings"]
        assert {"settings", "mailboxes", "hub", "version", "lark-oapi"} <= {each["check"] for each in findings}
        (error,) = (each for each in findings if each["severity"] == "error")
        return error

    return found


def test_a_database_that_cannot_be_reached_is_told_once(wrong: Wrong, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_RECORD__URL", AWAY)
    error = wrong()
    assert error["check"] == "store"
    assert "Connection refused" in error["message"]
    assert "host and port in record.url" in error["fix"]
    assert "doctor" not in error["fix"]


def test_a_driver_that_is_not_installed(wrong: Wrong, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_RECORD__URL", AWAY)
    monkeypatch.setitem(sys.modules, "nanobot_transcript.record.postgres.record", None)
    error = wrong()
    assert (error["check"], "driver that is not installed" in error["message"]) == ("store", True)
    assert "from a clone: pip install '.[postgres]'" in error["fix"]


def test_a_password_that_is_not_set(
    wrong: Wrong, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("DB_PASSWORD", raising=False)
    file = tmp_path / "my.yaml"
    file.write_text("record: {url: 'postgresql://bot:${DB_PASSWORD}@127.0.0.1:1/db'}\n", encoding="utf-8")
    error = wrong("-c", str(file))
    assert "record.url" in error["message"]
    assert "Set the environment variable DB_PASSWORD" in error["fix"]
    for command in (("stats",), ("migrate", "--to", "postgres"), ("migrate", "--to", "files"), ("verify",)):
        assert main([*command, "--config", str(file)]) == 2
        assert capsys.readouterr().err.splitlines()[-1].startswith("Hint: Set the environment variable DB_PASSWORD")


def test_an_address_with_a_password_as_it_is(wrong: Wrong, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_RECORD__URL", "postgresql://bot:hun/ter@2@127.0.0.1:1/db")
    error = wrong()
    assert error["message"] == (
        "record.url (environment NANOBOT_TRANSCRIPT_RECORD__URL) cannot be understood as the address of a database."
    )
    assert "must be percent-encoded" in error["fix"]
    assert "hun" not in error["message"] + error["fix"]


def test_what_is_said_of_mail_is_said_of_the_database(
    postgres_place: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    url, _, schema = postgres_place.partition("#")
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_RECORD__URL", url)
    monkeypatch.setenv("NANOBOT_TRANSCRIPT_RECORD__SCHEMA", schema)
    main(["doctor", "--json"])
    findings = json.loads(capsys.readouterr().out)["findings"]
    (mail,) = (each["message"] for each in findings if each["check"] == "mail")
    assert mail.startswith("There is no mail in postgresql://127.0.0.1")
