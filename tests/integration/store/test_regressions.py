"""Faults that were found by attacking the store, each kept from coming back."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from support.transcripts import active_file, occurs_on_disk

from nanobot_transcript import ConfigError, GroupTranscriptStore

KEY = "feishu:oc_shared"


def run(code: str, *arguments: object) -> int:
    """A process of its own; its exit code."""
    return subprocess.run([sys.executable, "-c", code, *map(str, arguments)], timeout=50, check=False).returncode


KILLED_WHILE_ITS_INDEX_GREW = """
import os, sys
from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.store.jsonl import idtable
publish = idtable.IdTable.publish
def die(self, path):
    if len(self.words) > 2 * idtable.FIRST_CAPACITY + 8:
        os.kill(os.getpid(), 9)
    publish(self, path)
idtable.IdTable.publish = die
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
        thread.join(30)
    assert [chat.session_key for chat in GroupTranscriptStore(tmp_path / "store").chats()] == sorted(keys)


def test_segments_without_room_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="segment"):
        GroupTranscriptStore(tmp_path / "store", segment_bytes=0)
