"""What every backend promises: the seed's calls to the letter, one record per message, ops that fold."""

import inspect
import time
from collections.abc import Callable

import pytest
from support.transcripts import contents, drain, recent_contents

from nanobot_transcript import AsyncGroupTranscriptStore, GroupTranscriptStore, InvalidEntryError
from nanobot_transcript.entry import Source

KEY = "feishu:oc_a"
OTHER = "feishu:oc_b"
NOW = int(time.time() * 1000)

MakeStore = Callable[..., GroupTranscriptStore]


# -- the seed's API


def test_append_and_get_recent_take_the_seeds_parameters_in_the_seeds_order() -> None:
    append = list(inspect.signature(GroupTranscriptStore.append).parameters.values())[1:7]
    assert [p.name for p in append] == [
        "session_key",
        "role",
        "content",
        "sender",
        "message_id",
        "timestamp_ms",
    ]
    assert [p.default for p in append[4:]] == [None, None]
    recent = list(inspect.signature(GroupTranscriptStore.get_recent).parameters.values())[1:]
    assert [p.name for p in recent] == ["session_key", "max_messages"]
    assert recent[1].default == 20


def test_a_written_message_comes_back_with_role_content_and_sender(store: GroupTranscriptStore) -> None:
    assert store.append(KEY, "user", "大家好", "on_ada", "om_1", NOW) is True
    assert store.get_recent(KEY) == [{"role": "user", "content": "大家好", "sender": "on_ada"}]


def test_recent_messages_come_oldest_first_and_only_the_newest_ones(store: GroupTranscriptStore) -> None:
    for number in range(30):
        store.append(KEY, "user", str(number), "on_ada", f"om_{number}", NOW + number)
    assert recent_contents(store, KEY, 3) == ["27", "28", "29"]
    assert len(store.get_recent(KEY)) == 20


@pytest.mark.parametrize("limit", [0, -1, -100])
def test_no_messages_are_asked_for_none_come(store: GroupTranscriptStore, limit: int) -> None:
    store.append(KEY, "user", "x", "on_ada")
    assert store.get_recent(KEY, limit) == []
    assert store.recent(KEY, limit).entries == []


def test_a_full_entry_has_the_seeds_five_keys_and_what_else_was_given(store: GroupTranscriptStore) -> None:
    store.append(
        KEY,
        "assistant",
        "done",
        "Alpha",
        "om_1",
        NOW,
        sender_name="Alpha",
        sender_kind="bot",
        ids={"app_id": "cli_a"},
        msg_type="text",
        mentions=[{"name": "Ada", "id": "on_ada"}],
        reply_to="om_0",
        root_id="om_0",
        thread_id="omt_1",
        pos=7,
        message_ids=["om_1", "om_2"],
        agent="Alpha",
        hop=2,
        source="send",
    )
    (entry,) = store.read(KEY).entries
    assert entry.pop("rts") > 0
    assert entry == {
        "role": "assistant",
        "content": "done",
        "sender": "Alpha",
        "message_id": "om_1",
        "ts": NOW,
        "sender_name": "Alpha",
        "sender_kind": "bot",
        "ids": {"app_id": "cli_a"},
        "msg_type": "text",
        "mentions": [{"name": "Ada", "id": "on_ada"}],
        "reply_to": "om_0",
        "root_id": "om_0",
        "thread_id": "omt_1",
        "pos": 7,
        "message_ids": ["om_1", "om_2"],
        "agent": "Alpha",
        "hop": 2,
        "source": "send",
    }


def test_what_is_not_known_of_a_message_has_no_key(store: GroupTranscriptStore) -> None:
    store.append(KEY, "user", "x", "on_ada", sender_name=None, mentions=None, pos=None)
    (entry,) = store.read(KEY).entries
    assert set(entry) == {"role", "content", "sender", "message_id", "ts", "rts"}
    assert entry["message_id"] is None


@pytest.mark.parametrize("content", [None, 5, {"text": "x"}, ["x"], b"x"])
def test_content_that_is_no_text_is_refused_and_nothing_is_written(
    store: GroupTranscriptStore, content: object
) -> None:
    with pytest.raises(InvalidEntryError) as caught:
        store.append(KEY, "user", content, "on_ada", "om_1")  # type: ignore[arg-type]
    assert isinstance(caught.value, ValueError)
    assert store.get_recent(KEY) == []


def test_an_unknown_field_is_refused_by_name(store: GroupTranscriptStore) -> None:
    with pytest.raises(InvalidEntryError, match="colour"):
        store.append(KEY, "user", "x", "on_ada", colour="red")  # type: ignore[call-arg]


@pytest.mark.parametrize("key", ["", None, 3])
def test_a_session_key_that_is_no_text_is_refused(store: GroupTranscriptStore, key: object) -> None:
    with pytest.raises(InvalidEntryError):
        store.append(key, "user", "x", "on_ada")  # type: ignore[arg-type]


def test_an_unknown_chat_is_empty_everywhere(store: GroupTranscriptStore) -> None:
    assert store.get_recent(KEY) == []
    assert store.recent(KEY).entries == []
    assert store.read(KEY).entries == []
    assert store.get(KEY, "om_1") is None
    assert store.search("x", KEY) == []
    assert list(store.scan(KEY)) == []
    assert store.chats() == []
    report = store.verify(KEY)
    assert (report.ok, report.torn_lines) == (True, 0)


def test_chats_lists_every_key_exactly_once(make_store: MakeStore) -> None:
    store = make_store(segment_bytes=500)
    keys = ["feishu:oc_a", "feishu_oc_a", "feishu:OC_A", "..", "群:一"]
    for key in keys:
        for number in range(20):
            store.append(key, "user", "some text", "on_ada", f"om_{number}")
    chats = make_store().chats()
    assert sorted(chat.session_key for chat in chats) == sorted(keys)
    assert all(chat.bytes > 500 and abs(chat.last_write_ms - time.time() * 1000) < 600_000 for chat in chats)


def test_another_store_object_sees_everything_at_once(make_store: MakeStore) -> None:
    one, two = make_store(), make_store()
    for number in range(10):
        writer, reader = (one, two) if number % 2 else (two, one)
        assert writer.append(KEY, "user", str(number), "on_ada", f"om_{number}", NOW + number) is True
        assert recent_contents(reader, KEY)[-1] == str(number)


def test_a_closed_store_opens_again_when_it_is_used(store: GroupTranscriptStore) -> None:
    store.append(KEY, "user", "before", "on_ada", "om_1")
    store.close()
    store.close()
    assert recent_contents(store, KEY) == ["before"]
    store.close()
    assert store.append(KEY, "user", "before", "on_ada", "om_1") is False


def test_both_fronts_have_the_same_names() -> None:
    def names(front: type) -> set[str]:
        return {name for name in dir(front) if not name.startswith("_")}

    assert names(AsyncGroupTranscriptStore) - {"over"} >= names(GroupTranscriptStore) - {"scan"}


async def test_the_asynchronous_front_does_what_the_other_one_does(store: GroupTranscriptStore) -> None:
    async with AsyncGroupTranscriptStore.over(store) as front:
        assert await front.append(KEY, "user", "one", "on_ada", "om_1", NOW) is True
        assert await front.append(KEY, "user", "one", "on_ada", "om_1", NOW) is False
        assert await front.append(KEY, "user", "two", "on_ada", "om_2", NOW + 1, sender_name="Ada") is True
        assert await front.edit(KEY, "om_1", "uno") is True
        assert await front.recall(KEY, "om_2") is True
        assert await front.get_recent(KEY) == [{"role": "user", "content": "uno", "sender": "on_ada"}]
        assert contents((await front.recent(KEY)).entries) == ["uno"]
        page = await front.read(KEY)
        assert contents(page.entries) == ["uno"]
        assert (await front.read(KEY, await front.end(KEY))).entries == []
        assert (await front.get(KEY, "om_1") or {}).get("content") == "uno"
        assert [hit.entry["content"] for hit in await front.search("uno")] == ["uno"]
        assert [chat.session_key for chat in await front.chats()] == [KEY]
        assert await front.redact(KEY, "om_1") is True
        assert (await front.verify(KEY)).ok
        await front.maintain()
        await front.purge(KEY)
        assert await front.get_recent(KEY) == []


async def test_two_tasks_of_one_loop_never_record_a_message_twice(store: GroupTranscriptStore) -> None:
    import asyncio

    front = AsyncGroupTranscriptStore.over(store)
    written = await asyncio.gather(*(front.append(KEY, "user", "x", "on_ada", "om_1") for _ in range(50)))
    assert sum(written) == 1


# -- one record per message


def test_a_message_is_recorded_once_per_chat(make_store: MakeStore) -> None:
    one, two = make_store(), make_store()
    assert one.append(KEY, "user", "x", "on_ada", "om_1") is True
    assert two.append(KEY, "user", "x", "on_ada", "om_1") is False
    assert one.append(OTHER, "user", "x", "on_ada", "om_1") is True
    assert recent_contents(one, KEY) == ["x"]


def test_a_part_of_a_message_in_several_parts_is_not_recorded_again(store: GroupTranscriptStore) -> None:
    parts = ["om_1", "om_2", "om_3"]
    assert store.append(KEY, "assistant", "one two three", "Alpha", "om_1", message_ids=parts) is True
    assert [store.append(KEY, "assistant", "a part", "Alpha", part) for part in parts] == [False] * 3
    assert recent_contents(store, KEY) == ["one two three"]


def test_a_message_whose_part_was_recorded_is_not_recorded_again(store: GroupTranscriptStore) -> None:
    assert store.append(KEY, "assistant", "two", "Alpha", "om_2") is True
    assert store.append(KEY, "assistant", "one two", "Alpha", "om_1", message_ids=["om_1", "om_2"]) is False
    assert len(store.get_recent(KEY)) == 1


def test_every_part_of_a_message_leads_to_it(store: GroupTranscriptStore) -> None:
    store.append(KEY, "assistant", "one two", "Alpha", "om_1", message_ids=["om_1", "om_2"])
    for part in ("om_1", "om_2"):
        assert (store.get(KEY, part) or {}).get("content") == "one two"


ODD_IDS = [
    "*",
    "\0hidden\0om_1",
    "\0sent\0om_1",
    "\0",
    " ",
    "\n",
    "om_1 ",
    "OM_1",
    "群",
    '"',
    "\\",
    "0",
    "null",
    "x" * 9999,
]


def test_any_text_is_an_id(make_store: MakeStore) -> None:
    """Ids come from platforms; none of them may mean anything to the store."""
    store = make_store()
    for number, odd in enumerate(["om_1", *ODD_IDS]):
        assert store.append(KEY, "user", f"text {number}", "on_ada", odd, NOW + number) is True
    for reader in (store, make_store()):
        assert recent_contents(reader, KEY) == [f"text {number}" for number in range(len(ODD_IDS) + 1)]
        for number, odd in enumerate(["om_1", *ODD_IDS]):
            assert reader.append(KEY, "user", "again", "on_ada", odd) is False
            assert (reader.get(KEY, odd) or {}).get("content") == f"text {number}"


@pytest.mark.parametrize("odd", ODD_IDS, ids=lambda odd: repr(odd[:20]))
def test_a_message_with_any_id_can_be_edited_and_recalled(make_store: MakeStore, odd: str) -> None:
    store = make_store()
    store.append(KEY, "user", "old", "on_ada", odd, NOW)
    store.append(KEY, "user", "other", "on_ada", "om_1", NOW + 1)
    store.edit(KEY, odd, "new")
    for reader in (store, make_store()):
        assert recent_contents(reader, KEY) == contents(reader.scan(KEY)) == ["new", "other"]
    assert store.recall(KEY, odd) is True
    store.maintain()
    for reader in (store, make_store()):
        assert recent_contents(reader, KEY) == contents(reader.scan(KEY)) == ["other"]
        assert reader.append(KEY, "user", "old", "on_ada", odd) is False


def test_message_ids_alone_are_enough_to_be_recorded_once(store: GroupTranscriptStore) -> None:
    assert store.append(KEY, "assistant", "x", "Alpha", message_ids=["om_1", "om_2"]) is True
    assert store.append(KEY, "assistant", "x", "Alpha", "om_2") is False


def test_a_duplicate_is_refused_after_rotation_maintenance_and_reopening(make_store: MakeStore) -> None:
    store = make_store(segment_bytes=600)
    for number in range(40):
        store.append(KEY, "user", f"text {number}", "on_ada", f"om_{number}")
    store.maintain()
    fresh = make_store(segment_bytes=600)
    assert not any(fresh.append(KEY, "user", "again", "on_ada", f"om_{number}") for number in range(40))
    assert len(list(fresh.scan(KEY))) == 40


# -- edit, recall, redact


def test_an_edited_message_shows_its_newest_text_in_the_old_place(store: GroupTranscriptStore) -> None:
    for number in range(3):
        store.append(KEY, "user", str(number), "on_ada", f"om_{number}", NOW + number)
    assert store.edit(KEY, "om_1", "first change", "on_ada") is True
    assert store.edit(KEY, "om_1", "second change", "on_ada") is True
    expected = ["0", "second change", "2"]
    assert recent_contents(store, KEY) == expected
    assert contents(store.read(KEY).entries) == expected
    assert contents(store.scan(KEY)) == expected
    assert (store.get(KEY, "om_1") or {}).get("content") == "second change"


def test_an_edit_leaves_the_other_fields_of_a_message_as_they_were(store: GroupTranscriptStore) -> None:
    store.append(KEY, "user", "old", "on_ada", "om_1", NOW, sender_name="Ada", thread_id="omt_1")
    store.edit(KEY, "om_1", "new")
    (entry,) = store.read(KEY).entries
    assert (entry["content"], entry["sender"], entry.get("sender_name")) == ("new", "on_ada", "Ada")
    assert (entry["ts"], entry["message_id"], entry.get("thread_id")) == (NOW, "om_1", "omt_1")


def test_an_edit_reaches_a_message_in_an_older_segment(make_store: MakeStore) -> None:
    store = make_store(segment_bytes=500)
    for number in range(30):
        store.append(KEY, "user", f"text {number}", "on_ada", f"om_{number}", NOW + number)
    store.edit(KEY, "om_0", "changed")
    for reader in (store, make_store(segment_bytes=500)):
        assert contents(drain(reader, KEY, limit=7).entries)[0] == "changed"
        assert recent_contents(reader, KEY)[0] == "changed"
        assert (reader.get(KEY, "om_0") or {}).get("content") == "changed"


def test_a_recalled_message_is_not_shown_anywhere(make_store: MakeStore) -> None:
    store = make_store()
    for number in range(3):
        store.append(KEY, "user", f"text {number}", "on_ada", f"om_{number}", NOW + number)
    assert recent_contents(store, KEY) == ["text 0", "text 1", "text 2"]
    assert make_store().recall(KEY, "om_1", "on_ada") is True
    expected = ["text 0", "text 2"]
    assert recent_contents(store, KEY) == expected
    assert contents(store.recent(KEY).entries) == expected
    assert contents(store.read(KEY).entries) == expected
    assert contents(store.scan(KEY)) == expected
    assert store.get(KEY, "om_1") is None
    assert store.search("text 1") == []


@pytest.mark.parametrize("hide", ["recall", "redact"])
def test_a_message_is_hidden_once(store: GroupTranscriptStore, hide: str) -> None:
    store.append(KEY, "user", "x", "on_ada", "om_1")
    assert getattr(store, hide)(KEY, "om_1") is True
    assert getattr(store, hide)(KEY, "om_1") is False
    assert store.recall(KEY, "om_1") is False


@pytest.mark.parametrize("hide", ["recall", "redact"])
@pytest.mark.parametrize("maintained", [False, True])
def test_a_recalled_message_that_is_pushed_again_does_not_come_back(
    make_store: MakeStore, hide: str, maintained: bool
) -> None:
    store = make_store()
    store.append(KEY, "user", "secret", "on_ada", "om_1")
    getattr(store, hide)(KEY, "om_1")
    if maintained:
        store.maintain()
    for again in (store, make_store()):
        assert again.append(KEY, "user", "secret", "on_ada", "om_1", source="history") is False
        assert again.get_recent(KEY) == []


@pytest.mark.parametrize("hide", ["recall", "redact"])
def test_a_message_recalled_before_it_arrives_is_never_shown(make_store: MakeStore, hide: str) -> None:
    store = make_store()
    assert getattr(store, hide)(KEY, "om_1") is True
    store.maintain()
    assert make_store().append(KEY, "user", "secret", "on_ada", "om_1") is False
    assert store.get_recent(KEY) == []
    assert list(store.scan(KEY)) == []


@pytest.mark.parametrize("part", ["om_1", "om_2"])
def test_a_message_in_parts_is_hidden_by_the_recall_of_any_part(store: GroupTranscriptStore, part: str) -> None:
    store.append(KEY, "assistant", "one two", "Alpha", "om_1", message_ids=["om_1", "om_2"])
    store.recall(KEY, part)
    assert store.get_recent(KEY) == []
    assert list(store.scan(KEY)) == []
    assert store.search("one") == []


def test_a_recalled_message_stays_hidden_when_it_is_edited(store: GroupTranscriptStore) -> None:
    store.append(KEY, "user", "old", "on_ada", "om_1")
    store.edit(KEY, "om_1", "new")
    store.recall(KEY, "om_1")
    store.edit(KEY, "om_1", "newer")
    assert store.get_recent(KEY) == []
    assert store.search("new") == []


@pytest.mark.parametrize("call", ["edit", "recall", "redact"])
@pytest.mark.parametrize("target", ["", None])
def test_an_op_without_a_target_is_refused(store: GroupTranscriptStore, call: str, target: object) -> None:
    arguments = (KEY, target, "text") if call == "edit" else (KEY, target)
    with pytest.raises(InvalidEntryError):
        getattr(store, call)(*arguments)


def test_hidden_messages_do_not_take_the_place_of_others(store: GroupTranscriptStore) -> None:
    """Asking for 20 gives 20, however many of the newest were recalled."""
    for number in range(400):
        store.append(KEY, "user", str(number), "on_ada", f"om_{number}", NOW + number)
    for number in range(100, 400):
        store.recall(KEY, f"om_{number}")
    assert recent_contents(store, KEY, 20) == [str(number) for number in range(80, 100)]


def test_many_edits_do_not_take_the_place_of_messages(store: GroupTranscriptStore) -> None:
    for number in range(30):
        store.append(KEY, "user", str(number), "on_ada", f"om_{number}", NOW + number)
    for number in range(500):
        store.edit(KEY, "om_29", f"change {number}")
    assert recent_contents(store, KEY, 30) == [*map(str, range(29)), "change 499"]


# -- the sender's own text


@pytest.mark.parametrize("first", ["peer_event", "history"])
@pytest.mark.parametrize("own", ["send", "stream"])
@pytest.mark.parametrize("reader", ["same", "fresh"])
def test_the_senders_own_text_replaces_what_others_saw_of_it(
    make_store: MakeStore, first: Source, own: Source, reader: str
) -> None:
    seen_by_others, sender = make_store(), make_store()
    seen_by_others.append(KEY, "assistant", "[card]", "cli_a", "om_1", NOW, source=first)
    seen_by_others.append(KEY, "user", "later", "on_ada", "om_2", NOW + 1)
    assert sender.append(KEY, "assistant", "**bold**", "Alpha", "om_1", NOW, source=own, agent="Alpha") is False
    store = seen_by_others if reader == "same" else make_store()
    assert store.get_recent(KEY)[0] == {"role": "assistant", "content": "**bold**", "sender": "Alpha"}
    for entry in (store.read(KEY).entries[0], next(store.scan(KEY)), store.get(KEY, "om_1")):
        assert entry is not None
        assert (entry["content"], entry.get("agent"), entry["sender"]) == ("**bold**", "Alpha", "Alpha")
    assert recent_contents(store, KEY) == ["**bold**", "later"]
    assert [hit.entry["content"] for hit in store.search("bold")] == ["**bold**"]
    assert store.search("[card]") == []


def test_the_senders_own_text_is_not_replaced_by_what_others_saw(store: GroupTranscriptStore) -> None:
    store.append(KEY, "assistant", "**bold**", "Alpha", "om_1", source="send", agent="Alpha")
    assert store.append(KEY, "user", "[card]", "cli_a", "om_1", source="peer_event") is False
    assert store.append(KEY, "user", "[card]", "cli_a", "om_1", source="history") is False
    assert store.get_recent(KEY) == [{"role": "assistant", "content": "**bold**", "sender": "Alpha"}]


def test_a_persons_message_is_not_replaced_by_a_bots_claim_to_it(store: GroupTranscriptStore) -> None:
    store.append(KEY, "user", "as it was said", "on_ada", "om_1", source="event")
    assert store.append(KEY, "assistant", "as I tell it", "Alpha", "om_1", source="send") is False
    assert recent_contents(store, KEY) == ["as it was said"]


def test_the_senders_own_text_counts_once(make_store: MakeStore) -> None:
    """A retry of the sender adds no second edit."""
    store = make_store()
    store.append(KEY, "user", "[card]", "cli_a", "om_1", source="peer_event")
    start = store.verify(KEY).ops
    for again in (store, store, make_store()):
        assert again.append(KEY, "assistant", "own", "Alpha", "om_1", source="send", agent="Alpha") is False
    assert store.verify(KEY).ops == start + 1


def test_the_senders_own_text_does_not_undo_a_recall(store: GroupTranscriptStore) -> None:
    store.append(KEY, "user", "[card]", "cli_a", "om_1", source="peer_event")
    store.recall(KEY, "om_1")
    assert store.append(KEY, "assistant", "own", "Alpha", "om_1", source="send") is False
    assert store.get_recent(KEY) == []
    assert store.search("own") == []


def test_the_senders_own_text_in_parts_stands_for_the_part_that_others_saw(
    store: GroupTranscriptStore,
) -> None:
    store.append(KEY, "user", "two", "cli_a", "om_2", NOW, source="peer_event")
    parts = ["om_1", "om_2"]
    own = store.append(
        KEY, "assistant", "one two", "Alpha", "om_1", NOW, source="send", agent="Alpha", message_ids=parts
    )
    assert own is False
    assert recent_contents(store, KEY) == ["one two"]
    assert store.append(KEY, "user", "one", "cli_a", "om_1", NOW, source="history") is False
    assert recent_contents(store, KEY) == ["one two"]


# -- verify


def test_verify_counts_what_a_transcript_holds(make_store: MakeStore) -> None:
    store = make_store(segment_bytes=700)
    for number in range(20):
        store.append(KEY, "user", f"text {number}", "on_ada", f"om_{number}")
    store.edit(KEY, "om_1", "changed")
    store.recall(KEY, "om_2")
    report = make_store().verify(KEY)
    assert report.ok
    assert (report.session_key, report.entries, report.ops) == (KEY, 20, 2)
    assert report.lines == report.entries + report.ops
    assert report.segments > 1
    assert (report.duplicates, report.torn_lines, report.foreign_lines) == (0, 0, 0)
