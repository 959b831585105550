"""Purge and retention, seen through the API (what is left on the disk: tests/unit/store/test_erasure.py)."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from support.transcripts import contents, drain, recent_contents

from nanobot_transcript import GroupTranscriptStore, InvalidEntryError, Retention, TranscriptError

KEY = "feishu:oc_a"
OTHER = "feishu:oc_b"
NOW = int(time.time() * 1000)
SMALL = 600
CLOCK_MS = 20
"""Milliseconds that a clock which goes in steps may be behind."""

MakeStore = Callable[..., GroupTranscriptStore]


def fill(store: GroupTranscriptStore, key: str = KEY, count: int = 30) -> None:
    """Messages of three people in turn, one second apart."""
    for number in range(count):
        who = f"on_{number % 3}"
        store.append(key, "user", f"text {number} of {who}", who, f"om_{number}", NOW + number * 1000)


def test_a_purged_chat_is_empty_and_the_others_stay(make_store: MakeStore) -> None:
    store = make_store(segment_bytes=SMALL)
    fill(store)
    fill(store, OTHER)
    reports = store.purge(KEY)
    assert [report.session_key for report in reports] == [KEY]
    assert reports[0].erased_entries or reports[0].dropped_segments
    for reader in (store, make_store(segment_bytes=SMALL)):
        assert reader.get_recent(KEY) == []
        assert drain(reader, KEY).entries == []
        assert list(reader.scan(KEY)) == []
        assert reader.get(KEY, "om_3") is None
        assert [hit.session_key for hit in reader.search("text 3 of")] == [OTHER]
        assert len(list(reader.scan(OTHER))) == 30


def test_a_purged_chat_takes_new_messages(make_store: MakeStore) -> None:
    store, writer = make_store(segment_bytes=SMALL), make_store(segment_bytes=SMALL)
    fill(writer)
    store.purge(KEY)
    assert writer.append(KEY, "user", "new", "on_0", "om_new") is True
    assert writer.append(KEY, "user", "new", "on_0", "om_new") is False
    for reader in (store, writer, make_store(segment_bytes=SMALL)):
        assert recent_contents(reader, KEY) == ["new"]
        assert contents(reader.scan(KEY)) == ["new"]


def test_a_purged_person_is_gone_from_every_chat(make_store: MakeStore) -> None:
    store = make_store(segment_bytes=SMALL)
    fill(store)
    fill(store, OTHER)
    reports = store.purge(sender="on_1")
    assert sorted((report.session_key, report.erased_entries) for report in reports) == [
        (KEY, 10),
        (OTHER, 10),
    ]
    for reader in (store, make_store(segment_bytes=SMALL)):
        for key in (KEY, OTHER):
            assert {entry["sender"] for entry in reader.scan(key)} == {"on_0", "on_2"}
            assert {message["sender"] for message in reader.get_recent(key, 100)} == {"on_0", "on_2"}
        assert reader.search("of on_1") == []


def test_a_purged_person_is_gone_from_edits_too(store: GroupTranscriptStore) -> None:
    fill(store, count=6)
    store.edit(KEY, "om_1", "changed by on_1", "on_1")
    store.edit(KEY, "om_4", "changed without a name")
    store.purge(KEY, sender="on_1")
    assert store.search("changed") == []
    assert {entry["sender"] for entry in store.scan(KEY)} == {"on_0", "on_2"}


def test_the_purge_of_an_agent_takes_what_others_overheard_of_it(make_store: MakeStore) -> None:
    """A message that readers show as an agent's is the agent's, whoever recorded it first."""
    store = make_store()
    store.append(KEY, "assistant", "card", "cli_a", "om_1", NOW, source="peer_event")
    store.append(KEY, "assistant", "own text", "Alpha", "om_1", NOW, source="send", agent="Alpha")
    store.append(KEY, "user", "other", "on_ada", "om_2", NOW)
    store.purge(KEY, sender="Alpha")
    for reader in (store, make_store()):
        assert contents(reader.scan(KEY)) == recent_contents(reader, KEY) == ["other"]
        assert reader.search("own text") == []


def test_messages_of_others_survive_the_purge_of_a_person_as_they_were(make_store: MakeStore) -> None:
    store = make_store(segment_bytes=SMALL)
    fill(store)
    store.edit(KEY, "om_2", "changed by on_2", "on_2")
    store.recall(KEY, "om_5")
    before = [entry for entry in store.scan(KEY) if entry["sender"] != "on_1"]
    store.purge(sender="on_1")
    assert list(make_store(segment_bytes=SMALL).scan(KEY)) == before


def test_what_is_older_than_a_time_is_purged(make_store: MakeStore) -> None:
    store = make_store(segment_bytes=SMALL)
    fill(store)
    fill(store, OTHER)
    store.purge(before_ms=NOW + 20_000)
    for reader in (store, make_store(segment_bytes=SMALL)):
        for key in (KEY, OTHER):
            assert [entry["message_id"] for entry in reader.scan(key)] == [f"om_{n}" for n in range(20, 30)]
            assert len(reader.get_recent(key, 100)) == 10


def test_what_is_exactly_as_old_as_the_time_stays(store: GroupTranscriptStore) -> None:
    store.append(KEY, "user", "before", "on_0", "om_1", NOW - 1)
    store.append(KEY, "user", "at", "on_0", "om_2", NOW)
    store.purge(before_ms=NOW)
    assert contents(store.scan(KEY)) == ["at"]


def test_the_filters_of_a_purge_narrow_each_other(store: GroupTranscriptStore) -> None:
    fill(store)
    fill(store, OTHER)
    store.purge(KEY, sender="on_1", before_ms=NOW + 15_000)
    kept = [f"om_{n}" for n in range(30) if n % 3 != 1 or n >= 15]
    assert [entry["message_id"] for entry in store.scan(KEY)] == kept
    assert len(list(store.scan(OTHER))) == 30
    store.purge(sender="on_2", before_ms=NOW + 15_000)
    assert len(list(store.scan(OTHER))) == 25
    store.purge(OTHER, before_ms=NOW + 29_000)
    assert [entry["message_id"] for entry in store.scan(OTHER)] == ["om_29"]
    assert len(list(store.scan(KEY))) == len([n for n in range(30) if n >= 15 or n % 3 == 0])


@pytest.mark.parametrize(
    "purge", [{"session_key": KEY}, {"sender": "on_0"}, {"before_ms": NOW + 1}], ids=["chat", "sender", "age"]
)
def test_what_is_said_again_after_a_purge_is_not_changed_by_what_was_purged(
    make_store: MakeStore, purge: dict[str, Any]
) -> None:
    """No reader keeps an edit in mind that is gone from the record."""
    reader, writer = make_store(), make_store()
    writer.append(KEY, "user", "first", "on_0", "om_1", NOW)
    writer.edit(KEY, "om_1", "edited", "on_0", NOW)
    for store in (reader, writer):
        assert contents(store.read(KEY).entries) == recent_contents(store, KEY) == ["edited"]
    writer.purge(**purge)
    for store in (reader, writer):
        assert contents(store.read(KEY).entries) == recent_contents(store, KEY) == []
    assert writer.append(KEY, "user", "again", "on_0", "om_1", NOW + 2) is True
    for store in (reader, writer, make_store()):
        assert (
            contents(store.read(KEY).entries) == recent_contents(store, KEY) == contents(store.scan(KEY)) == ["again"]
        )
        assert (store.get(KEY, "om_1") or {}).get("content") == "again"
        assert [hit.entry["content"] for hit in store.search("again")] == ["again"]


def test_the_purge_of_a_chat_takes_its_recalls_with_it(make_store: MakeStore) -> None:
    reader, writer = make_store(), make_store()
    writer.append(KEY, "user", "first", "on_0", "om_1", NOW)
    writer.recall(KEY, "om_1")
    assert reader.read(KEY).entries == reader.get_recent(KEY) == []
    writer.purge(KEY)
    assert writer.append(KEY, "user", "again", "on_0", "om_1", NOW) is True
    for store in (reader, writer, make_store()):
        assert contents(store.read(KEY).entries) == recent_contents(store, KEY) == ["again"]


def test_everybody_can_see_when_a_chat_was_last_purged(make_store: MakeStore) -> None:
    writer, reader = make_store(), make_store()
    for key in (KEY, OTHER):
        fill(writer, key, count=3)
    assert reader.backend.purged_at(KEY) == 0
    for sender in ("on_1", None):
        before = time.time() * 1000
        writer.purge(KEY, sender=sender)
        for store in (reader, writer, make_store()):
            assert before - CLOCK_MS <= store.backend.purged_at(KEY) <= time.time() * 1000 + CLOCK_MS
            assert store.backend.purged_at(OTHER) == 0


def test_a_purge_without_a_filter_is_refused(store: GroupTranscriptStore) -> None:
    fill(store, count=3)
    with pytest.raises((InvalidEntryError, TranscriptError)) as caught:
        store.purge()
    assert isinstance(caught.value, ValueError)
    assert len(list(store.scan(KEY))) == 3


def test_the_purge_of_what_does_not_exist_does_nothing(store: GroupTranscriptStore) -> None:
    fill(store, count=3)
    store.purge("feishu:oc_unknown")
    store.purge(KEY, sender="on_unknown")
    store.purge(KEY, before_ms=1)
    assert len(list(store.scan(KEY))) == 3
    assert [chat.session_key for chat in store.chats()] == [KEY]


def test_a_recall_survives_the_purge_of_others(make_store: MakeStore) -> None:
    """What was recalled stays away when it is pushed again after a purge of somebody else's messages."""
    store = make_store()
    fill(store, count=6)
    store.recall(KEY, "om_2")
    store.purge(KEY, sender="on_1")
    assert make_store().append(KEY, "user", "text 2 of on_2", "on_2", "om_2") is False
    assert "text 2 of on_2" not in recent_contents(store, KEY)


def test_other_messages_are_still_known_after_a_purge(make_store: MakeStore) -> None:
    store = make_store(segment_bytes=SMALL)
    fill(store)
    store.purge(sender="on_1")
    for number in range(30):
        if number % 3 != 1:
            assert make_store(segment_bytes=SMALL).append(KEY, "user", "again", "on_0", f"om_{number}") is False
    assert store.verify(KEY).ok


def test_members_outlive_a_chat_and_are_forgotten_with_the_person(store: GroupTranscriptStore) -> None:
    store.members.remember_person("on_1", "Bo")
    store.members.remember_person("on_2", "Chen")
    store.members.saw(KEY, "on_2")
    fill(store)
    store.purge(KEY)
    store.purge(OTHER, sender="on_1")
    store.purge(before_ms=NOW + 1e9)
    store.maintain(retention=Retention(max_entries=1))
    assert (store.members.name_of("on_1"), store.members.name_of("on_2")) == ("Bo", "Chen")
    store.purge(sender="on_1")
    assert (store.members.name_of("on_1"), store.members.name_of("on_2")) == (None, "Chen")


def test_maintenance_without_retention_keeps_every_message(make_store: MakeStore) -> None:
    store = make_store(segment_bytes=SMALL)
    fill(store)
    before = list(store.scan(KEY))
    store.maintain()
    store.maintain([KEY])
    assert list(make_store().scan(KEY)) == before


@pytest.mark.parametrize("retention", [Retention(max_entries=12), Retention(max_bytes=2000)])
def test_retention_drops_the_oldest_whole_segments(make_store: MakeStore, retention: Retention) -> None:
    store = make_store(segment_bytes=SMALL)
    fill(store, count=60)
    size = store.chats()[0].bytes
    (report,) = store.maintain([KEY], retention)
    assert report.dropped_segments > 0
    assert report.dropped_bytes >= size - store.chats()[0].bytes > 0
    ids = [entry["message_id"] for entry in make_store(segment_bytes=SMALL).scan(KEY)]
    assert ids == [f"om_{n}" for n in range(60 - len(ids), 60)]
    assert len(ids) < 60
    assert recent_contents(store, KEY, 3) == [f"text {n} of on_{n % 3}" for n in (57, 58, 59)]


def test_retention_by_count_keeps_as_many_segments_as_fit(make_store: MakeStore) -> None:
    store = make_store(segment_bytes=SMALL)
    fill(store, count=60)
    store.maintain([KEY], Retention(max_entries=25))
    assert 15 < len(list(store.scan(KEY))) <= 25


def test_retention_never_drops_the_segment_that_is_written(make_store: MakeStore) -> None:
    store = make_store()
    fill(store)
    store.maintain([KEY], Retention(max_age_days=0, max_bytes=0, max_entries=0))
    assert len(list(store.scan(KEY))) == 30


def test_the_retention_of_a_store_is_applied_by_maintenance(make_store: MakeStore) -> None:
    store = make_store(segment_bytes=SMALL, retention=Retention(max_entries=10))
    fill(store, count=60)
    assert len(list(store.scan(KEY))) == 60
    store.maintain()
    assert len(list(store.scan(KEY))) < 30


def test_maintenance_of_one_chat_leaves_the_others(make_store: MakeStore) -> None:
    store = make_store(segment_bytes=SMALL)
    fill(store, count=60)
    fill(store, OTHER, count=60)
    store.maintain([KEY], Retention(max_entries=10))
    assert len(list(store.scan(OTHER))) == 60
