"""Texts that PostgreSQL does not take as they are, and long ones: they stand in a database as they do in files, by way
of a spool, too.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.places import open_record
from support.spools import flushed
from support.transcripts import drain_back

from nanobot_transcript.record import Record

KEY = "feishu:oc_odd"
TEXTS = {
    "NUL": "before \0 after \0\0",
    "a lone surrogate": "before \ud800 after \udfff",
    "a megabyte": "长" * 350_000 + "needle",
    "a megabyte of NUL": "\0" * 1_000_000,
    "quotes": """'"''; DROP SCHEMA nanobot CASCADE; --\\ %s %(name)s {} $1 $$""",
    "line ends": "one\ntwo\r\nthree\u2028four\x85five\x1esix",
    "escapes": r"\x41 \u0000 \000 E'\\n' \N \.",
    "no characters": "\ufffe\uffff\U0010ffff\x7f\x1b[31m",
    "composed": "e\u0301 \u00e9 \u1100\u1161 \ud83d\ude00 👩‍👩‍👧",
}


@pytest.fixture(params=["directly", "by way of a spool"])
def both(request: pytest.FixtureRequest, postgres_place: str, tmp_path: Path) -> Iterator[tuple[Record, Record]]:
    """A record in files, and one in a database."""
    options: dict[str, Any] = {"spool_dir": tmp_path / "spool"} if request.param == "by way of a spool" else {}
    with open_record(tmp_path / "files") as files, open_record(postgres_place, **options) as database:
        yield files, database


def say(record: Record, key: str = KEY) -> None:
    for number, (name, text) in enumerate(TEXTS.items()):
        record.store.append(key, "user", text, f"on_{text[:40]}", f"om_{name}", 1_700_000_000_000 + number)
    record.store.append(key, "user", "no id", "on_ada", None, 1_700_000_001_000)
    record.store.edit(key, "om_quotes", TEXTS["quotes"] + " edited", "on_ada", timestamp_ms=1_700_000_002_000)
    flushed(record.store, key)


def without_receipt(entries: Any) -> list[dict[str, Any]]:
    """What is compared: not when it came, nor the id that a spool gives to what has none."""
    kept = [{name: value for name, value in entry.items() if name != "rts"} for entry in entries]
    return [entry | {"message_id": None} if "local:" in str(entry.get("message_id")) else entry for entry in kept]


async def followed(record: Record, count: int) -> list[dict[str, Any]]:
    found = []
    cursor = record.store.read(KEY, None, 1).cursor
    async for entry in record.store.follow(KEY, cursor):
        found.append(entry)
        if len(found) == count:
            break
    return without_receipt(found)


def test_every_way_of_reading_gives_the_same_as_files(both: tuple[Record, Record]) -> None:
    files, database = both
    for record in both:
        say(record)
    there, here = ([*record.store.scan(KEY)] for record in both)
    assert without_receipt(here) == without_receipt(there)
    for read in (
        lambda store: store.read(KEY, None, 100).entries,
        lambda store: drain_back(store, KEY),
        lambda store: store.recent(KEY, 100).entries,
        lambda store: [store.get(KEY, f"om_{name}") for name in TEXTS],
    ):
        assert without_receipt(read(database.store)) == without_receipt(read(files.store))
    assert database.store.get_recent(KEY, 100) == files.store.get_recent(KEY, 100)
    count = len(TEXTS)
    assert asyncio.run(followed(database, count)) == asyncio.run(followed(files, count))
    assert database.store.verify(KEY).duplicates == 0


def test_every_search_finds_the_same_as_in_files(both: tuple[Record, Record]) -> None:
    for record in both:
        say(record)
    for query in ("\0", "e \0 a", "\ud800", "长长needle", "\0" * 999_999, "'", "\\", "%", "\u2028", "é"):
        there, here = (without_receipt(hit.entry for hit in record.store.search(query, KEY)) for record in both)
        assert here == there
        assert here == without_receipt(hit.entry for hit in both[1].store.search(query))
        assert here, query[:10]


@pytest.mark.parametrize("key", ["feishu:oc_\0", "feishu:oc_\ud800", "feishu:oc_'\"\\", "群" * 300])
def test_a_chat_of_any_name_is_listed_read_and_purged(both: tuple[Record, Record], key: str) -> None:
    listed = []
    for record in both:
        record.store.append(key, "user", "hello", "on_ada", "om_1")
        flushed(record.store, key)
        listed.append([chat.session_key for chat in record.store.chats()])
        assert [message["content"] for message in record.store.get_recent(key)] == ["hello"]
        record.store.purge(key)
        assert record.store.chats() == []
    assert listed[0] == listed[1] == [key]
