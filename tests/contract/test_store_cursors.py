"""Positions: opaque, stable across rotation, maintenance and purge, usable from any process."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable

import pytest
from support.procs import Worker, until
from support.transcripts import contents, drain, drain_back
from support.waiting import PATIENCE

from nanobot_transcript import GroupTranscriptStore, InvalidCursorError, Retention
from nanobot_transcript.entry import Entry

KEY = "feishu:oc_shared"
NOW = int(time.time() * 1000)
SMALL = 600

MakeStore = Callable[..., GroupTranscriptStore]
SpawnWorker = Callable[..., Worker]


def fill(store: GroupTranscriptStore, first: int, last: int) -> list[str]:
    texts = [f"text {number:04}" for number in range(first, last)]
    for number, text in zip(range(first, last), texts, strict=True):
        store.append(KEY, "user", text, f"on_{number % 3}", f"om_{number}", NOW + number)
    return texts


async def take(entries: AsyncIterator[Entry], count: int) -> list[Entry]:
    async with asyncio.timeout(PATIENCE):
        return [await anext(entries) for _ in range(count)]


# -- read


@pytest.mark.parametrize("limit", [1, 3, 7, 50, 1000])
@pytest.mark.parametrize("segment_bytes", [SMALL, 1 << 26])
def test_paging_gives_every_entry_once_and_in_order(make_store: MakeStore, limit: int, segment_bytes: int) -> None:
    store = make_store(segment_bytes=segment_bytes)
    texts = fill(store, 0, 50)
    assert contents(drain(store, KEY, limit=limit).entries) == texts


@pytest.mark.parametrize("limit", [1, 3, 7, 50, 1000])
@pytest.mark.parametrize("segment_bytes", [SMALL, 1 << 26])
def test_paging_backwards_gives_every_entry_once_and_in_order(
    make_store: MakeStore, limit: int, segment_bytes: int
) -> None:
    store = make_store(segment_bytes=segment_bytes)
    texts = fill(store, 0, 50)
    assert contents(drain_back(store, KEY, limit=limit)) == texts
    middle = store.read(KEY, None, 30).cursor
    assert contents(drain_back(store, KEY, middle, limit=limit)) == texts[:30]


def test_a_page_read_backwards_ends_where_one_read_forwards_begins(make_store: MakeStore) -> None:
    store = make_store(segment_bytes=SMALL)
    texts = fill(store, 0, 40)
    page = store.read_back(KEY, None, 12)
    assert contents(page.entries) == texts[-12:]
    assert contents(drain(store, KEY, page.cursor).entries) == texts[-12:]
    assert store.read_back(KEY, page.cursor, 0).cursor == page.cursor
    assert store.read_back("feishu:oc_empty", None, 5).entries == []


def test_what_is_read_backwards_is_as_it_reads_now(make_store: MakeStore) -> None:
    store = make_store(segment_bytes=SMALL)
    texts = fill(store, 0, 40)
    store.recall(KEY, "om_3")
    store.redact(KEY, "om_30")
    store.edit(KEY, "om_20", "edited")
    texts[20] = "edited"
    left = [text for number, text in enumerate(texts) if number not in (3, 30)]
    assert contents(drain_back(make_store(), KEY, limit=4)) == left


def test_reading_backwards_goes_on_where_a_segment_was_dropped(make_store: MakeStore) -> None:
    store = make_store(segment_bytes=SMALL)
    texts = fill(store, 0, 40)
    cursor = store.read(KEY, None, 5).cursor
    store.purge(KEY, before_ms=NOW + 20)
    assert contents(drain_back(store, KEY, cursor, limit=3)) == []
    assert contents(drain_back(store, KEY, limit=3)) == texts[20:]
    later = fill(store, 40, 44)
    assert contents(drain_back(store, KEY, limit=3)) == texts[20:] + later


def test_a_cursor_at_the_end_gives_what_is_written_later(make_store: MakeStore) -> None:
    store = make_store()
    fill(store, 0, 5)
    for cursor in (store.end(KEY), store.recent(KEY).cursor, drain(store, KEY).cursor):
        assert store.read(KEY, cursor).entries == []
    ends = [store.end(KEY), store.recent(KEY, 2).cursor, drain(store, KEY).cursor]
    later = fill(make_store(), 5, 8)
    for cursor in ends:
        assert contents(store.read(KEY, cursor).entries) == later


def test_the_end_of_an_empty_chat_is_a_cursor_too(make_store: MakeStore) -> None:
    store = make_store()
    cursors = [store.end(KEY), store.read(KEY).cursor, store.recent(KEY).cursor]
    texts = fill(store, 0, 3)
    for cursor in cursors:
        assert contents(store.read(KEY, cursor).entries) == texts


def test_a_cursor_is_stable_across_rotation_in_any_process(make_store: MakeStore) -> None:
    store = make_store(segment_bytes=SMALL)
    fill(store, 0, 4)
    cursor = store.read(KEY, None, 2).cursor
    fill(store, 4, 60)
    for reader in (store, make_store(segment_bytes=SMALL)):
        assert contents(drain(reader, KEY, cursor).entries) == [f"text {number:04}" for number in range(2, 60)]


@pytest.mark.parametrize("hide", ["recall", "redact"])
def test_cursors_are_stable_across_maintenance(make_store: MakeStore, hide: str) -> None:
    store = make_store(segment_bytes=SMALL)
    texts = fill(store, 0, 30)
    cursors = [store.read(KEY, None, taken).cursor for taken in range(1, 30)]
    gone = {3, 4, 10, 20, 28}
    for number in sorted(gone):
        getattr(store, hide)(KEY, f"om_{number}")
    store.maintain()
    for reader in (store, make_store(segment_bytes=SMALL)):
        for taken, cursor in enumerate(cursors, start=1):
            left = [text for number, text in enumerate(texts) if number >= taken and number not in gone]
            assert contents(drain(reader, KEY, cursor, limit=4).entries) == left


def test_after_a_purge_reading_goes_on_at_the_next_surviving_entry(make_store: MakeStore) -> None:
    store = make_store(segment_bytes=SMALL)
    fill(store, 0, 30)
    cursors = [store.read(KEY, None, taken).cursor for taken in range(1, 31)]
    store.purge(KEY, sender="on_1")
    for reader in (store, make_store(segment_bytes=SMALL)):
        for taken, cursor in enumerate(cursors, start=1):
            left = [f"text {number:04}" for number in range(taken, 30) if number % 3 != 1]
            assert contents(drain(reader, KEY, cursor, limit=4).entries) == left


def test_after_a_purge_by_age_reading_goes_on_at_the_next_surviving_entry(make_store: MakeStore) -> None:
    store = make_store(segment_bytes=SMALL)
    fill(store, 0, 30)
    early, late = store.read(KEY, None, 3).cursor, store.read(KEY, None, 25).cursor
    store.purge(KEY, before_ms=NOW + 20)
    for reader in (store, make_store(segment_bytes=SMALL)):
        survivors = [f"text {number:04}" for number in range(20, 30)]
        assert contents(drain(reader, KEY, early).entries) == survivors
        assert contents(drain(reader, KEY, late).entries) == survivors[5:]
        assert contents(drain(reader, KEY).entries) == survivors


def test_after_the_purge_of_a_whole_chat_every_cursor_goes_on_with_new_entries(make_store: MakeStore) -> None:
    store = make_store(segment_bytes=SMALL)
    fill(store, 0, 30)
    cursors = [None, store.read(KEY, None, 1).cursor, store.read(KEY, None, 15).cursor, store.end(KEY)]
    store.purge(KEY)
    texts = fill(store, 100, 140)
    for reader in (store, make_store(segment_bytes=SMALL)):
        for cursor in cursors:
            assert contents(drain(reader, KEY, cursor, limit=9).entries) == texts


def test_a_cursor_into_a_dropped_segment_goes_on_at_the_oldest_kept_one(make_store: MakeStore) -> None:
    store = make_store(segment_bytes=SMALL)
    fill(store, 0, 60)
    cursor = store.read(KEY, None, 2).cursor
    store.maintain([KEY], Retention(max_entries=20))
    kept = contents(drain(store, KEY).entries)
    assert 0 < len(kept) < 60
    assert kept[-1] == "text 0059"
    assert contents(drain(make_store(), KEY, cursor).entries) == kept


def test_a_long_run_of_recalled_messages_does_not_end_the_paging(store: GroupTranscriptStore) -> None:
    fill(store, 0, 120)
    for number in range(5, 110):
        store.recall(KEY, f"om_{number}")
    expected = [f"text {number:04}" for number in [*range(5), *range(110, 120)]]
    assert contents(drain(store, KEY, limit=3).entries) == expected


def test_a_limit_of_nothing_reads_nothing_and_stays_where_it_is(store: GroupTranscriptStore) -> None:
    texts = fill(store, 0, 5)
    page = store.read(KEY, store.read(KEY, None, 2).cursor, 0)
    assert page.entries == []
    assert contents(store.read(KEY, page.cursor).entries) == texts[2:]


@pytest.mark.parametrize(
    "cursor", ["", "x", "0", "-1", "None", "999999999999999999999", "../..", "\0", "群", "1:2:3:4"]
)
def test_a_string_that_no_store_handed_out_is_refused(store: GroupTranscriptStore, cursor: str) -> None:
    fill(store, 0, 3)
    with pytest.raises(InvalidCursorError) as caught:
        store.read(KEY, cursor)
    assert caught.value.hint


# -- follow


async def test_follow_gives_what_stands_behind_a_cursor_and_then_what_comes(make_store: MakeStore) -> None:
    store = make_store()
    fill(store, 0, 3)
    entries = store.follow(KEY, store.read(KEY, None, 1).cursor)
    assert contents(await take(entries, 2)) == ["text 0001", "text 0002"]
    waiting = asyncio.create_task(take(entries, 2))
    fill(make_store(), 3, 5)
    assert contents(await waiting) == ["text 0003", "text 0004"]


async def test_follow_without_a_cursor_gives_only_what_comes_from_now_on(make_store: MakeStore) -> None:
    store, writer = make_store(), make_store()
    fill(store, 0, 3)
    waiting = asyncio.create_task(take(store.follow(KEY), 1))
    number = 3
    async with asyncio.timeout(PATIENCE):
        while not waiting.done():
            fill(writer, number, number + 1)
            number += 1
            await asyncio.sleep(0.01)
    assert contents(await waiting)[0] >= "text 0003"


async def test_follow_gives_ops_as_they_are(make_store: MakeStore) -> None:
    store = make_store()
    fill(store, 0, 3)
    entries = store.follow(KEY, store.end(KEY))
    waiting = asyncio.create_task(take(entries, 4))
    writer = make_store()
    writer.edit(KEY, "om_0", "changed", "on_0")
    writer.recall(KEY, "om_1", "on_1")
    writer.redact(KEY, "om_2")
    fill(writer, 3, 4)
    edit, recall, redact, message = await waiting
    assert (edit.get("op"), edit.get("target"), edit["content"]) == ("edit", "om_0", "changed")
    assert (recall.get("op"), recall.get("target"), recall["sender"]) == ("recall", "om_1", "on_1")
    assert (redact.get("op"), redact.get("target")) == ("redact", "om_2")
    assert message["content"] == "text 0003"
    assert all({"role", "content", "sender", "message_id", "ts"} <= entry.keys() for entry in (edit, recall, message))


async def test_follow_waits_for_a_chat_that_does_not_exist_yet(make_store: MakeStore) -> None:
    store = make_store()
    waiting = asyncio.create_task(take(store.follow(KEY, store.end(KEY)), 2))
    await asyncio.sleep(0)
    fill(make_store(), 0, 2)
    assert contents(await waiting) == ["text 0000", "text 0001"]


async def test_follow_goes_on_over_rotation_maintenance_and_purge(make_store: MakeStore) -> None:
    store, writer = make_store(segment_bytes=SMALL), make_store(segment_bytes=SMALL)
    entries = store.follow(KEY, store.end(KEY))
    for start in range(0, 100, 20):
        waiting = asyncio.create_task(take(entries, 20))
        texts = fill(writer, start, start + 20)
        assert contents(await waiting) == texts
        await asyncio.to_thread(writer.maintain, [KEY])
        await asyncio.to_thread(writer.purge, KEY, sender="on_1")
    await asyncio.to_thread(writer.purge, KEY)
    waiting = asyncio.create_task(take(entries, 3))
    assert fill(writer, 200, 203) == contents(await waiting)


async def test_follow_gives_what_is_said_again_after_a_purge(make_store: MakeStore) -> None:
    store, writer = make_store(), make_store()
    entries = store.follow(KEY, store.end(KEY))
    for session_key, sender in ((KEY, None), (None, "on_0")):
        waiting = asyncio.create_task(take(entries, 1))
        assert fill(writer, 0, 1) == contents(await waiting)
        await asyncio.to_thread(writer.purge, session_key, sender=sender)
    waiting = asyncio.create_task(take(entries, 1))
    assert fill(writer, 0, 1) == contents(await waiting)


async def test_follow_ends_cleanly_when_it_is_cancelled(store: GroupTranscriptStore) -> None:
    async def watch() -> None:
        async for _ in store.follow(KEY):
            raise AssertionError("nothing was written")

    watching = asyncio.create_task(watch())
    await asyncio.sleep(0.01)
    watching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await watching
    assert fill(store, 0, 1) == ["text 0000"]


async def test_several_followers_of_one_process_each_get_everything(make_store: MakeStore) -> None:
    store = make_store()
    end = store.end(KEY)
    waiting = [asyncio.create_task(take(store.follow(KEY, end), 10)) for _ in range(5)]
    await asyncio.sleep(0)
    texts = fill(make_store(), 0, 10)
    assert [contents(got) for got in await asyncio.gather(*waiting)] == [texts] * 5


def test_a_follower_in_another_process_gets_every_line_once(
    make_store: MakeStore, place: str, spawn: SpawnWorker
) -> None:
    store = make_store(segment_bytes=20_000)
    fill(store, 0, 3)
    follower = spawn("follow", place=place, after=store.end(KEY), until="om_299")
    follower.go()
    for number in range(3, 300, 30):
        fill(store, number, min(number + 30, 300))
        store.recall(KEY, f"om_{number}")
    lines = []
    while "seen" not in (line := follower.line()):
        lines.append(line)
    messages = [line["message_id"] for line in lines if line["op"] is None]
    assert messages == [f"om_{number}" for number in range(3, 300)]
    assert [line["target"] for line in lines if line["op"]] == [f"om_{number}" for number in range(3, 273, 30)]


def test_a_cursor_of_one_process_is_good_in_another(make_store: MakeStore, place: str, spawn: SpawnWorker) -> None:
    store = make_store(segment_bytes=SMALL)
    fill(store, 0, 40)
    cursor = store.read(KEY, None, 10).cursor
    follower = spawn("follow", place=place, after=cursor, until="om_39")
    follower.go()
    got = [follower.line()["message_id"] for _ in range(30)]
    assert got == [f"om_{number}" for number in range(10, 40)]
    until(lambda: follower.process.poll() is not None, "the follower ended")
