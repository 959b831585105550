"""What was taken back, erased or edited behind a position."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.errors import InvalidCursorError
from nanobot_transcript.store.contract import Retention
from transcript_channels.nanobot_host.changes import Changes, changes_since

KEY = "feishu:oc_1"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[GroupTranscriptStore]:
    """A chat with one message of Ada's, in segments of a few lines."""
    with GroupTranscriptStore(tmp_path / "transcripts", segment_bytes=2000) as opened:
        opened.append(KEY, "user", "first", "on_ada", "om_1")
        yield opened


def say(store: GroupTranscriptStore, *message_ids: str, sender: str = "on_ada") -> None:
    for message_id in message_ids:
        store.append(KEY, "user", f'"op": "recall" says {message_id}', sender, message_id)


def test_without_ops_nothing_has_changed(store: GroupTranscriptStore) -> None:
    start = store.end(KEY)
    assert changes_since(store, KEY, start) == Changes()
    say(store, "om_2", "om_3")
    assert changes_since(store, KEY, start) == Changes()


def test_each_op_behind_the_position_is_told_with_its_target(store: GroupTranscriptStore) -> None:
    say(store, "om_2", "om_3")
    store.recall(KEY, "om_1")
    start = store.end(KEY)
    store.recall(KEY, "om_2")
    store.redact(KEY, "om_unknown")
    store.edit(KEY, "om_3", "new")
    assert changes_since(store, KEY, start) == Changes(hidden={"om_2", "om_unknown"}, edited={"om_3"})
    assert changes_since(store, KEY, store.end(KEY)) == Changes()


def test_a_part_stands_for_the_whole_message(store: GroupTranscriptStore) -> None:
    start = store.end(KEY)
    store.append(KEY, "assistant", "long", "Alpha", "om_p1", message_ids=["om_p1", "om_p2"], source="send")
    store.recall(KEY, "om_p2")
    assert changes_since(store, KEY, start).hidden == {"om_p1", "om_p2"}
    store.maintain([KEY])
    assert changes_since(store, KEY, start).hidden == {"om_p1", "om_p2"}


def test_ops_are_found_when_the_file_was_closed_meanwhile(store: GroupTranscriptStore) -> None:
    start = store.end(KEY)
    store.recall(KEY, "om_1")
    say(store, *(f"om_x{number}" for number in range(20)))
    store.recall(KEY, "om_x1")
    assert changes_since(store, KEY, start) == Changes(hidden={"om_1", "om_x1"})


def test_very_far_back_everything_counts_as_possibly_erased(store: GroupTranscriptStore) -> None:
    start = store.end(KEY)
    say(store, *(f"om_x{number}" for number in range(60)))
    assert changes_since(store, KEY, start) == Changes(erased=True)


def test_a_purge_of_a_person_or_by_age_says_that_text_was_erased(store: GroupTranscriptStore) -> None:
    start = store.end(KEY)
    store.purge(sender="on_ada")
    assert changes_since(store, KEY, start) == Changes(erased=True)
    start = store.end(KEY)
    say(store, "om_9")
    assert changes_since(store, KEY, start) == Changes()


def test_a_purge_of_the_chat_says_so_before_and_after_the_next_message(store: GroupTranscriptStore) -> None:
    start = store.end(KEY)
    store.purge(KEY)
    assert changes_since(store, KEY, start) == Changes(erased=True)
    say(store, "om_9")
    assert changes_since(store, KEY, start) == Changes(erased=True)


def test_what_retention_drops_is_erased(store: GroupTranscriptStore) -> None:
    say(store, *(f"om_x{number}" for number in range(20)))
    start = store.end(KEY)
    store.maintain([KEY], Retention(max_entries=1))
    assert changes_since(store, KEY, start) == Changes(erased=True)


def test_a_store_that_is_not_there_now_has_not_erased_anything(store: GroupTranscriptStore, tmp_path: Path) -> None:
    start = store.end(KEY)
    elsewhere = GroupTranscriptStore(tmp_path / "not mounted")
    assert changes_since(elsewhere, KEY, start) == Changes()


@pytest.mark.parametrize("cursor", ["", "x", "c1.000000.1.1"])
def test_a_foreign_position_is_refused(store: GroupTranscriptStore, cursor: str) -> None:
    with pytest.raises(InvalidCursorError):
        changes_since(store, KEY, cursor)
