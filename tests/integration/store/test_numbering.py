"""Cursors tell segments apart by their numbers, which are not used twice, whatever is erased or lost."""

import shutil
import time
from collections.abc import Callable

import pytest
from support.transcripts import contents, data_files, drain

from nanobot_transcript import GroupTranscriptStore, Retention

KEY = "feishu:oc_shared"
UNGUESSABLE = "群聊 / 一"
NOW = int(time.time() * 1000)
SMALL = 600

MakeStore = Callable[..., GroupTranscriptStore]


def fill(store: GroupTranscriptStore, first: int, last: int, key: str = KEY) -> list[str]:
    """Lines of one length, so that a place in an old file is the start of a line in a new one."""
    texts = [f"text {number:04}" for number in range(first, last)]
    for number, text in zip(range(first, last), texts, strict=True):
        store.append(key, "user", text, "on_ada", f"om_{number:04}", NOW + number)
    return texts


def lose_the_hidden_folder(store: GroupTranscriptStore) -> None:
    store.close()
    shutil.rmtree(store.base_dir / ".state")


@pytest.mark.parametrize("count", [5, 30])
def test_old_cursors_miss_nothing_after_a_purge_and_the_loss_of_the_hidden_folder(
    make_store: MakeStore, count: int
) -> None:
    store = make_store(segment_bytes=SMALL)
    fill(store, 0, count)
    cursors = [store.read(KEY, None, taken).cursor for taken in range(1, count + 1)]
    store.purge(KEY)
    lose_the_hidden_folder(store)
    texts = fill(store, 100, 130)
    for reader in (store, make_store()):
        for cursor in cursors:
            assert contents(drain(reader, KEY, cursor).entries) == texts


@pytest.mark.parametrize("drop", ["retention", "purge by age"])
def test_a_cursor_goes_on_where_it_was_when_all_before_it_is_dropped_and_the_hidden_folder_lost(
    make_store: MakeStore, drop: str
) -> None:
    store = make_store(segment_bytes=SMALL)
    fill(store, 0, 31)
    cursor = store.end(KEY)
    if drop == "retention":
        store.maintain([KEY], Retention(max_entries=1))
    else:
        store.purge(KEY, before_ms=NOW + 31)
    fill(store, 31, 33)
    lose_the_hidden_folder(store)
    later = [f"text {number:04}" for number in range(31, 60)]
    fill(store, 33, 60)
    for reader in (store, make_store()):
        assert contents(drain(reader, KEY, cursor).entries) == later


@pytest.mark.parametrize("key", [KEY, UNGUESSABLE])
def test_nothing_is_seen_of_a_purged_chat(make_store: MakeStore, key: str) -> None:
    store = make_store(segment_bytes=SMALL)
    fill(store, 0, 30, key)
    fill(store, 0, 3, "feishu:oc_other")
    store.purge(key)
    for _ in range(2):
        reader = make_store()
        assert [chat.session_key for chat in reader.chats()] == ["feishu:oc_other"]
        assert reader.verify(key).segments == 0
        assert reader.get_recent(key) == list(reader.scan(key)) == reader.search("text", key) == []
        assert reader.purge(key) == reader.maintain([key]) == []
        reader.purge(sender="on_bo")
        lose_the_hidden_folder(reader)
    assert sum(path.stat().st_size == 0 for path in data_files(store.base_dir)) == 1


def test_what_is_left_of_a_number_is_dropped_only_once(make_store: MakeStore) -> None:
    store = make_store(segment_bytes=SMALL)
    fill(store, 0, 31)
    dropped = [
        sum(report.dropped_segments for report in store.maintain([KEY], Retention(max_entries=1, max_age_days=9999)))
        for _ in range(3)
    ]
    assert dropped[0] == 5
    assert dropped[1:] == [0, 0]
    assert sum(report.dropped_segments for report in store.purge(KEY, before_ms=1)) == 0
    size = store.chats()[0].bytes
    store.maintain([KEY], Retention(max_age_days=0))
    assert store.chats()[0].bytes == size  # nothing to tell readers about
    fill(store, 31, 60)
    store.maintain([KEY], Retention(max_entries=20))
    assert all(path.stat().st_size for path in data_files(store.base_dir))
