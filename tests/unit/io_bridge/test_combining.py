"""Changes that share a transaction: what one of them does wrong is its own affair."""

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from nanobot_transcript.database import Database, Shape
from nanobot_transcript.errors import QueueFullError
from transcript_mcp.io_bridge.combining import Combined

_TABLE = "CREATE TABLE words (word TEXT PRIMARY KEY, at INTEGER)"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """A file with a table of words."""
    database = Database(tmp_path / "words.sqlite3", tmp_path / "words.lock", Shape(((_TABLE,),)), busy=5)
    yield database
    database.close()


def twice(db: sqlite3.Connection) -> None:
    db.execute("INSERT INTO words VALUES ('other', 0)")
    db.execute("INSERT INTO words VALUES ('other', 0)")


def too_large(db: sqlite3.Connection) -> None:
    db.execute("INSERT INTO words VALUES ('large', ?)", (2**70,))


def half(db: sqlite3.Connection) -> None:
    db.execute("INSERT INTO words VALUES (?, 0)", ("\ud83d",))


def full(db: sqlite3.Connection) -> None:
    db.execute("INSERT INTO words VALUES ('full', 0)")
    raise QueueFullError("No more.", hint="Wait.")


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        (twice, sqlite3.IntegrityError),
        (too_large, OverflowError),
        (half, UnicodeEncodeError),
        (full, QueueFullError),
    ],
)
async def test_a_change_that_cannot_be_made_fails_alone(
    database: Database, wrong: object, kind: type[Exception]
) -> None:
    combined = Combined(database)
    works = [lambda db: db.execute("INSERT INTO words VALUES ('one', 1)").rowcount, wrong]
    works.append(lambda db: db.execute("INSERT INTO words VALUES ('two', 2)").rowcount)
    outcomes = await asyncio.gather(*(combined.write(work) for work in works), return_exceptions=True)
    assert [type(each) for each in outcomes] == [int, kind, int]
    found = database.read(lambda db: [row[0] for row in db.execute("SELECT word FROM words ORDER BY word")], [])
    assert found == ["one", "two"]
