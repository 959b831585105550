"""Backup and restore with the very commands of the documentation: what was backed up is there, and all go on."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.places import open_record
from support.postgres import MISSING, Cluster, programs
from support.spools import say, until_empty
from support.transcripts import drain

from nanobot_transcript.record import Record

DOCS = Path(__file__).resolve().parents[3] / "docs"
KEY = "feishu:oc_1"


class Kept:
    """A record with something of everything, which is backed up; and what is written behind that, and so is lost."""

    def __init__(self, record: Record, folder: Path, url: str) -> None:
        say(record.store, *(f"om_{number}" for number in range(30)))
        self.early = record.store.read(KEY, None, 10).cursor
        record.store.edit(KEY, "om_3", "other words", "on_ada")
        record.store.recall(KEY, "om_4")
        record.members.remember_person("on_ada", "Ada")
        assert record.members.flush(60)
        record.marks.put("watermark", {"at": 7}, "Alpha")
        grant = record.leases.acquire("claim", "Alpha#1", 3600)
        assert grant is not None
        self.token = grant.token
        self.post = record.outbox.post(KEY, "hello")
        self.entries = list(record.store.scan(KEY))
        (self.backup, *self.restore) = commands("en")
        run(self.backup, folder, url, url)
        say(record.store, *(f"om_{number}" for number in range(30, 40)))
        self.late = record.store.end(KEY)


def commands(language: str) -> list[str]:
    """The lines that the documentation shows."""
    page = (DOCS / language / "postgres.md").read_text(encoding="utf-8")
    return re.findall(r"^\$ ((?:pg_|psql).*)$", page, re.MULTILINE)


def run(command: str, folder: Path, url: str, other: str) -> None:
    found = programs()
    assert found is not None
    told = {"URL": url, "OTHER_URL": other, "PATH": f"{found}:{os.environ['PATH']}"}
    subprocess.run(command, shell=True, check=True, cwd=folder, env=os.environ | told, stdout=subprocess.DEVNULL)


@pytest.fixture
def urls(cluster: Cluster) -> Iterator[list[str]]:
    """Databases in which nothing is."""
    if programs() is None:
        pytest.skip(MISSING)
    names = ["kept", "restored"]
    cluster.execute(*(f"CREATE DATABASE {name}" for name in names))
    yield [cluster.url.removesuffix("postgres") + name for name in names]
    cluster.execute(*(f"DROP DATABASE {name} WITH (FORCE)" for name in names))


def test_what_was_backed_up_is_restored_and_all_go_on(urls: list[str], tmp_path: Path) -> None:
    url, other = urls
    with open_record(f"{url}#nanobot") as record:
        kept = Kept(record, tmp_path, url)
    # Nobody reaches it any more: this is handed on to the restored one.
    with open_record(f"{url}#nanobot", spool_dir=tmp_path / "spool") as record:
        say(record.store, "om_handed_on", key="feishu:oc_elsewhere")
        until_empty(tmp_path / "spool")
    nowhere = f"{url.replace('postgres@', 'nobody@')}#nanobot"  # who is refused there
    with open_record(nowhere, spool_dir=tmp_path / "spool") as record:
        say(record.store, "om_waits")
    for command in kept.restore:
        run(command, tmp_path, url, other)
    with open_record(f"{other}#nanobot", spool_dir=tmp_path / "spool") as record:
        store = record.store
        assert say(store, "om_new") == [True]
        until_empty(tmp_path / "spool")
        entries = drain(store, KEY).entries
        assert entries[: len(kept.entries)] == kept.entries
        assert sorted(str(entry["message_id"]) for entry in entries[len(kept.entries) :]) == ["om_new", "om_waits"]
        report = store.verify(KEY)
        assert (report.duplicates, report.entries) == (0, 32)
        assert record.members.name_of("on_ada") == "Ada"
        assert record.marks.get("watermark", "Alpha") == {"at": 7}
        assert record.outbox.status(kept.post).state == "queued"
        assert record.leases.acquire("claim", "Bravo#2", 60) is None
        later = record.leases.acquire("another", "Bravo#2", 60)
        assert later is not None
        assert later.token > kept.token
        assert record.processes.alive(record.processes.join())
        assert not [found for found in record.check() if found.severity == "error"]
        # Who had read to somewhere goes on there, also where that is lost.
        assert len(drain(store, KEY, kept.early).entries) == 22
        assert len(drain(store, KEY, kept.late).entries) == 2
        assert store.read_back(KEY, kept.late, 100).entries == kept.entries
        store.maintain()
        store.purge(KEY)
        assert store.chats() == []


def test_without_the_last_command_who_had_read_what_is_lost_is_told_that(urls: list[str], tmp_path: Path) -> None:
    url, other = urls
    with open_record(f"{url}#nanobot") as record:
        kept = Kept(record, tmp_path, url)
    run(kept.restore[0], tmp_path, url, other)
    with open_record(f"{other}#nanobot") as record:
        assert record.store.changes(KEY, kept.late).erased
        assert not record.store.changes(KEY, kept.early).erased


def test_both_languages_show_the_same_commands() -> None:
    assert commands("en") == commands("zh")
    assert len(commands("en")) == 3
