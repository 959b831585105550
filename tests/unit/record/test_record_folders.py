"""Where a record lies nobody else may look, whichever part of it is used first."""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from nanobot_transcript.errors import StoreError
from nanobot_transcript.record import Record
from nanobot_transcript.relevance import Decision, Reason, Stage

KEY = "feishu:oc_1"
FIRST: dict[str, Callable[[Record], object]] = {
    "store": lambda record: record.store.append(KEY, "user", "hello", "on_ada", "om_1"),
    "members": lambda record: record.members.remember_person("on_ada", "Ada"),
    "leases": lambda record: record.leases.acquire("a", "b", 60),
    "budgets": lambda record: record.budgets.take("a", limit=1, window=60),
    "outbox": lambda record: record.outbox.post(KEY, "hello"),
    "decisions": lambda record: record.decisions.write(
        KEY, Decision(True, Reason.NAMED, 1.0, Stage.CERTAIN, "Alpha", "om_1")
    ),
    "marks": lambda record: record.marks.put("session", {"cursor": "c1"}, "a"),
    "signals": lambda record: record.signals.tell("a"),
    "processes": lambda record: record.processes.join(),
}


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.parametrize("part", FIRST)
def test_every_folder_is_for_its_owner_alone(tmp_path: Path, part: str) -> None:
    base = tmp_path / "new" / "transcripts"
    record = Record.open(base)
    FIRST[part](record)
    record.close()
    folders = [base, *(path for path in base.rglob("*") if path.is_dir())]
    assert len(folders) > 1
    assert {oct(path.stat().st_mode & 0o777) for path in folders} == {"0o700"}


@pytest.mark.parametrize("part", FIRST)
def test_no_part_goes_where_a_link_leads(tmp_path: Path, part: str) -> None:
    base, elsewhere = tmp_path / "transcripts", tmp_path / "elsewhere"
    for folder in (base, elsewhere):
        folder.mkdir()
    (base / ".state").symlink_to(elsewhere)
    record = Record.open(base)
    with suppress(StoreError):
        FIRST[part](record)
    record.close()
    assert list(elsewhere.iterdir()) == []
