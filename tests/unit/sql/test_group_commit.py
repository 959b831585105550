"""Works that share a transaction."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from nanobot_transcript.errors import QueueFullError, StoreUnavailableError
from nanobot_transcript.sql.contract import Database, Schema, Sql
from nanobot_transcript.sql.group_commit import GroupCommit, OneByOneError
from nanobot_transcript.sql.sqlite import SqliteDatabase

SCHEMA = Schema(migrations=(("CREATE TABLE kept (word TEXT UNIQUE)",),))


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = SqliteDatabase(tmp_path / "kept.sqlite3", tmp_path / ".lock", SCHEMA, busy=5)
    yield made
    made.close()


def keep(word: str) -> Callable[[Sql], str]:
    def work(connection: Sql) -> str:
        connection.execute("INSERT INTO kept VALUES (?)", (word,))
        return word

    return work


def kept(database: Database) -> list[str]:
    return database.read(lambda connection: [row["word"] for row in connection.execute("SELECT word FROM kept")], [])


async def test_a_work_that_fails_takes_no_other_of_its_transaction_with_it(database: Database) -> None:
    def half(connection: Sql) -> None:
        connection.execute("INSERT INTO kept VALUES ('half')")
        connection.execute("INSERT INTO kept VALUES ('a')")

    commits = GroupCommit(database)
    one, (two, three) = await asyncio.gather(commits.write(keep("a")), commits.write_all([half, keep("b")]))
    assert (one, three) == ("a", "b")
    assert isinstance(two, sqlite3.IntegrityError)
    with pytest.raises(sqlite3.IntegrityError):
        await commits.write(keep("b"))
    assert kept(database) == ["a", "b"]


def twice(connection: Sql) -> None:
    connection.execute("INSERT INTO kept VALUES ('other')")
    connection.execute("INSERT INTO kept VALUES ('other')")


def too_large(connection: Sql) -> None:
    connection.execute("INSERT INTO kept VALUES (?)", (2**70,))


def half_a_character(connection: Sql) -> None:
    connection.execute("INSERT INTO kept VALUES (?)", ("\ud83d",))


def full(connection: Sql) -> None:
    connection.execute("INSERT INTO kept VALUES ('full')")
    raise QueueFullError("No more.", hint="Wait.")


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        (twice, sqlite3.IntegrityError),
        (too_large, OverflowError),
        (half_a_character, UnicodeEncodeError),
        (full, QueueFullError),
    ],
)
async def test_a_work_that_cannot_be_done_fails_alone(
    database: Database, wrong: Callable[[Sql], None], kind: type[Exception]
) -> None:
    commits = GroupCommit(database)
    works = (keep("one"), wrong, keep("two"))
    outcomes = await asyncio.gather(*(commits.write(work) for work in works), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [str, kind, str]
    assert kept(database) == ["one", "two"]


async def test_what_is_kept_is_told_in_its_order_before_anybody_goes_on_and_whoever_has_left(
    database: Database,
) -> None:
    commits, told = GroupCommit(database), list[Any]()

    async def write(word: str) -> None:
        await commits.write(keep(word), told.append)
        told.append(f"{word} returned")

    writing = [asyncio.create_task(write(word)) for word in ("a", "b", "c")]
    await asyncio.sleep(0)
    writing[1].cancel()
    await asyncio.gather(*writing, return_exceptions=True)
    assert told == [["a"], ["b"], ["c"], "a returned", "c returned"]
    assert kept(database) == ["a", "b", "c"]


async def test_a_teller_that_fails_hinders_nobody(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    def fail(_outcomes: Sequence[Any]) -> None:
        raise RuntimeError("no")

    commits = GroupCommit(database)
    assert await asyncio.gather(commits.write(keep("a"), fail), commits.write(keep("b"))) == ["a", "b"]
    assert "callback after a commit failed" in caplog.text


async def test_a_transaction_that_cannot_be_made_fails_all_who_share_it(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    nowhere = GroupCommit(SqliteDatabase(tmp_path / "file" / "kept.sqlite3", tmp_path / ".lock", SCHEMA, busy=5))
    outcomes = await asyncio.gather(*(nowhere.write(keep(word)) for word in ("a", "b")), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [StoreUnavailableError] * 2


async def test_works_that_can_be_done_at_once_are(database: Database) -> None:
    def together(connection: Sql) -> list[str]:
        connection.executemany("INSERT INTO kept VALUES (?)", [("a",), ("b",)])
        return ["at", "once"]

    assert await GroupCommit(database).write_all([keep("a"), keep("b")], None, together) == ["at", "once"]
    assert kept(database) == ["a", "b"]


@pytest.mark.parametrize("error", [OneByOneError(), QueueFullError("No more.", hint="Wait.")])
async def test_works_that_cannot_be_done_at_once_are_done_one_by_one(database: Database, error: Exception) -> None:
    def together(connection: Sql) -> list[str]:
        connection.execute("INSERT INTO kept VALUES ('half')")
        raise error

    outcomes = await GroupCommit(database).write_all([keep("a"), full, keep("b")], None, together)
    assert [type(outcome) for outcome in outcomes] == [str, QueueFullError, str]
    assert kept(database) == ["a", "b"]


async def test_what_came_first_is_written_down_while_more_comes_all_the_time(database: Database) -> None:
    commits, more, told = GroupCommit(database), list[asyncio.Task[str]](), list[Any]()

    async def come() -> None:
        for number in range(5000):
            more.append(asyncio.create_task(commits.write(keep(f"more {number}"), told.extend)))
            await asyncio.sleep(0)

    coming = asyncio.create_task(come())
    assert await commits.write(keep("first"), told.extend) == "first"
    assert told[0] == "first"
    assert len(told) < 100  # those of its transaction; those that came while the disk worked are in the next one
    coming.cancel()
    await asyncio.gather(*more)
