"""The file of the outbox: private, healed or refused, never trusted."""

import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from support.waiting import PATIENCE
from unit.outbox.conftest import in_a_file

from nanobot_transcript import StoreError, StoreUnavailableError, UnsafePathError
from nanobot_transcript.outbox import Action, Outbox
from nanobot_transcript.outbox.schema import SCHEMA
from nanobot_transcript.sql.contract import Schema
from nanobot_transcript.sql.sqlite import SqliteDatabase

KEY = "feishu:oc_1"
MakeOutbox = Callable[..., Outbox]


def database(base_dir: Path) -> Path:
    return base_dir / ".state" / "outbox" / "outbox.db"


def changed(base_dir: Path, statement: str) -> None:
    """Another program's hand in the file."""
    connection = sqlite3.connect(database(base_dir))
    connection.executescript(statement)
    connection.close()


@in_a_file
def test_folders_and_files_are_private(outbox: Outbox, base_dir: Path) -> None:
    old = os.umask(0)
    try:
        outbox.post(KEY, "text")
    finally:
        os.umask(old)
    paths = [base_dir, *(base_dir / ".state").rglob("*")]
    assert len([path for path in paths if path.name.startswith("outbox.db")]) == 3
    for path in paths:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_a_folder_may_be_named_from_where_one_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Outbox("here") as outbox:
        outbox.post("feishu:oc_1", "hello")
    assert (tmp_path / "here" / ".state" / "locks" / "outbox.lock").exists()
    assert {path.name for path in tmp_path.iterdir()} == {"here"}


@in_a_file
@pytest.mark.parametrize("body", [b"garbage", b"x" * 100_000, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_file_that_is_no_database_is_kept_aside(
    make_outbox: MakeOutbox, base_dir: Path, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path = database(base_dir)
    path.parent.mkdir(parents=True)
    path.write_bytes(body)
    outbox = make_outbox()
    post_id = outbox.post(KEY, "text")
    assert outbox.status(post_id).state == "queued"
    assert path.with_name("outbox.db.broken-1").read_bytes() == body
    assert "kept as" in caplog.text


@in_a_file
def test_a_file_that_is_damaged_while_in_use_is_kept_aside(
    outbox: Outbox, make_outbox: MakeOutbox, base_dir: Path
) -> None:
    outbox.post(KEY, "text")
    other = make_outbox()
    other.waiting()
    damage = "import sys; file = open(sys.argv[1], 'r+b'); file.truncate(0); file.write(b'\\xff' * 20000); file.close()"
    for side in ("", "-wal"):  # by another process: to open and close the file here would drop SQLite's own locks
        subprocess.run([sys.executable, "-c", damage, f"{database(base_dir)}{side}"], check=True)
    with make_outbox() as third:
        third.waiting()
    assert database(base_dir).with_name("outbox.db.broken-1").exists()
    post_id = outbox.post(KEY, "again")
    assert [one.status(post_id).state for one in (outbox, other)] == ["queued"] * 2


@in_a_file
def test_a_database_that_lost_its_tables_is_kept_aside(outbox: Outbox, base_dir: Path) -> None:
    outbox.post(KEY, "text")
    outbox.close()
    changed(base_dir, "PRAGMA writable_schema=1; DELETE FROM sqlite_master; PRAGMA writable_schema=0; VACUUM;")
    assert outbox.status(outbox.post(KEY, "again")).state == "queued"


@in_a_file
def test_a_file_of_an_older_version_goes_on_where_it_was(base_dir: Path, make_outbox: MakeOutbox) -> None:
    path = database(base_dir)
    older = SqliteDatabase(path, path.with_name("lock"), Schema(SCHEMA.migrations[:2]), busy=5)
    insert = (
        "INSERT INTO jobs (id, digest, session_key, content, wants_answers, attempts, created, expires, holder,"
        " lease_until, uncertain_since) VALUES (?, 'x', ?, 'text', 1, 1, 1, 1e12, 'killed', ?, ?)"
    )
    clock = 1_763_600_000.0
    older.write(lambda db: db.execute(insert, ("under way", KEY, clock - 1, clock - 61)))
    older.write(lambda db: db.execute("INSERT INTO places VALUES ('om_1', 'under way')"))
    older.close()
    outbox = make_outbox()
    assert not outbox.offer_action(Action("om_2", {"ok": 1}, "on_ada"))
    assert outbox.offer_action(Action("om_1", {"ok": 1}, "on_ada"))
    job = outbox.take("one", [KEY])
    assert job is not None
    outbox.sent(job, "om_2")
    assert [answer.message_id for answer in outbox.answers("under way")] == ["om_1", "om_2"]


@in_a_file
def test_what_came_early_in_an_older_version_is_adopted_by_its_post(base_dir: Path, make_outbox: MakeOutbox) -> None:
    path = database(base_dir)
    older = SqliteDatabase(path, path.with_name("lock"), Schema(SCHEMA.migrations[:3]), busy=5)
    insert = (
        "INSERT INTO jobs (id, digest, session_key, content, wants_answers, attempts, created, expires, holder,"
        " lease_until, uncertain_since) VALUES ('a post', 'x', ?, 'text', 1, 1, 1, 1e12, 'killed', ?, ?)"
    )
    clock = 1_763_600_000.0
    older.write(lambda db: db.execute(insert, (KEY, clock - 1, clock - 61)))
    early = (
        "INSERT INTO early VALUES (1, ?, 'message om_2', 'reply', 'om_1', NULL, NULL, 'om_2', 'on_ada', '', 1, '{}')"
    )
    older.write(lambda db: db.execute(early, (KEY,)))
    older.close()
    outbox = make_outbox()
    job = outbox.take("one", [KEY])
    assert job is not None
    outbox.sent(job, "om_1")
    assert [answer.message_id for answer in outbox.answers("a post")] == ["om_2"]


@in_a_file
def test_a_newer_database_is_left_untouched(outbox: Outbox, base_dir: Path) -> None:
    outbox.post(KEY, "text")
    outbox.close()
    changed(base_dir, "PRAGMA user_version=99")
    before = database(base_dir).read_bytes()
    for call in (lambda: outbox.post(KEY, "more"), outbox.waiting):
        with pytest.raises(StoreUnavailableError, match="newer version") as caught:
            call()
        assert caught.value.hint
    assert database(base_dir).read_bytes() == before


@in_a_file
def test_a_database_that_was_removed_is_made_again(outbox: Outbox, base_dir: Path) -> None:
    outbox.post(KEY, "text")
    for path in database(base_dir).parent.iterdir():
        path.unlink()
    assert outbox.waiting() == []
    assert outbox.status(outbox.post(KEY, "again")).state == "queued"


@in_a_file
@pytest.mark.parametrize("what", ["folder", "outbox.db", "outbox.db-wal"])
def test_a_link_in_the_way_is_refused(outbox: Outbox, base_dir: Path, tmp_path: Path, what: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    path = database(base_dir).parent
    if what == "folder":
        elsewhere.mkdir()
        path.parent.mkdir(parents=True)
    else:
        elsewhere.write_text("mine")
        path.mkdir(parents=True)
        path = path / what
    path.symlink_to(elsewhere)
    for call in (lambda: outbox.post(KEY, "text"), outbox.waiting):
        with pytest.raises(UnsafePathError):
            call()
    assert elsewhere.is_dir() or elsewhere.read_text() == "mine"


def test_a_place_that_cannot_be_written_is_a_typed_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError) as caught:
        Outbox(tmp_path / "file" / "store").post(KEY, "text")
    assert caught.value.hint


def test_somebody_who_holds_the_database_too_long_is_a_typed_error(base_dir: Path) -> None:
    outbox = Outbox(base_dir, busy=0.01)
    outbox.post(KEY, "text")
    holder = sqlite3.connect(database(base_dir), isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError) as caught:
        outbox.post(KEY, "more")
    assert caught.value.code == "store_busy"
    holder.execute("ROLLBACK")
    holder.close()
    assert outbox.waiting() == [KEY]
    outbox.close()


def test_threads_share_an_outbox(outbox: Outbox) -> None:
    ids: list[str] = []

    def work(number: int) -> None:
        ids.extend(outbox.post(KEY, f"{number}", idempotency_key=f"{at}") for at in range(10))

    threads = [threading.Thread(target=work, args=(1,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(ids) == 40
    assert len(set(ids)) == 10


def test_a_forked_child_uses_a_connection_of_its_own(outbox: Outbox) -> None:
    outbox.post(KEY, "parent")
    child = os.fork()
    if child == 0:
        try:
            outbox.post(KEY, "child", idempotency_key="child")
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    job = outbox.take("one", [KEY])
    assert job is not None
    outbox.sent(job, "om_1")
    following = outbox.take("one", [KEY])
    assert following is not None
    assert following.content == "child"
