"""What was taken back, erased or edited behind a position, and many messages at once by their ids."""

from collections.abc import Callable

import pytest

from nanobot_transcript import AsyncGroupTranscriptStore, GroupTranscriptStore, InvalidCursorError, Retention
from nanobot_transcript.store.contract import Changes

KEY = "feishu:oc_1"
MakeStore = Callable[..., GroupTranscriptStore]


@pytest.fixture
def store(make_store: MakeStore) -> GroupTranscriptStore:
    """A chat with one message of Ada's, in segments of a few lines."""
    opened = make_store(segment_bytes=2000)
    opened.append(KEY, "user", "first", "on_ada", "om_1")
    return opened


def say(store: GroupTranscriptStore, *message_ids: str, sender: str = "on_ada") -> None:
    for message_id in message_ids:
        store.append(KEY, "user", f'"op": "recall" says {message_id}', sender, message_id)


def test_without_ops_nothing_has_changed(store: GroupTranscriptStore) -> None:
    start = store.end(KEY)
    assert store.changes(KEY, start) == Changes()
    say(store, "om_2", "om_3")
    assert store.changes(KEY, start) == Changes()


def test_each_op_behind_the_position_is_told_with_its_target(store: GroupTranscriptStore) -> None:
    say(store, "om_2", "om_3")
    store.recall(KEY, "om_1")
    start = store.end(KEY)
    store.recall(KEY, "om_2")
    store.redact(KEY, "om_unknown")
    store.edit(KEY, "om_3", "new")
    assert store.changes(KEY, start) == Changes(hidden={"om_2", "om_unknown"}, edited={"om_3"})
    assert store.changes(KEY, store.end(KEY)) == Changes()


def test_a_part_stands_for_the_whole_message(store: GroupTranscriptStore) -> None:
    start = store.end(KEY)
    store.append(KEY, "assistant", "long", "Alpha", "om_p1", message_ids=["om_p1", "om_p2"], source="send")
    store.recall(KEY, "om_p2")
    assert store.changes(KEY, start).hidden == {"om_p1", "om_p2"}
    store.maintain([KEY])
    assert store.changes(KEY, start).hidden == {"om_p1", "om_p2"}


def test_ops_are_found_when_the_file_was_closed_meanwhile(store: GroupTranscriptStore) -> None:
    start = store.end(KEY)
    store.recall(KEY, "om_1")
    say(store, *(f"om_x{number}" for number in range(20)))
    store.recall(KEY, "om_x1")
    assert store.changes(KEY, start) == Changes(hidden={"om_1", "om_x1"})


def test_very_far_back_it_may_be_that_nobody_knows_any_more(store: GroupTranscriptStore) -> None:
    start = store.end(KEY)
    say(store, *(f"om_x{number}" for number in range(60)))
    assert store.changes(KEY, start) in (Changes(), Changes(erased=True))


def test_a_purge_of_a_person_or_by_age_says_that_text_was_erased(store: GroupTranscriptStore) -> None:
    start = store.end(KEY)
    store.purge(sender="on_ada")
    assert store.changes(KEY, start) == Changes(erased=True)
    start = store.end(KEY)
    say(store, "om_9")
    assert store.changes(KEY, start) == Changes()


def test_a_purge_of_the_chat_says_so_before_and_after_the_next_message(store: GroupTranscriptStore) -> None:
    start = store.end(KEY)
    store.purge(KEY)
    assert store.changes(KEY, start) == Changes(erased=True)
    say(store, "om_9")
    assert store.changes(KEY, start) == Changes(erased=True)


def test_what_retention_drops_is_erased(store: GroupTranscriptStore) -> None:
    say(store, *(f"om_x{number}" for number in range(20)))
    start = store.end(KEY)
    store.maintain([KEY], Retention(max_entries=1))
    assert store.changes(KEY, start) == Changes(erased=True)


@pytest.mark.parametrize("cursor", ["", "x", "c1.000000.1.1"])
def test_a_foreign_position_is_refused(store: GroupTranscriptStore, cursor: str) -> None:
    with pytest.raises(InvalidCursorError):
        store.changes(KEY, cursor)


def test_an_empty_chat_has_no_changes_and_no_messages(make_store: MakeStore) -> None:
    store = make_store()
    assert store.changes(KEY, store.end(KEY)) == Changes()
    assert store.get_many(KEY, ["om_1"]) == {}


# -- many messages at once


@pytest.mark.parametrize("reader", ["same", "fresh"])
def test_many_messages_are_found_as_each_of_them_is(make_store: MakeStore, reader: str) -> None:
    store = make_store(segment_bytes=1500)
    ids = [f"om_{number}" for number in range(60)]
    for number, message_id in enumerate(ids):
        store.append(KEY, "user", f"text {number}", "on_ada" if number % 7 else "on_bo", message_id)
    store.append(KEY, "assistant", "card", "cli_a", "om_part1", source="peer_event")
    store.append(KEY, "assistant", "rest", "cli_a", "om_part2", source="peer_event")
    store.append(KEY, "assistant", "whole", "Alpha", "om_part1", source="send", message_ids=["om_part1", "om_part2"])
    store.append(KEY, "assistant", "long", "Alpha", message_ids=["om_a", "om_b"])
    store.edit(KEY, "om_3", "changed")
    store.recall(KEY, "om_4")
    store.redact(KEY, "om_b")
    store.purge(KEY, sender="on_bo")
    store.append(KEY, "user", "again", "on_bo", "om_7")
    store.recall(KEY, "om_unheard")
    asked = [*ids, "om_part1", "om_part2", "om_a", "om_b", "om_unheard", "om_unknown", "om_3"]
    looking = store if reader == "same" else make_store()
    each = {message_id: looking.get(KEY, message_id) for message_id in asked}
    found = looking.get_many(KEY, iter(asked))
    assert found == {message_id: entry for message_id, entry in each.items() if entry is not None}
    assert found["om_3"]["content"] == "changed"
    assert found["om_7"]["content"] == "again"
    assert len(found) == 60 - 9 - 1 + 1 + 1  # Bo's nine but for the one said again, the recalled one, and the whole


def test_asking_for_nothing_or_for_no_ids_finds_nothing(store: GroupTranscriptStore) -> None:
    assert store.get_many(KEY, []) == {}
    assert store.get_many(KEY, ["", "om_1"]).keys() == {"om_1"}


def test_after_a_purge_of_the_chat_none_of_many_is_there(make_store: MakeStore) -> None:
    store = make_store(segment_bytes=1500)
    ids = [f"om_{number}" for number in range(60)]
    for message_id in ids:
        store.append(KEY, "user", "text", "on_ada", message_id)
    store.purge(KEY)
    store.append(KEY, "user", "text", "on_ada", "om_5")
    assert store.get_many(KEY, ids).keys() == make_store().get_many(KEY, ids).keys() == {"om_5"}


async def test_both_can_be_awaited(store: GroupTranscriptStore) -> None:
    front = AsyncGroupTranscriptStore.over(store)
    start = await front.end(KEY)
    await front.recall(KEY, "om_1")
    assert await front.changes(KEY, start) == Changes(hidden={"om_1"})
    assert await front.get_many(KEY, ["om_1"]) == {}
