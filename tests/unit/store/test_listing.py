"""Readers of many chats share one look at the folder, and still see every segment that is closed meanwhile."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nanobot_transcript import GroupTranscriptStore

LONG_AGO = (1_700_000_000, 1_700_000_000)
MakeStore = Callable[..., GroupTranscriptStore]


@pytest.fixture
def looks() -> Iterator[list[str]]:
    """The folders that were listed so far."""
    found: list[str] = []
    listening = [True]

    def hear(event: str, arguments: tuple[object, ...]) -> None:
        if listening[0] and event in ("os.scandir", "os.listdir"):
            found.append(str(arguments[0]))

    sys.addaudithook(hear)  # for good: Python has no way to take it out again
    yield found
    listening[0] = False


def test_a_search_in_many_chats_lists_the_folder_no_more_often_than_in_few(
    store: GroupTranscriptStore, looks: list[str]
) -> None:
    counts: list[int] = []
    for chats in (3, 30):
        for number in range(chats):
            store.append(f"feishu:oc_{number}", "user", f"message {number}", "on_ada", f"om_{number}")
        os.utime(store.base_dir, LONG_AGO)
        looks.clear()
        assert len(store.search("message", limit=100)) == chats
        counts.append(looks.count(str(store.base_dir)))
    assert counts[0] == counts[1] <= 3


@pytest.mark.parametrize("keep_index", [True, False])
def test_what_is_closed_after_a_look_at_the_folder_is_read(make_store: MakeStore, keep_index: bool) -> None:
    reader, writer = make_store(), make_store(segment_bytes=400)
    key, expected = "feishu:oc_team", []
    for number in range(30):
        writer.append(key, "user", f"message {number}", "on_ada", f"om_{number}", 1_763_600_000_000 + number)
        if not keep_index:
            for table in Path(reader.base_dir, ".state", "index").glob("*.ids"):
                table.unlink()
        expected.append(f"message {number}")
        found = [hit.entry["content"] for hit in reader.search("message", limit=100)]
        assert found[::-1] == expected
        assert [entry["content"] for entry in reader.read(key, None, 100).entries] == expected
        os.utime(reader.base_dir, LONG_AGO)  # as if nothing had changed for long, so that the next look is kept
        reader.search("message")
    assert len(list(Path(reader.base_dir).glob("*.jsonl"))) > 5


def test_the_newest_messages_are_those_of_a_segment_that_grew_beyond_the_last_one_since(make_store: MakeStore) -> None:
    reader, writer = make_store(), make_store(segment_bytes=400)
    key = "feishu:oc_team"
    assert writer.append(key, "user", "first", "on_ada", "om_1")
    assert [message["content"] for message in reader.get_recent(key, 10)] == ["first"]
    rest = ["x" * 400, "y" * 800, "z"]
    for number, text in enumerate(rest[:2]):
        writer.append(key, "user", text, "on_ada", f"om_1{number}")
    assert [message["content"] for message in reader.get_recent(key, 10)] == ["first", *rest[:2]]
