"""Faults that were found by attacking the store, each kept from coming back."""

import asyncio
import fcntl
import gc
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from support.transcripts import active_file, contents, drain, occurs_on_disk
from support.waiting import PATIENCE

from nanobot_transcript import ConfigError, GroupTranscriptStore, StoreBusyError

KEY = "feishu:oc_shared"


def run(code: str, *arguments: object) -> int:
    """A process of its own; its exit code."""
    return subprocess.run([sys.executable, "-c", code, *map(str, arguments)], timeout=PATIENCE, check=False).returncode


KILLED_WHILE_ITS_INDEX_GREW = """
import os, sys
from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.store.jsonl import id_table
publish = id_table.IdTable.publish
def die(self, path):
    if len(self.words) > 2 * id_table.FIRST_CAPACITY + 8:
        os.kill(os.getpid(), 9)
    publish(self, path)
id_table.IdTable.publish = die
store = GroupTranscriptStore(sys.argv[1])
for number in range(5000):
    store.append("feishu:oc_shared", "user", str(number), "on_ada", f"om_{number}")
"""


def test_a_cursor_survives_a_writer_killed_while_its_index_grew(tmp_path: Path) -> None:
    assert run(KILLED_WHILE_ITS_INDEX_GREW, tmp_path / "store") == -signal.SIGKILL
    store = GroupTranscriptStore(tmp_path / "store")
    cursor = store.end(KEY)
    store.append(KEY, "user", "after", "on_ada", "om_after")
    assert [entry["content"] for entry in store.read(KEY, cursor).entries] == ["after"]


def test_a_cursor_reads_on_after_the_numbering_was_lost_with_the_index(tmp_path: Path) -> None:
    store = GroupTranscriptStore(tmp_path / "store")
    store.append(KEY, "user", "old", "on_ada", "om_0")
    store.purge(KEY)
    store.append(KEY, "user", "seen", "on_ada", "om_1")
    cursor = store.end(KEY)
    store.close()
    shutil.rmtree(tmp_path / "store" / ".state" / "index")
    fresh = GroupTranscriptStore(tmp_path / "store")
    fresh.append(KEY, "user", "new", "on_ada", "om_2")
    assert [entry["content"] for entry in fresh.read(KEY, cursor).entries][-1] == "new"


def test_a_segment_is_never_written_over_whatever_number_an_index_claims(tmp_path: Path) -> None:
    store = GroupTranscriptStore(tmp_path / "store", segment_bytes=2000)
    sent = [f"om_{number}" for number in range(60)]
    for message_id in sent[:30]:
        store.append(KEY, "user", "x" * 50, "on_ada", message_id)
    store.close()
    index = next(iter((tmp_path / "store" / ".state" / "index").glob("*[0-9a-f].ids")))
    with index.open("r+b") as file:  # the number of the segment, the fourth word
        file.seek(24)
        file.write((1).to_bytes(8, "little"))
    again = GroupTranscriptStore(tmp_path / "store", segment_bytes=2000)
    for message_id in sent[30:]:
        again.append(KEY, "user", "x" * 50, "on_ada", message_id)
    assert [entry["message_id"] for entry in again.scan(KEY)] == sent


def test_what_was_recalled_does_not_come_back_while_the_lock_is_stuck(tmp_path: Path) -> None:
    base = tmp_path / "store"
    store = GroupTranscriptStore(base, lock_timeout=0.05)
    store.append(KEY, "user", "SECRET", "on_ada", "om_1")
    store.append(KEY, "user", "known", "on_ada", "om_2")
    store.redact(KEY, "om_1")
    descriptor = os.open(active_file(base), os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        assert store.append(KEY, "user", "SECRET", "on_ada", "om_1") is False
        assert store.append(KEY, "user", "known", "on_ada", "om_2") is False
        assert store.append(KEY, "user", "new", "on_ada", "om_3") is True
        assert store.append(KEY, "user", "new", "on_ada", "om_3") is False
    finally:
        os.close(descriptor)
    assert [message["content"] for message in store.get_recent(KEY)] == ["known", "new"]
    assert occurs_on_disk(base, "SECRET") == []


def test_a_message_is_hidden_by_any_of_its_ids(tmp_path: Path) -> None:
    store = GroupTranscriptStore(tmp_path / "store")
    store.append(KEY, "assistant", "parts only", "Alpha", message_ids=["om_1", "om_2"])
    store.append(KEY, "assistant", "[card]", "cli_a", "om_3", source="peer_event")
    store.append(KEY, "assistant", "whole", "Alpha", "om_3", source="send", message_ids=["om_3", "om_4"])
    store.recall(KEY, "om_2")
    store.recall(KEY, "om_4")
    assert store.get_recent(KEY) == store.read(KEY).entries == list(store.scan(KEY)) == []
    assert store.search("whole") == store.search("parts") == []


@pytest.mark.parametrize("moment", [10**400, 1e300, -(10**30), "9" * 400])
def test_an_absurd_time_breaks_no_reader(tmp_path: Path, moment: float | str) -> None:
    store = GroupTranscriptStore(tmp_path / "store")
    store.append(KEY, "user", "one", "on_ada", "om_1", moment)
    with active_file(tmp_path / "store").open("a", encoding="utf-8") as file:
        file.write(f'{{"role":"user","content":"two","sender":"b","message_id":"om_2","ts":{moment}}}\n')
    assert {message["content"] for message in store.get_recent(KEY)} == {"one", "two"}
    assert len(store.search("o")) == 2


def test_two_stores_of_one_process_begin_a_chat_at_once(tmp_path: Path) -> None:
    keys = [f"群聊 {number}" for number in range(40)]

    def begin(base: Path) -> None:
        store = GroupTranscriptStore(base)
        for key in keys:
            store.append(key, "user", "x", "on_ada")

    threads = [threading.Thread(target=begin, args=(tmp_path / "store",)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert [chat.session_key for chat in GroupTranscriptStore(tmp_path / "store").chats()] == sorted(keys)


def test_segments_without_room_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="segment"):
        GroupTranscriptStore(tmp_path / "store", segment_bytes=0)


@pytest.mark.parametrize("erase", ["redact", "purge a person", "purge by age", "recall"])
def test_erasing_takes_the_half_line_of_a_killed_writer_with_it(tmp_path: Path, erase: str) -> None:
    store = GroupTranscriptStore(tmp_path / "store")
    store.append(KEY, "user", "before", "on_bo", "om_1", 1_600_000_000_000)
    whole = active_file(tmp_path / "store").read_bytes().splitlines()[0]
    with active_file(tmp_path / "store").open("ab") as file:
        file.write(whole.replace(b"before", b"secret")[:60])
    store.append(KEY, "user", "secret", "on_ada", "om_2", 1_600_000_000_000)
    with active_file(tmp_path / "store").open("ab") as file:
        file.write(whole.replace(b"before", b"secret")[:60])
    match erase:
        case "redact":
            store.redact(KEY, "om_2")
        case "purge a person":
            store.purge(KEY, sender="on_ada")
        case "purge by age":
            store.purge(KEY, before_ms=1_700_000_000_000)
        case _:
            store.recall(KEY, "om_2")
            store.maintain([KEY])
    assert occurs_on_disk(tmp_path / "store", "secret") == []
    kept = [] if erase == "purge by age" else ["before"]
    assert [entry["content"] for entry in store.scan(KEY)] == kept


@pytest.mark.parametrize(
    "rest",
    [
        '{"content":"secret plans","role":"us',
        '{"message_id":"om_9","sender":"on_ada","content":"secret',
        'cret","sender":"on_ada"} secret',
        '{"role":"user","content":"secret{"role":"user","content":"x","sender":"b","message_id":"om_8","ts":1,"rts":1}',
        '{"role":"user","content":"\udcff secret","sender":"on_ada","message_id":"om_9","ts":1,"rts":1}',
        '\0\0\0\0 secret","sender":"on_ada"}',
    ],
)
@pytest.mark.parametrize("erase", ["redact", "purge a person", "recall"])
def test_erasing_takes_what_nobody_can_read_with_it_whoever_wrote_it(tmp_path: Path, erase: str, rest: str) -> None:
    store = GroupTranscriptStore(tmp_path / "store")
    store.append(KEY, "user", "before", "on_bo", "om_1")
    whole = b'{"level":"info","msg":"of another program"}\n[1,2]\n'
    with active_file(tmp_path / "store").open("ab") as file:
        file.write(rest.encode("utf-8", "surrogateescape") + b"\n" + whole)
    store.append(KEY, "user", "secret", "on_ada", "om_2")
    match erase:
        case "redact":
            store.redact(KEY, "om_2")
        case "purge a person":
            store.purge(KEY, sender="on_ada")
        case _:
            store.recall(KEY, "om_2")
            store.maintain([KEY])
    assert occurs_on_disk(tmp_path / "store", "secret") == []
    assert [entry["content"] for entry in store.scan(KEY)] == ["before"]
    assert whole in active_file(tmp_path / "store").read_bytes()


def test_an_erasure_that_a_newer_version_began_is_left_to_it(tmp_path: Path) -> None:
    store = GroupTranscriptStore(tmp_path / "store")
    store.append(KEY, "user", "text", "on_ada", "om_1")
    journal = tmp_path / "store" / ".state" / "index" / f"{active_file(tmp_path / 'store').stem}.erase"
    journal.write_bytes(b'{"v":2,"steps":["something new"]}')
    with pytest.raises(StoreBusyError, match="newer version"):
        store.redact(KEY, "om_1")
    assert journal.read_bytes() == b'{"v":2,"steps":["something new"]}'
    assert store.get(KEY, "om_1") is None


@pytest.mark.parametrize("odd", ["\0hidden\0om_1", "\0sent\0om_1", "\0"])
def test_an_id_cannot_be_mistaken_for_a_mark_of_the_index(tmp_path: Path, odd: str) -> None:
    store = GroupTranscriptStore(tmp_path / "store")
    assert store.append(KEY, "user", "odd", "on_ada", odd)
    assert not store.append(KEY, "user", "odd again", "on_ada", odd)
    assert store.append(KEY, "user", "plain", "on_ada", "om_1", source="peer_event")
    assert store.recall(KEY, "om_1")
    assert store.append(KEY, "user", "another", "on_ada", "om_2")
    found = store.get(KEY, odd)
    assert found is not None
    assert found["content"] == "odd"
    assert [entry["content"] for entry in store.recent(KEY).entries] == ["odd", "another"]


def test_a_line_without_a_time_stays_where_it_stands(tmp_path: Path) -> None:
    store = GroupTranscriptStore(tmp_path / "store")
    store.append(KEY, "user", "first", "on_ada", "om_1", 1_700_000_000_000)
    with active_file(tmp_path / "store").open("ab") as file:
        file.write(b'{"role":"user","content":"foreign","sender":"x"}\n')
    store.append(KEY, "user", "last", "on_ada", "om_2", 1_700_000_001_000)
    assert [message["content"] for message in store.get_recent(KEY)] == ["first", "foreign", "last"]
    assert [message["content"] for message in GroupTranscriptStore(tmp_path / "store").get_recent(KEY)] == [
        "first",
        "foreign",
        "last",
    ]


def test_a_second_copy_written_beside_a_stuck_lock_is_left_out_in_a_later_segment(tmp_path: Path) -> None:
    """The index is gone and nobody can look for duplicates: readers know the copy by the empty line before it."""
    place = tmp_path / "store"
    with GroupTranscriptStore(place, segment_bytes=4000) as store:
        for number in range(60):
            store.append(KEY, "user", f"text {number}", "on_ada", f"om_{number}")
    for table in (place / ".state" / "index").glob("*.ids"):
        table.unlink()
    (newest,) = [path for path in place.glob("*.jsonl") if path.name.count(".") == 1]
    with newest.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        store = GroupTranscriptStore(place, segment_bytes=4000, lock_timeout=0.01)
        store.append(KEY, "user", "text 3", "on_ada", "om_3")
    with GroupTranscriptStore(place, segment_bytes=4000) as fresh:
        fresh.append(KEY, "user", "the end", "on_ada", "om_end")
        shown = contents(drain(fresh, KEY, limit=10).entries)
        assert shown == [*(f"text {number}" for number in range(60)), "the end"]


def _open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_many_chats_used_at_once_leave_no_files_open(tmp_path: Path) -> None:
    before = _open_files()
    store = GroupTranscriptStore(tmp_path / "store")

    def talk(thread: int) -> None:
        for number in range(300):
            key = f"feishu:oc_{(number * 7 + thread) % 90}"
            store.append(key, "user", "text", "on_ada", f"om_{thread}_{number}")
            store.get_recent(key, 3)

    threads = [threading.Thread(target=talk, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert sum(len(store.recent(chat.session_key, 500).entries) for chat in store.chats()) == 1200
    store.close()
    gc.collect()
    assert _open_files() <= before


def test_a_store_that_is_dropped_gives_its_files_back(tmp_path: Path) -> None:
    before = _open_files()
    for number in range(5):
        store = GroupTranscriptStore(tmp_path / "store")
        store.append(KEY, "user", "text", "on_ada", f"om_{number}")
        store.get_recent(KEY)
    del store
    gc.collect()
    assert _open_files() <= before


async def test_a_follower_goes_on_in_a_store_that_was_removed_and_began_again(tmp_path: Path) -> None:
    place = tmp_path / "store"
    writer = GroupTranscriptStore(place, segment_bytes=400)
    for number in range(6):
        writer.append(KEY, "user", f"old {number}", "on_ada", f"om_{number}")
    news = GroupTranscriptStore(place).follow(KEY)
    waiting = asyncio.ensure_future(anext(news))
    await asyncio.sleep(0)
    for turn in range(8):
        shutil.rmtree(place)
        with GroupTranscriptStore(place, segment_bytes=400) as again:
            again.append(KEY, "user", f"new {turn}", "on_ada", "om_0")
        entry = await asyncio.wait_for(waiting, PATIENCE)
        assert entry["content"] == f"new {turn}"
        waiting = asyncio.ensure_future(anext(news))
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)


def test_the_last_edit_counts_by_whichever_id_it_names_the_message(tmp_path: Path) -> None:
    store = GroupTranscriptStore(tmp_path / "store")
    store.append(KEY, "assistant", "first", "Alpha", message_ids=["om_1", "om_2", "om_3"])
    store.edit(KEY, "om_3", "second")
    store.edit(KEY, "om_1", "third")
    assert contents(store.scan(KEY)) == contents(store.recent(KEY).entries) == ["third"]
    assert contents(hit.entry for hit in store.search("third")) == ["third"]
    assert store.search("second") == []
