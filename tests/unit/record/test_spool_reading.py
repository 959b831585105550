"""A reader sees what its own process wrote, whether the record has it or not, and nothing twice."""

import asyncio
import time
from collections.abc import Callable

import pytest
from support.far_backend import FaultyFar
from support.spools import KEY, flushed, say
from support.transcripts import contents, drain, drain_back, recent_contents
from unit.record.conftest import MakeProcess

from nanobot_transcript import AsyncGroupTranscriptStore, Changes, GroupTranscriptStore, StoreUnavailableError

OTHER = "feishu:oc_2"
NOW = int(time.time() * 1000)


@pytest.fixture
def store(far: FaultyFar, record: GroupTranscriptStore, process: MakeProcess) -> GroupTranscriptStore:
    """A process that cannot hand on: the record holds om_1 to om_3, and its own tail says more."""
    for number in (1, 2, 3):
        record.append(KEY, "user", f"text {number}", "on_bo", f"om_{number}", NOW + number)
    store = process(read_seconds=0.0)
    assert contents(store.recent(KEY).entries) == ["text 1", "text 2", "text 3"]
    far.deaf = True
    return store


def reads(store: GroupTranscriptStore) -> list[list[str]]:
    """What the calls about the present show."""
    return [
        recent_contents(store, KEY),
        contents(store.recent(KEY, 100).entries),
        contents(store.scan(KEY)),
    ]


def test_an_own_message_is_seen_at_once_and_once(far: FaultyFar, store: GroupTranscriptStore) -> None:
    store.append(KEY, "user", "text 4", "on_ada", "om_4", NOW + 4)
    store.append(KEY, "user", "no id", "on_ada", None, NOW + 5)
    expected = ["text 1", "text 2", "text 3", "text 4", "no id"]
    assert reads(store) == [expected] * 3
    assert recent_contents(store, KEY, 2) == expected[-2:]
    assert (store.get(KEY, "om_4") or {}).get("content") == "text 4"
    assert store.get_many(KEY, ["om_1", "om_4", "om_9"]).keys() == {"om_1", "om_4"}
    assert [hit.entry["content"] for hit in store.search("text")] == ["text 4", "text 3", "text 2", "text 1"]
    far.deaf = False
    flushed(store)
    assert reads(store) == [expected] * 3


def test_an_own_message_stands_where_its_time_puts_it(store: GroupTranscriptStore) -> None:
    store.append(KEY, "user", "between", "on_ada", "om_4", NOW + 2)
    assert recent_contents(store, KEY) == ["text 1", "text 2", "between", "text 3"]


def test_what_the_record_has_already_is_not_shown_twice(store: GroupTranscriptStore) -> None:
    store.append(KEY, "user", "text 1", "on_bo", "om_1", NOW + 1)
    store.append(KEY, "user", "text 1", "on_bo", "om_1", NOW + 1)
    assert reads(store) == [["text 1", "text 2", "text 3"]] * 3
    assert recent_contents(store, KEY, 1) == ["text 3"]
    assert [hit.entry["content"] for hit in store.search("text 1")] == ["text 1"]


def test_an_own_edit_and_recall_are_seen_at_once(far: FaultyFar, store: GroupTranscriptStore) -> None:
    store.edit(KEY, "om_1", "changed")
    store.append(KEY, "user", "text 4", "on_ada", "om_4", NOW + 4)
    store.edit(KEY, "om_4", "changed, too")
    store.recall(KEY, "om_2")
    expected = ["changed", "text 3", "changed, too"]
    for _ in range(2):
        assert reads(store) == [expected] * 3
        assert recent_contents(store, KEY, 3) == expected
        assert (store.get(KEY, "om_1") or {}).get("content") == "changed"
        assert store.get(KEY, "om_2") is None
        assert store.search("text 2") == store.search("text 1") == []
        assert [hit.entry["content"] for hit in store.search("changed")] == ["changed, too", "changed"]
        far.deaf = False
        flushed(store)


def test_the_senders_own_words_are_seen_at_once(record: GroupTranscriptStore, store: GroupTranscriptStore) -> None:
    record.append(KEY, "assistant", "[card]", "Alpha", "om_4", NOW + 4, source="peer_event")
    store.append(KEY, "assistant", "My words.", "Alpha", "om_4", NOW + 4, source="send")
    store.append(KEY, "assistant", "[another]", "Alpha", "om_5", NOW + 5, source="peer_event")
    store.append(KEY, "assistant", "Mine, too.", "Alpha", "om_5", NOW + 5, source="send")
    assert [texts[3:] for texts in reads(store)] == [["My words.", "Mine, too."]] * 3
    assert (store.get(KEY, "om_4") or {}).get("content") == "My words."


def test_a_message_taken_back_does_not_make_the_answer_shorter(
    record: GroupTranscriptStore, store: GroupTranscriptStore
) -> None:
    for number in range(4, 60):
        record.append(KEY, "user", f"text {number}", "on_bo", f"om_{number}", NOW + number)
    for number in range(50, 60):
        store.recall(KEY, f"om_{number}")
    assert recent_contents(store, KEY, 5) == [f"text {number}" for number in range(45, 50)]


def test_what_is_taken_back_is_told_and_an_edit_once_the_record_has_it(
    far: FaultyFar, record: GroupTranscriptStore, store: GroupTranscriptStore
) -> None:
    record.append(KEY, "assistant", "long", "Alpha", "om_p1", message_ids=["om_p1", "om_p2"], source="send")
    start = store.end(KEY)
    assert store.changes(KEY, start) == Changes()
    store.recall(KEY, "om_p2")
    store.edit(KEY, "om_1", "changed")
    assert store.changes(KEY, start) == Changes(hidden={"om_p1", "om_p2"})
    far.deaf = False
    flushed(store)
    assert store.changes(KEY, start) == Changes(hidden={"om_p1", "om_p2"}, edited={"om_1"})


def test_page_by_page_each_line_comes_once(far: FaultyFar, store: GroupTranscriptStore) -> None:
    say(store, "om_4", "om_5")
    first = drain(store, KEY, limit=2)
    assert contents(first.entries) == ["text 1", "text 2", "text 3"]
    assert contents(drain_back(store, KEY, limit=2)) == ["text 1", "text 2", "text 3"]
    cursors = {first.cursor, store.end(KEY), store.recent(KEY, 3).cursor}
    far.deaf = False
    flushed(store)
    for cursor in cursors:
        assert contents(store.read(KEY, cursor).entries) == ["text of om_4", "text of om_5"]
    assert len(drain_back(store, KEY, limit=2)) == 5


def test_a_chat_that_only_the_tail_has_is_listed(store: GroupTranscriptStore) -> None:
    say(store, "om_1", key=OTHER)
    assert [chat.session_key for chat in store.chats()] == [KEY, OTHER]
    assert all(chat.bytes > 100 for chat in store.chats())


async def test_who_follows_is_given_each_line_once_when_the_record_has_it(
    far: FaultyFar, record: GroupTranscriptStore, store: GroupTranscriptStore
) -> None:
    front = AsyncGroupTranscriptStore.over(store)
    lines = front.follow(KEY, await front.end(KEY))
    await front.append(KEY, "user", "mine", "on_ada", "om_4")
    record.append(KEY, "user", "another's", "on_bo", "om_5")
    assert (await anext(lines))["content"] == "another's"
    coming = asyncio.ensure_future(anext(lines))
    far.deaf = False
    assert (await coming)["content"] == "mine"
    await lines.aclose()


async def test_appends_run_in_place_on_an_event_loop_and_reads_in_a_thread(
    far: FaultyFar, process: MakeProcess
) -> None:
    front = AsyncGroupTranscriptStore.over(process())
    far.down = True
    for number in range(3):
        appending = front.append(KEY, "user", "x", "on_ada", f"om_{number}")
        with pytest.raises(StopIteration) as ended:
            appending.send(None)  # nothing is awaited
        assert ended.value.value is True
    far.down = False
    assert len((await front.recent(KEY)).entries) == 3


def test_a_read_waits_for_what_was_just_written(far: FaultyFar, process: MakeProcess) -> None:
    store = process()
    for number in range(50):
        say(store, f"om_{number}")
        assert len(store.read(KEY, limit=100).entries) == number + 1


# -- without the record


WHOLE: dict[str, Callable[[GroupTranscriptStore], object]] = {
    "get_recent": lambda store: store.get_recent(KEY),
    "recent": lambda store: store.recent(KEY),
    "read": lambda store: store.read(KEY),
    "read_back": lambda store: store.read_back(KEY),
    "end": lambda store: store.end(KEY),
    "changes": lambda store: store.changes(KEY, "c1.000000.1.1"),
    "search": lambda store: store.search("text"),
    "scan": lambda store: list(store.scan(KEY)),
    "chats": lambda store: store.chats(),
    "get": lambda store: store.get(KEY, "om_9"),
    "get_many": lambda store: store.get_many(KEY, ["om_4", "om_9"]),
    "redact": lambda store: store.redact(KEY, "om_4"),
    "purge": lambda store: store.purge(KEY),
    "verify": lambda store: store.verify(KEY),
    "maintain": lambda store: store.maintain(),
}


@pytest.mark.parametrize("call", WHOLE)
def test_half_a_transcript_does_not_pass_for_the_whole(far: FaultyFar, store: GroupTranscriptStore, call: str) -> None:
    say(store, "om_4")
    far.down = True
    with pytest.raises(StoreUnavailableError):
        WHOLE[call](store)


def test_what_the_tail_alone_tells_is_answered_without_the_record(far: FaultyFar, store: GroupTranscriptStore) -> None:
    far.down = True
    say(store, "om_4", "om_5")
    store.edit(KEY, "om_4", "changed")
    store.recall(KEY, "om_1")
    store.recall(KEY, "om_5")
    assert (store.get(KEY, "om_4") or {}).get("content") == "changed"
    assert store.get(KEY, "om_1") is store.get(KEY, "om_5") is None
    assert store.get_many(KEY, ["om_1", "om_4"]).keys() == {"om_4"}
