"""What may be wrong with a place, and how a move says so."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from support.moves import KEY, chat_of, outcomes, say, shown, texts, write
from support.places import open_record

from nanobot_transcript import ConfigError, GroupTranscriptStore, StoreBusyError, StoreUnavailableError
from nanobot_transcript.record import Record
from nanobot_transcript.record.postgres.record import PostgresRecord
from nanobot_transcript.record.spool.folder import Folder
from nanobot_transcript.record.transfer.carrier import Carrier
from nanobot_transcript.record.transfer.move import check, move, place_of
from nanobot_transcript.store import arguments

OTHER = "feishu:oc_other"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Record]:
    with Record.open(tmp_path / "folder", segment_bytes=2000) as record:
        yield record


@pytest.fixture
def database(postgres_place: str) -> Iterator[Record]:
    with open_record(postgres_place) as record:
        yield record


def test_the_same_place_twice(folder: Record, database: Record, tmp_path: Path) -> None:
    say(folder.store, "hello", "om_1")
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    for path in ("folder", "link", "folder/../folder"):
        with Record.open(tmp_path / path) as same, pytest.raises(ConfigError, match="same place twice"):
            move(folder, same)
    say(database.store, "hello", "om_1")
    with pytest.raises(ConfigError, match="same place twice"):
        move(database, database)


def test_nothing_to_move_from(folder: Record, database: Record) -> None:
    for source, target in ((folder, database), (database, folder)):
        with pytest.raises(StoreUnavailableError):
            move(source, target)


def test_a_newer_version_has_written_the_database(folder: Record, database: Record, postgres_place: str) -> None:
    say(folder.store, "hello", "om_1")
    say(database.store, "hello", "om_1")
    url, _, schema = postgres_place.partition("#")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"UPDATE {schema}.versions SET version = 99 WHERE part = 'record'".encode())
    for source, target in ((folder, database), (database, folder)):
        with pytest.raises(StoreUnavailableError, match="newer version"):
            move(source, target)


def test_no_rights_in_the_database(folder: Record, postgres_place: str) -> None:
    say(folder.store, "hello", "om_1")
    url, _, schema = postgres_place.partition("#")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {schema}_guest LOGIN".encode())
        guest = url.replace("postgres@", f"{schema}_guest@")
        with Record.open(guest, schema=schema) as target, pytest.raises(StoreUnavailableError) as refused:
            move(folder, target)
        assert "GRANT CREATE ON DATABASE" in refused.value.hint
        connection.execute(f"DROP ROLE {schema}_guest".encode())


def test_no_rights_in_the_folder(database: Record, tmp_path: Path) -> None:
    say(database.store, "hello", "om_1")
    (tmp_path / "file").write_text("not a folder")
    with Record.open(tmp_path / "file") as target, pytest.raises(StoreUnavailableError):
        move(database, target)


def test_two_at_once_into_one_folder(folder: Record, database: Record) -> None:
    say(database.store, "hello", "om_1")
    held = place_of(folder, is_target=True)
    with pytest.raises(StoreBusyError, match="moving a record"):
        move(database, folder)
    held.close()
    assert move(database, folder).is_fine


def test_two_at_once_into_one_database(folder: Record, database: Record, tmp_path: Path) -> None:
    """One has moved on what the other one has read."""
    say(folder.store, "one", "om_1")
    move(folder, database)
    say(folder.store, "two")
    waypoint = place_of(database, is_target=True).waypoints(place_of(folder, is_target=False).identity)[KEY]
    move(folder, database)
    late = Carrier(place_of(folder, is_target=False), place_of(database, is_target=True), lambda lines, size: None)
    (standing,) = place_of(folder, is_target=False).transcripts.standings()
    report, _ = late.carry(standing, waypoint)
    assert report.outcome == "equal"
    assert texts(database) == ["one", "two"]


def test_what_no_reader_is_shown_is_left_out_and_counted(folder: Record, database: Record, tmp_path: Path) -> None:
    say(folder.store, "first", "om_1")
    (path,) = (tmp_path / "folder").glob("*.jsonl")
    with path.open("ab") as file:
        file.write(b'{"role":"user","content":"ha\n[1,2]\nsomething else\n\n   \n{"no":"entry"}\n\xff\xfe\n')
        file.write(b'{"content": "spelled by others \\u4f1a", "sender": "x", "ts": NaN}\n')
        file.write(b'{"role":"user","content":"first","sender":"on_ada","message_id":"om_1","ts":1}\n')
    say(folder.store, "last", "om_2")
    with path.open("ab") as file:
        file.write(b'{"role":"user","content":"half a li')
    report = move(folder, database)
    assert report.is_fine
    assert dict(chat_of(report).left_out) == {"torn": 1, "foreign": 4, "copy": 1}
    assert texts(database) == texts(folder) == ["first", "spelled by others 会", "last"]
    say(folder.store, "after the half line", "om_3")
    assert move(folder, database).is_fine
    assert shown(database) == shown(folder)
    assert move(folder, database).is_fine
    assert [hit.entry["content"] for hit in database.store.search("others 会")] == ["spelled by others 会"]


def test_a_chat_that_cannot_be_read_does_not_hold_up_the_others(
    folder: Record, database: Record, tmp_path: Path
) -> None:
    say(folder.store, "hello", "om_1")
    say(folder.store, "elsewhere", "om_1", key=OTHER)
    (path,) = (tmp_path / "folder").glob("*team*.jsonl")
    shutil.move(path, tmp_path / "away")
    path.symlink_to(tmp_path / "away")
    report = move(folder, database)
    assert (report.is_fine, outcomes(report)) == (False, {KEY: "failed", OTHER: "equal"})
    assert "is not a plain file" in chat_of(report).problem
    path.unlink()
    shutil.move(tmp_path / "away", path)
    assert move(folder, database).is_fine


def test_files_that_have_lost_their_chats_name_are_told_of(folder: Record, database: Record, tmp_path: Path) -> None:
    say(folder.store, "hello", "om_1", key="a chat/with a name that nobody guesses")
    shutil.rmtree(tmp_path / "folder" / ".state")
    (path,) = (tmp_path / "folder").glob("*.jsonl")
    report = move(folder, database)
    assert (report.is_fine, report.nameless, report.chats) == (False, [str(path)], [])


def test_a_record_whose_hidden_folder_is_gone(folder: Record, database: Record, tmp_path: Path) -> None:
    for number in range(60):
        say(folder.store, f"message {number} " + "x" * 100, f"om_{number}")
    folder.close()
    shutil.rmtree(tmp_path / "folder" / ".state")
    with Record.open(tmp_path / "folder") as again:
        assert move(again, database).is_fine
        assert shown(database) == shown(again)
        say(again.store, "later", "om_later")
        assert move(again, database).is_fine
        assert shown(database) == shown(again)


def test_a_folder_that_may_only_be_read(folder: Record, database: Record, tmp_path: Path) -> None:
    say(folder.store, "hello", "om_1")
    folder.close()
    paths = [tmp_path / "folder", *(tmp_path / "folder").rglob("*")]
    before = {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in paths}
    assert move(folder, database).is_fine
    assert check(folder, database).is_fine
    assert {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in paths} == before


def test_a_check_makes_nothing(folder: Record, database: Record, tmp_path: Path, postgres_place: str) -> None:
    say(folder.store, "hello", "om_1")
    report = check(folder, database)
    assert (report.is_fine, outcomes(report), chat_of(report).missing) == (False, {KEY: "missing"}, 1)
    url, _, schema = postgres_place.partition("#")
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT count(*) FROM pg_namespace WHERE nspname = %s", (schema,)).fetchone()
        assert found == (0,)
    say(database.store, "hello", "om_1")
    with Record.open(tmp_path / "new") as new:
        check(database, new)
    assert not (tmp_path / "new").exists()


def test_a_folder_that_was_copied_goes_on_from_where_the_first_one_was(
    folder: Record, database: Record, tmp_path: Path
) -> None:
    for number in range(40):
        say(folder.store, f"message {number} " + "x" * 100, f"om_{number}" if number % 4 else None)
    move(folder, database)
    folder.close()
    shutil.copytree(tmp_path / "folder", tmp_path / "copy")
    with Record.open(tmp_path / "copy") as copy:
        say(copy.store, "later")
        report = move(copy, database)
        assert (outcomes(report), chat_of(report).moved) == ({KEY: "equal"}, 1)
        assert shown(database) == shown(copy)


def test_what_was_moved_back_meanwhile_is_not_counted_again(folder: Record, database: Record) -> None:
    for number in range(4):
        say(folder.store, f"message {number}", f"om_{number}")
    move(folder, database)
    say(database.store, "later", "om_later")
    assert chat_of(move(database, folder)).moved == 1
    report = move(folder, database)
    assert (outcomes(report), chat_of(report).moved, chat_of(report).lines) == ({KEY: "equal"}, 0, 5)
    say(database.store, "later still", "om_still")
    assert chat_of(move(database, folder)).moved == 1
    say(folder.store, "at last", "om_last")
    report = move(folder, database)
    assert (outcomes(report), chat_of(report).moved, chat_of(report).lines) == ({KEY: "equal"}, 1, 7)


def test_what_was_there_already_is_not_counted_as_moved(folder: Record, database: Record) -> None:
    say(folder.store, "first", "om_1")
    move(folder, database)
    say(database.store, "there", "om_2")
    move(database, folder)
    say(database.store, "there as well", "om_3")
    report = move(folder, database)
    assert (report.is_fine, chat_of(report).moved) == (True, 0)
    say(folder.store, "here", "om_4")
    assert chat_of(move(folder, database)).moved == 1
    assert chat_of(move(database, folder)).moved == 1
    assert sorted(texts(folder)) == sorted(texts(database))


def test_what_was_moved_and_is_gone_is_told_from_what_is_to_be_moved(
    folder: Record, database: Record, postgres_place: str
) -> None:
    for number in range(4):
        say(folder.store, f"message {number}", f"om_{number}")
    move(folder, database)
    say(folder.store, "new", "om_new")
    assert outcomes(check(folder, database)) == {KEY: "missing"}
    move(folder, database)
    url, _, schema = postgres_place.partition("#")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DELETE FROM {schema}.lines WHERE seq = 2".encode())
    report = check(folder, database)
    assert (outcomes(report), chat_of(report).missing, report.is_fine) == ({KEY: "lost"}, 1, False)


def test_a_folder_whose_transcript_was_replaced(folder: Record, database: Record, tmp_path: Path) -> None:
    for number in range(4):
        say(folder.store, f"message {number}", f"om_{number}")
    move(folder, database)
    folder.close()
    shutil.rmtree(tmp_path / "folder")
    for number in range(9):
        say(folder.store, f"another {number}", f"om_x{number}")
    assert outcomes(move(folder, database)) == {KEY: "other"}
    assert texts(database) == [f"message {number}" for number in range(4)]


def test_the_server_knows_at_once_how_much_there_is(tmp_path: Path, database: Record, postgres_place: str) -> None:
    """Else it reads all of a chat for a page of it, until it has counted by itself."""
    lines = [arguments.entry("user", f"message {number}", "on_ada", f"om_{number}", 1, {}) for number in range(15_000)]
    with Record.open(tmp_path / "long") as folder:
        write(folder, KEY, lines)
        move(folder, database)
    url, _, schema = postgres_place.partition("#")
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT reltuples FROM pg_class WHERE oid = %s::regclass", (f"{schema}.lines",))
        assert (found.fetchone() or (0,))[0] >= 10_000


def test_what_waits_in_a_spool_is_told_of(folder: Record, database: Record, tmp_path: Path) -> None:
    say(database.store, "hello", "om_1")
    assert isinstance(database, PostgresRecord)
    spool = tmp_path / "spool"
    for address, ids in ((database.engine.place.address, ("om_2", "om_3")), ("another", ("om_4",))):
        kept = Folder(spool / ids[0].removeprefix("om_") / "000001", address=address)
        kept.begin()
        for known in ids:
            say(GroupTranscriptStore(backend=kept.lines), "waits", known)
        kept.close()
    report = move(database, folder, spool_dir=spool)
    (part,) = [one for one in report.parts if one.part == "spool"]
    assert (report.is_fine, part.count, part.lacking) == (False, 2, 2)
    assert move(database, folder, spool_dir=tmp_path / "none").is_fine
