"""A purge, and what a spool hands on at the same moment."""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest
from support.places import open_record
from support.procs import until
from support.waiting import PATIENCE

from nanobot_transcript.entry import Entry
from nanobot_transcript.record.postgres import purges
from nanobot_transcript.record.postgres.record import PostgresRecord
from nanobot_transcript.record.postgres.transcripts import barring_of
from nanobot_transcript.store import arguments
from nanobot_transcript.store.lines.ids import id_keys

KEY = "feishu:oc_new"
_WAITING = """
SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()
"""


def opened(place: str) -> PostgresRecord:
    record = open_record(place)
    assert isinstance(record, PostgresRecord)
    record.store.append("feishu:oc_old", "user", "hello", "on_ada", "om_0")
    return record


def pause(seconds: float) -> None:
    """Until the clock has moved on by so much."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


def waits(record: PostgresRecord) -> bool:
    with record.engine.connection() as connection:
        return connection.execute(_WAITING).fetchone() == (1,)


@pytest.mark.parametrize("key", [KEY, None], ids=["of the chat", "of all"])
def test_a_purge_takes_what_is_being_handed_on_into_a_new_chat(postgres_place: str, key: str | None) -> None:
    line = arguments.entry("user", "a secret", "on_ada", "om_1", 1_760_000_000_000, {})
    with opened(postgres_place) as writer, opened(postgres_place) as other, ThreadPoolExecutor(1) as pool:
        with writer.engine.connection() as connection, connection.transaction():
            writer.transcripts.append_all(connection, KEY, [(line, id_keys(line), barring_of(line, {}))], 0)
            purging = pool.submit(other.store.purge, key, sender="on_ada")
            until(lambda: waits(writer), "the purge waits")
        purging.result(PATIENCE)
        assert writer.store.recent(KEY, 10).entries == []


def test_purges_get_their_numbers_in_the_order_in_which_they_are_known(postgres_place: str) -> None:
    with opened(postgres_place) as first, opened(postgres_place) as second:
        place = first.engine.place

        def later() -> None:
            with second.engine.connection() as connection:
                purges.note(connection, place, None, frozenset({"on_bo"}), None)

        noting = threading.Thread(target=later)
        with first.engine.connection() as connection, connection.transaction():
            purges.note(connection, place, None, frozenset({"on_ada"}), None)
            noting.start()
            until(lambda: waits(first), "the later one waits")
        noting.join(PATIENCE)
        with first.engine.connection() as connection:
            known = purges.purges(connection, place, "")
    assert [sorted(each.senders) for each in known.purges] == [["on_ada"], ["on_bo"]]


def test_what_came_before_a_purge_is_not_recorded_behind_it_however_long_it_waited(
    postgres_place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(postgres_place) as writer, opened(postgres_place) as other:
        backend, now = writer.transcripts, time.time() * 1000
        line = arguments.entry("user", "a secret", "on_ada", "om_1", int(now), {}) | {"rts": int(now) - 5}
        write = backend._write_all

        def purged_meanwhile(key: str, lines: Sequence[Entry], known: int) -> list[bool] | None:
            monkeypatch.setattr(backend, "_write_all", write)
            other.store.purge(KEY)
            pause(0.05)
            return write(key, lines, known)

        other.store.append(KEY, "user", "hello", "on_ada", "om_0")
        monkeypatch.setattr(backend, "_write_all", purged_meanwhile)
        assert backend.write_many(KEY, [cast("Entry", line)], now) == [False]
        assert writer.store.recent(KEY, 10).entries == []


def test_who_waits_for_a_connection_records_nothing_that_came_before_a_purge(
    postgres_place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(postgres_place) as writer:
        backend = writer.transcripts
        writer.store.append(KEY, "user", "hello", "on_ada", "om_0")
        before = time.time() * 1000
        pause(0.01)
        writer.store.purge(KEY)
        read = backend._read

        def slow(work: Any, none: Any) -> Any:
            pause(0.05)
            return read(work, none)

        monkeypatch.setattr(backend, "_read", slow)
        line = arguments.entry("user", "a secret", "on_ada", "om_1", int(before), {}) | {"rts": int(before)}
        assert backend.write_many(KEY, [cast("Entry", line)], time.time() * 1000) == [False]
        assert writer.store.recent(KEY, 10).entries == []
