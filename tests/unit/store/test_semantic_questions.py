"""The 22 questions every transcript store has to answer, each with the answer this one gives.

Two answers differ from the usual ones: recalled text is erased at compaction (redacted and purged text
at once), and a timestamp that looks like seconds counts as unusable.
"""

import asyncio
import json
import logging
import math
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.transcripts import active_file, contents, data_files, occurs_on_disk, recent_contents

from nanobot_transcript import AsyncGroupTranscriptStore, GroupTranscriptStore, StoreError, UnsafePathError

KEY = "feishu:oc_a"
OTHER = "feishu:oc_b"
NOW = int(time.time() * 1000)
DAY = 24 * 3600


@pytest.fixture(autouse=True)
def now() -> None:
    """Each test has its own present: many compare times with the moment of arrival."""
    global NOW
    NOW = int(time.time() * 1000)


MakeStore = Callable[..., GroupTranscriptStore]


def write_raw(path: Path, *lines: bytes) -> None:
    """What another program does: append bytes without any lock."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(b"".join(line + b"\n" for line in lines))


def seed_line(content: object, message_id: str | None = None, ts: object = None, **more: object) -> bytes:
    """A line as the seed's format has it, with stdlib spacing."""
    line = {
        "role": "user",
        "content": content,
        "sender": "on_ada",
        "message_id": message_id,
        "ts": NOW if ts is None else ts,
        **more,
    }
    return json.dumps(line, ensure_ascii=False).encode()


KEYS_THAT_LOOK_ALIKE = [
    "feishu:oc_a",
    "feishu_oc_a",
    "feishu/oc_a",
    "feishu:oc_a ",
    "feishu:oc_a\n",
    "Feishu:oc_a",
    "FEISHU:OC_A",
    "feishu:oc_a\0",
    "feishu:oc_a\0b",
    "feishu:oc_a.000001",
    "feishu:oc_a.jsonl",
    ".",
    "..",
    "../feishu:oc_a",
    "/etc/passwd",
    "../../../../tmp/x",
    " ",
    "\n",
    "\0",
    "a" * 300,
    "a" * 301,
    "A" * 300,
    "群:一",
    "群:二",
    "é",
    "e\u0301",
    "\ud800",
    "\udfff",
    "🙂",
    ".state",
    "index",
]


def test_keys_that_look_alike_never_share_a_file(store: GroupTranscriptStore, base_dir: Path) -> None:
    """Q1: file name = readable prefix + hash of the exact key."""
    for number, key in enumerate(KEYS_THAT_LOOK_ALIKE):
        assert store.append(key, "user", f"said in {number}", "on_ada", "om_1") is True
    for number, key in enumerate(KEYS_THAT_LOOK_ALIKE):
        assert recent_contents(store, key) == [f"said in {number}"]
    files = data_files(base_dir)
    assert len({path.name.lower() for path in files}) == len(KEYS_THAT_LOOK_ALIKE)
    assert {chat.session_key for chat in store.chats()} >= {"..", "feishu:oc_a", "a" * 300, "群:一", "\0"}


def test_no_key_leads_outside_the_directory(tmp_path: Path, base_dir: Path) -> None:
    """Q1: whatever the key, everything the store makes is a child of its directory."""
    with GroupTranscriptStore(base_dir) as store:
        for key in KEYS_THAT_LOOK_ALIKE:
            store.append(key, "user", "x", "on_ada", "om_1")
            store.recall(key, "om_1")
    assert [path.name for path in tmp_path.iterdir()] == ["transcripts"]
    assert all(path.parent == base_dir and path.is_file() for path in data_files(base_dir))
    assert sorted(path.name for path in base_dir.iterdir() if path.suffix != ".jsonl") == [".state"]


def test_a_lossy_file_name_of_old_is_neither_written_nor_read(store: GroupTranscriptStore, base_dir: Path) -> None:
    """Q1: the seed's ``feishu_oc_a.jsonl`` is there for an import, and only for that."""
    legacy = base_dir / "feishu_oc_a.jsonl"
    write_raw(legacy, seed_line("old", "om_old"))
    before = legacy.read_bytes()
    for key in ("feishu:oc_a", "feishu_oc_a"):
        store.append(key, "user", "new", "on_ada", "om_1")
        assert recent_contents(store, key) == ["new"]
    store.chats()
    store.maintain()
    assert legacy.read_bytes() == before


def test_a_message_is_known_by_chat_and_id(store: GroupTranscriptStore) -> None:
    """Q2: the same id in two chats is two messages."""
    assert store.append(KEY, "user", "x", "on_ada", "om_1") is True
    assert store.append(OTHER, "user", "x", "on_ada", "om_1") is True
    assert store.append(KEY, "user", "x", "on_ada", "om_1") is False


@pytest.mark.parametrize("no_id", [None, ""])
def test_without_an_id_a_message_is_never_a_duplicate(store: GroupTranscriptStore, no_id: str | None) -> None:
    """Q2: None and the empty string are no ids."""
    for _ in range(3):
        assert store.append(KEY, "user", "ok", "on_ada", no_id, NOW) is True
    assert recent_contents(store, KEY) == ["ok"] * 3
    assert [entry["message_id"] for entry in store.scan(KEY)] == [None] * 3


def test_the_first_record_of_an_id_wins(make_store: MakeStore) -> None:
    """Q3: another role, sender or text under the same id is a duplicate like any other."""
    store = make_store()
    assert store.append(KEY, "user", "first", "on_ada", "om_1") is True
    assert store.append(KEY, "assistant", "second", "Alpha", "om_1") is False
    assert make_store().append(KEY, "user", "third", "on_bo", "om_1") is False
    assert store.get_recent(KEY) == [{"role": "user", "content": "first", "sender": "on_ada"}]


def test_a_conflict_over_an_id_is_said_once(store: GroupTranscriptStore, caplog: pytest.LogCaptureFixture) -> None:
    """Q3: who reuses ids of others is told so, once; an ordinary duplicate is not worth a word."""
    caplog.set_level(logging.INFO, logger="nanobot_transcript")
    store.append(KEY, "user", "first", "on_ada", "om_1")
    store.append(KEY, "user", "first", "on_ada", "om_1")
    assert caplog.records == []
    for _ in range(5):
        store.append(KEY, "assistant", "other", "Alpha", "om_1")
    assert len(caplog.records) == 1


def test_a_bot_may_say_the_same_again(store: GroupTranscriptStore) -> None:
    """Q4: nothing is deduplicated by its text."""
    for _ in range(2):
        assert store.append(KEY, "assistant", "ok", "Alpha", None, NOW, source="send") is True
    assert recent_contents(store, KEY) == ["ok", "ok"]


def test_a_local_id_makes_a_retry_recognisable(store: GroupTranscriptStore) -> None:
    """Q4: a message the platform gave no id carries one of its own, and a retry repeats it."""
    assert store.append(KEY, "assistant", "ok", "Alpha", "local:5b1c") is True
    assert store.append(KEY, "assistant", "ok", "Alpha", "local:5b1c") is False
    assert store.append(KEY, "assistant", "ok", "Alpha", "local:77aa") is True


def test_a_reply_in_several_parts_is_one_record_known_by_every_part(store: GroupTranscriptStore) -> None:
    """Q5: one logical message, ``message_ids`` lists the platform's messages."""
    store.append(KEY, "assistant", "long", "Alpha", "om_1", message_ids=["om_1", "om_2", "om_3"])
    assert not any(store.append(KEY, "assistant", "part", "Alpha", part) for part in ("om_2", "om_3", "om_1"))
    assert recent_contents(store, KEY) == ["long"]


def test_an_edit_is_appended_and_shown_in_the_old_place(store: GroupTranscriptStore, base_dir: Path) -> None:
    """Q6: an edit never rewrites the file."""
    store.append(KEY, "user", "old", "on_ada", "om_1", NOW)
    store.append(KEY, "user", "later", "on_ada", "om_2", NOW + 1)
    before = active_file(base_dir).read_bytes()
    store.edit(KEY, "om_1", "new", "on_ada")
    after = active_file(base_dir).read_bytes()
    assert after.startswith(before)
    line = json.loads(after[len(before) :])
    assert (line["op"], line["target"], line["content"], line["sender"]) == ("edit", "om_1", "new", "on_ada")
    assert recent_contents(store, KEY) == ["new", "later"]


def test_a_recall_hides_at_once_and_erases_at_compaction(store: GroupTranscriptStore, base_dir: Path) -> None:
    """Q7: ``recall`` appends and hides; ``maintain`` erases the text from the disk."""
    store.append(KEY, "user", "SECRET-words", "on_ada", "om_1")
    store.edit(KEY, "om_1", "SECRET-changed", "on_ada")
    store.recall(KEY, "om_1")
    assert store.get_recent(KEY) == []
    assert occurs_on_disk(base_dir, "SECRET")
    store.maintain()
    assert occurs_on_disk(base_dir, "SECRET") == []


def test_a_redaction_erases_at_once(store: GroupTranscriptStore, base_dir: Path) -> None:
    """Q7: after ``redact`` the text is nowhere, edits included."""
    store.append(KEY, "user", "SECRET-words", "on_ada", "om_1")
    store.edit(KEY, "om_1", "SECRET-changed", "on_ada")
    store.append(KEY, "user", "stays", "on_ada", "om_2")
    store.redact(KEY, "om_1")
    assert occurs_on_disk(base_dir, "SECRET") == []
    assert recent_contents(store, KEY) == ["stays"]


def test_append_never_compacts(make_store: MakeStore, base_dir: Path) -> None:
    """Q7: what an append costs does not depend on what was recalled before."""
    store = make_store(segment_bytes=1000)
    store.append(KEY, "user", "SECRET", "on_ada", "om_1")
    store.recall(KEY, "om_1")
    for number in range(2, 40):
        store.append(KEY, "user", "x", "on_ada", f"om_{number}")
    assert len(data_files(base_dir)) > 3
    assert occurs_on_disk(base_dir, "SECRET")


def test_messages_are_shown_in_the_order_of_the_platforms_time(make_store: MakeStore) -> None:
    """Q8: by ts; the order of arrival decides among equals."""
    store = make_store()
    for text, ts in [("c", 3000), ("a", 1000), ("b1", 2000), ("b2", 2000), ("d", 4000)]:
        store.append(KEY, "user", text, "on_ada", timestamp_ms=ts)
    assert recent_contents(store, KEY) == ["a", "b1", "b2", "c", "d"]
    assert recent_contents(make_store(), KEY, 3) == ["b2", "c", "d"]


def test_only_a_bounded_window_is_sorted(store: GroupTranscriptStore) -> None:
    """Q8: a message that comes in late by more than 64 places is not looked for."""
    for number in range(200):
        store.append(KEY, "user", str(number), "on_ada", timestamp_ms=NOW + number)
    store.append(KEY, "user", "very late", "on_ada", timestamp_ms=NOW - 1_000_000)
    assert recent_contents(store, KEY, 20) == [str(number) for number in range(180, 200)]
    for number in range(60):
        store.append(KEY, "user", f"new {number}", "on_ada", timestamp_ms=NOW + 1000 + number)
    store.append(KEY, "user", "a bit late", "on_ada", timestamp_ms=NOW + 1000)
    assert recent_contents(store, KEY, 60)[:2] == ["a bit late", "new 1"]


def test_a_time_far_in_the_future_does_not_stay_on_top(make_store: MakeStore, base_dir: Path) -> None:
    """Q8: for sorting a time counts as arrival + 5 minutes at most; on the disk it stays as given."""
    store = make_store()
    future = NOW + 365 * DAY * 1000
    store.append(KEY, "user", "from the future", "on_ada", "om_1", future)
    store.append(KEY, "user", "in six minutes", "on_ada", "om_2", NOW + 6 * 60 * 1000 + 60_000)
    later = NOW + 600_000
    write_raw(active_file(base_dir), seed_line("later", "om_3", later, rts=later))
    assert recent_contents(store, KEY)[-1] == "later"
    assert recent_contents(make_store(), KEY)[0] == "from the future"
    assert json.loads(active_file(base_dir).read_bytes().split(b"\n")[0])["ts"] == future


UNUSABLE = [
    -1,
    -1e12,
    math.nan,
    math.inf,
    -math.inf,
    "",
    "soon",
    "nan",
    "inf",
    1_700_000_000,
    "1700000000",
    1e9,
    9e10,
]


@pytest.mark.parametrize("ts", UNUSABLE, ids=repr)
def test_an_unusable_time_counts_as_the_time_of_arrival(make_store: MakeStore, ts: Any) -> None:
    """Q8: negative, NaN, no number, or seconds instead of milliseconds."""
    store = make_store()
    store.append(KEY, "user", "before", "on_ada", "om_1", NOW - 60_000)
    store.append(KEY, "user", "unusable", "on_ada", "om_2", ts)
    store.append(KEY, "user", "after", "on_ada", "om_3", NOW + 60_000)
    for reader in (store, make_store()):
        assert recent_contents(reader, KEY) == ["before", "unusable", "after"]
        shown = reader.read(KEY).entries[1]["ts"]
        assert math.isfinite(shown)


@pytest.mark.parametrize(
    "ts", [0, 1000, 2000.5, "1500", 1e8, 1e11, 1795e9, "1795000000000", 1795000000000, " 1795000000000 "], ids=repr
)
def test_numbers_and_numeric_strings_are_milliseconds(store: GroupTranscriptStore, ts: Any) -> None:
    """Q8: Feishu's create_time is a string of ms; small numbers are honoured."""
    store.append(KEY, "user", "x", "on_ada", "om_1", ts)
    assert store.read(KEY).entries[0]["ts"] == float(ts)


def test_the_time_of_arrival_is_kept_beside_the_senders_time(store: GroupTranscriptStore) -> None:
    """Q8: ``ts`` is the platform's clock, ``rts`` ours."""
    store.append(KEY, "user", "x", "on_ada", "om_1", 1000)
    (entry,) = store.read(KEY).entries
    assert entry["ts"] == 1000
    assert abs(entry.get("rts", 0) - time.time() * 1000) < 60_000


@pytest.mark.parametrize("ts", ["1700000000000", None, "x", [], {}, True, 1_700_000_000, -5], ids=repr)
def test_a_strange_time_in_a_foreign_line_never_breaks_reading(
    make_store: MakeStore, base_dir: Path, ts: object
) -> None:
    """Q8: foreign lines are ordered as well as they can be."""
    store = make_store()
    store.append(KEY, "user", "one", "on_ada", "om_1", NOW)
    write_raw(active_file(base_dir), seed_line("foreign", "om_2", ts))
    store.append(KEY, "user", "three", "on_ada", "om_3", NOW)
    for reader in (store, make_store()):
        assert sorted(recent_contents(reader, KEY)) == ["foreign", "one", "three"]
        assert contents(reader.read(KEY).entries) == ["one", "foreign", "three"]


@pytest.mark.parametrize("odd", [[], {}, ["x"], [["x"]], {"id": ["x"]}, [{"id": ["x"]}], 5, True, None], ids=repr)
@pytest.mark.parametrize(
    "key", ["source", "target", "reply_to", "message_ids", "mentions", "ids", "sender_name", "agent"]
)
def test_a_strange_field_in_a_foreign_line_breaks_neither_reading_nor_writing(
    make_store: MakeStore, base_dir: Path, key: str, odd: object
) -> None:
    """Nobody is kept from a group by what somebody else wrote into its file."""
    writer = make_store()
    writer.append(KEY, "user", "one", "on_bo", "om_1", NOW)
    lines = [seed_line("two", "om_2", NOW + 1), seed_line("better", None, NOW + 2, op="edit", target="om_1")]
    lines.append(seed_line("", None, NOW + 3, op="recall", target="om_0"))
    write_raw(active_file(base_dir), *(json.dumps(json.loads(line) | {key: odd}).encode() for line in lines))
    for store in (writer, make_store()):
        assert "two" in recent_contents(store, KEY)
        assert [entry["content"] for entry in store.scan(KEY)][-1] == "two"
        assert store.append(KEY, "user", "two", "on_ada", "om_2", NOW + 1, source="send") is False
        assert store.edit(KEY, "om_1", "best", timestamp_ms=NOW + 4)
        assert store.get(KEY, "om_1") is not None
        assert store.search("two")
        assert store.verify(KEY).foreign_lines == 0
    writer.purge(KEY, sender="on_cy")
    writer.recall(KEY, "om_1")
    assert contents(make_store().read(KEY).entries) == ["two"]


def test_recent_messages_have_exactly_the_three_keys_of_a_chat_history(store: GroupTranscriptStore) -> None:
    """Q9: role, content, sender; newest last; whatever else is known stays out."""
    store.append(KEY, "assistant", "x", "Alpha", "om_1", NOW, agent="Alpha", hop=1, sender_name="A")
    store.append(KEY, "user", "y", "", "om_2", NOW + 1)
    assert [list(message) for message in store.get_recent(KEY)] == [["role", "content", "sender"]] * 2
    assert store.get_recent(KEY)[1]["sender"] == ""


def test_a_missing_sender_is_an_empty_one(store: GroupTranscriptStore, base_dir: Path) -> None:
    """Q9: the key is always there."""
    store.append(KEY, "user", "one", "on_ada", "om_1", NOW)
    write_raw(active_file(base_dir), b'{"role":"user","content":"foreign","message_id":"om_2","ts":%d}' % (NOW + 1))
    assert store.get_recent(KEY)[1] == {"role": "user", "content": "foreign", "sender": ""}


def test_what_a_caller_gets_is_its_own(store: GroupTranscriptStore) -> None:
    """Q9: changing what was returned changes nothing that is returned later."""
    store.append(KEY, "user", "x", "on_ada", "om_1")
    store.get_recent(KEY)[0]["content"] = "changed"
    store.get_recent(KEY).clear()
    store.recent(KEY).entries[0]["content"] = "changed"
    assert store.get_recent(KEY) == [{"role": "user", "content": "x", "sender": "on_ada"}]
    assert contents(store.recent(KEY).entries) == ["x"]


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ([{"type": "text", "text": "hi"}], [{"type": "text", "text": "hi"}]),
        ({"text": "你好"}, {"text": "你好"}),
        (5, 5),
        (None, None),
        (True, True),
    ],
)
def test_content_that_is_no_text_is_read_as_json(
    store: GroupTranscriptStore, base_dir: Path, content: object, shown: object
) -> None:
    """Q10: append refuses it; a foreign line that has it is shown as JSON text."""
    store.append(KEY, "user", "one", "on_ada", "om_1", NOW)
    write_raw(active_file(base_dir), seed_line(content, "om_2", NOW + 1))
    text = recent_contents(store, KEY)[1]
    assert isinstance(text, str)
    assert (json.loads(text) if text else None) == shown
    with pytest.raises(ValueError, match="content"):
        store.append(KEY, "user", content, "on_ada", "om_3")  # type: ignore[arg-type]


def test_a_lone_surrogate_becomes_the_replacement_character(make_store: MakeStore) -> None:
    """Q11: text that UTF-8 cannot hold never raises."""
    store = make_store()
    store.append(KEY, "user", "a\ud800b", "on\udfff", "om_\ud801", sender_name="\udc00")
    assert make_store().get_recent(KEY) == [{"role": "user", "content": "a\ufffdb", "sender": "on\ufffd"}]
    assert store.append(KEY, "user", "again", "x", "om_\ud801") is False
    store.edit(KEY, "om_\ud801", "c\ud800")
    assert recent_contents(store, KEY) == ["c\ufffd"]


@pytest.mark.parametrize(
    "text", ["\0", "a\0b", "\u2028\u2029", "a\u0085b", "\r", "a\r\nb", "\x1c\x1d\x1e", "\n\n", "\ufeff", ""]
)
def test_every_other_character_is_kept(make_store: MakeStore, base_dir: Path, text: str) -> None:
    """Q11: lines end at ``\\n`` only, never at what else Unicode calls a line break."""
    store = make_store()
    store.append(KEY, "user", text, text or "x", "om_1")
    store.append(KEY, "user", "next", "on_ada", "om_2")
    assert recent_contents(make_store(), KEY) == [text, "next"]
    assert active_file(base_dir).read_bytes().count(b"\n") == 2


def test_an_append_that_fails_raises_a_typed_error_with_a_hint(tmp_path: Path) -> None:
    """Q12: the store says so; who delivers messages catches, counts and goes on."""
    blocked = tmp_path / "file"
    blocked.write_text("not a directory", encoding="utf-8")
    store = GroupTranscriptStore(blocked / "transcripts")
    with pytest.raises(StoreError) as caught:
        store.append(KEY, "user", "x", "on_ada", "om_1")
    assert caught.value.hint
    assert blocked.read_text(encoding="utf-8") == "not a directory"


def test_append_says_whether_it_was_first(make_store: MakeStore) -> None:
    """Q13: True for exactly one of all who append the same message."""
    stores = [make_store() for _ in range(5)]
    assert [one.append(KEY, "user", "x", "on_ada", "om_1") for one in stores] == [True] + [False] * 4


def test_asking_for_more_than_is_cached_reads_deeper(make_store: MakeStore) -> None:
    """Q14: any number of messages, across segments."""
    store = make_store(segment_bytes=5000)
    for number in range(500):
        store.append(KEY, "user", str(number), "on_ada", f"om_{number}", NOW + number)
    for limit in (1, 20, 84, 85, 300, 499, 500, 501, 100_000):
        expected = [str(number) for number in range(max(0, 500 - limit), 500)]
        assert recent_contents(store, KEY, limit) == expected
        assert recent_contents(make_store(segment_bytes=5000), KEY, limit) == expected
    assert store.get_recent(KEY, 0) == store.get_recent(KEY, -5) == []


def test_the_whole_window_is_free_of_duplicates(store: GroupTranscriptStore, base_dir: Path) -> None:
    """Q14: also when a program without locks wrote a message many times."""
    store.append(KEY, "user", "0", "on_ada", "om_0", NOW)
    for number in range(1, 300):
        write_raw(active_file(base_dir), *[seed_line(str(number), f"om_{number}", NOW + number)] * 8)
    assert recent_contents(store, KEY, 250) == [str(number) for number in range(50, 300)]


def test_ids_of_the_last_seven_days_are_known_however_many_segments_follow(make_store: MakeStore) -> None:
    """Q15: the horizon is the newest 8 segments or 7 days, whichever is more."""
    store = make_store(segment_bytes=400)
    for number in range(100):
        store.append(KEY, "user", "some text", "on_ada", f"om_{number}")
    assert store.verify(KEY).segments > 20
    fresh = make_store(segment_bytes=400)
    assert fresh.append(KEY, "user", "some text", "on_ada", "om_0") is False


def _make_old(base_dir: Path, days: float) -> None:
    moment = time.time() - days * DAY
    for path in data_files(base_dir):
        os.utime(path, (moment, moment))


def test_ids_beyond_the_horizon_are_new_again(make_store: MakeStore, base_dir: Path) -> None:
    """Q15: older than 7 days and behind more than 8 segments."""
    store = make_store(segment_bytes=400)
    for number in range(100):
        store.append(KEY, "user", "some text", "on_ada", f"om_{number}")
    store.close()
    _make_old(base_dir, 8)
    late = make_store(segment_bytes=400)
    assert late.append(KEY, "user", "some text", "on_ada", "om_99") is False
    assert late.append(KEY, "user", "some text", "on_ada", "om_85") is False
    assert late.append(KEY, "user", "some text", "on_ada", "om_0") is True


@pytest.mark.parametrize("cut", [1, 2, 10, 40, -40, -10, -2])
def test_an_unfinished_line_is_not_read_and_its_message_can_come_again(
    make_store: MakeStore, base_dir: Path, cut: int
) -> None:
    """Q16: a half line counts as never acknowledged."""
    store = make_store()
    store.append(KEY, "user", "one", "on_ada", "om_1", NOW)
    size = active_file(base_dir).stat().st_size
    store.append(KEY, "user", "two 二", "on_ada", "om_2", NOW + 1)
    store.close()
    line = active_file(base_dir).read_bytes()[size:]
    os.truncate(active_file(base_dir), size + len(line[:cut]))
    reader = make_store()
    assert recent_contents(reader, KEY) == ["one"]
    assert reader.append(KEY, "user", "two 二", "on_ada", "om_2", NOW + 1) is True
    assert reader.append(KEY, "user", "three", "on_ada", "om_3", NOW + 2) is True
    assert recent_contents(make_store(), KEY) == ["one", "two 二", "three"]


def test_a_line_that_lacks_only_its_newline_is_not_glued_to_the_next(make_store: MakeStore, base_dir: Path) -> None:
    """Q16: healed under the lock, so the next entry stands on a line of its own."""
    store = make_store()
    store.append(KEY, "user", "one", "on_ada", "om_1", NOW)
    store.append(KEY, "user", "two", "on_ada", "om_2", NOW + 1)
    os.truncate(active_file(base_dir), active_file(base_dir).stat().st_size - 1)
    assert make_store().append(KEY, "user", "three", "on_ada", "om_3", NOW + 2) is True
    make_store().append(KEY, "user", "two", "on_ada", "om_2", NOW + 1)
    assert recent_contents(make_store(), KEY) == ["one", "two", "three"]


def test_the_unfinished_line_of_a_live_writer_appears_when_it_is_finished(
    store: GroupTranscriptStore, base_dir: Path
) -> None:
    """Q16: a reader that came in the middle loses nothing."""
    store.append(KEY, "user", "one", "on_ada", "om_1", NOW)
    cursor = store.end(KEY)
    line = seed_line("two", "om_2", NOW + 1) + b"\n"
    with active_file(base_dir).open("ab", buffering=0) as file:
        for start in range(0, len(line), 7):
            assert recent_contents(store, KEY) == ["one"]
            assert store.read(KEY, cursor).entries == []
            file.write(line[start : start + 7])
    assert recent_contents(store, KEY) == ["one", "two"]
    assert contents(store.read(KEY, cursor).entries) == ["two"]


def test_unknown_fields_survive_reading_editing_and_compaction(make_store: MakeStore, base_dir: Path) -> None:
    """Q17: what a later version adds is not lost by this one."""
    store = make_store()
    store.append(KEY, "user", "one", "on_ada", "om_1", NOW)
    write_raw(active_file(base_dir), seed_line("two", "om_2", NOW + 1, colour="red", v=7, deep={"a": [1]}))
    store.recall(KEY, "om_1")
    store.edit(KEY, "om_2", "changed")
    store.maintain()
    store.purge(KEY, sender="nobody")
    (entry,) = make_store().read(KEY).entries
    known: dict[str, Any] = dict(entry)
    assert (known["content"], known["colour"], known["v"], known["deep"]) == ("changed", "red", 7, {"a": [1]})
    assert b'"colour"' in active_file(base_dir).read_bytes()


def test_an_unknown_op_is_skipped(make_store: MakeStore, base_dir: Path) -> None:
    """Q17: a later version's op neither shows up as a message nor stops reading."""
    store = make_store()
    store.append(KEY, "user", "one", "on_ada", "om_1", NOW)
    write_raw(
        active_file(base_dir),
        seed_line("👍", "om_9", NOW + 1, op="reaction", target="om_1"),
        seed_line("x", None, NOW + 1, op=5, target="om_1"),
        seed_line("x", None, NOW + 1, op="recall"),
        seed_line("x", None, NOW + 1, op="recall", target=7),
        seed_line("x", None, NOW + 1, op="edit", target=None),
    )
    store.append(KEY, "user", "two", "on_ada", "om_2", NOW + 2)
    for reader in (store, make_store()):
        assert recent_contents(reader, KEY) == ["one", "two"]
        assert contents(reader.read(KEY).entries) == ["one", "two"]
        assert reader.search("👍") == []


@pytest.mark.parametrize("op", ["recall", "redact", "edit"])
def test_an_op_of_another_program_counts_like_an_own_one(make_store: MakeStore, base_dir: Path, op: str) -> None:
    """Q17: spaces behind colons, as ``json.dumps`` writes them, make no difference."""
    store = make_store()
    store.append(KEY, "user", "one", "on_ada", "om_1", NOW)
    store.append(KEY, "user", "two", "on_ada", "om_2", NOW + 1)
    assert recent_contents(store, KEY) == ["one", "two"]
    write_raw(active_file(base_dir), seed_line("changed", None, NOW + 2, op=op, target="om_1"))
    expected = ["changed", "two"] if op == "edit" else ["two"]
    for reader in (store, make_store()):
        assert recent_contents(reader, KEY) == expected
        assert contents(reader.read(KEY).entries) == expected
        assert contents(reader.scan(KEY)) == expected
        assert reader.search("one") == []
        assert (reader.get(KEY, "om_1") or {}).get("content") == ("changed" if op == "edit" else None)
        assert reader.append(KEY, "user", "one", "on_ada", "om_1") is False


def test_lines_of_this_version_carry_no_version(store: GroupTranscriptStore, base_dir: Path) -> None:
    """Q17: ``v`` stands only in lines that are not of version 1."""
    store.append(KEY, "user", "one", "on_ada", "om_1", NOW)
    store.recall(KEY, "om_1")
    lines = [json.loads(line) for line in active_file(base_dir).read_bytes().splitlines()]
    assert all("v" not in line and set(line) >= {"role", "content", "sender", "message_id", "ts"} for line in lines)


async def test_appending_on_an_event_loop_needs_no_thread_unless_the_disk_is_waited_for(
    tmp_path: Path,
) -> None:
    """Q18: direct for fsync=never, a thread for fsync=always (a paused lock holder: tests/integration)."""
    async with AsyncGroupTranscriptStore(tmp_path / "direct") as direct:
        assert direct.sync.backend.append_blocks is False
        assert await direct.append(KEY, "user", "x", "on_ada", "om_1") is True
    async with AsyncGroupTranscriptStore(tmp_path / "synced", fsync="always") as synced:
        assert synced.sync.backend.append_blocks is True
        got = await asyncio.gather(*(synced.append(KEY, "user", "x", "on_ada", f"om_{n % 5}") for n in range(20)))
        assert sum(got) == 5


@pytest.mark.parametrize("fsync", ["never", "always", "interval"])
def test_every_fsync_policy_records_the_same(make_store: MakeStore, fsync: str) -> None:
    """Q18: the policy decides about the disk, not about the record."""
    with make_store(fsync=fsync, fsync_interval=0.01, segment_bytes=1000) as store:
        assert [store.append(KEY, "user", "x", "on_ada", f"om_{n % 10}") for n in range(20)] == [True] * 10 + [
            False
        ] * 10
    assert len(make_store().get_recent(KEY, 100)) == 10


def test_files_are_for_their_owner_only(store: GroupTranscriptStore, base_dir: Path) -> None:
    """Q19: directories 0700, files 0600 (under any umask: tests/integration/store)."""
    store.append(KEY, "user", "x", "on_ada", "om_1")
    store.members.remember_person("on_ada", "Ada")
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in [base_dir, *base_dir.rglob("*")]}
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}


def test_a_symlink_in_the_place_of_a_transcript_is_refused(
    make_store: MakeStore, base_dir: Path, tmp_path: Path
) -> None:
    """Q19: nobody can make the store write or read elsewhere."""
    store = make_store()
    store.append(KEY, "user", "x", "on_ada", "om_1")
    store.close()
    victim = tmp_path / "victim"
    victim.write_text("untouched\n", encoding="utf-8")
    path = active_file(base_dir)
    path.unlink()
    path.symlink_to(victim)
    for call in (
        lambda: make_store().append(KEY, "user", "x", "on_ada", "om_2"),
        lambda: make_store().get_recent(KEY),
    ):
        with pytest.raises(UnsafePathError):
            call()
    assert victim.read_text(encoding="utf-8") == "untouched\n"


def test_reading_an_unknown_chat_makes_no_file(store: GroupTranscriptStore, base_dir: Path) -> None:
    """Q20: asking costs nothing and leaves nothing."""
    assert store.get_recent(KEY) == []
    store.recent(KEY)
    store.read(KEY)
    store.end(KEY)
    store.get(KEY, "om_1")
    store.search("x")
    store.search("x", KEY)
    store.chats()
    list(store.scan(KEY))
    assert not base_dir.exists()


def test_a_snapshot_says_what_is_new_since(make_store: MakeStore) -> None:
    """Q20: ``recent`` gives messages and a cursor that belong together."""
    store = make_store()
    store.append(KEY, "user", "one", "on_ada", "om_1", NOW)
    seen = store.recent(KEY)
    assert contents(seen.entries) == ["one"]
    make_store().append(KEY, "user", "two", "on_bo", "om_2", NOW + 1)
    assert contents(store.read(KEY, seen.cursor).entries) == ["two"]


def test_history_of_the_platform_fills_gaps_only(make_store: MakeStore) -> None:
    """Q21: what is known already is refused by id, a gap is filled, marked, and shown in its place."""
    store = make_store()
    for number in (1, 2, 4, 5):
        store.append(KEY, "user", f"text {number}", "on_ada", f"om_{number}", NOW + number, source="event")
    written = [
        store.append(KEY, "user", f"text {number}", "on_ada", f"om_{number}", NOW + number, source="history")
        for number in range(1, 6)
    ]
    assert written == [False, False, True, False, False]
    assert recent_contents(store, KEY) == [f"text {number}" for number in range(1, 6)]
    assert [entry.get("source") for entry in make_store().scan(KEY)] == ["event"] * 4 + ["history"]


def test_a_program_that_writes_without_locks_is_tolerated(make_store: MakeStore, base_dir: Path) -> None:
    """Q22: its lines are read, its doubles are shown once, and its ids count as known."""
    store = make_store()
    store.append(KEY, "user", "one", "on_ada", "om_1", NOW)
    write_raw(active_file(base_dir), seed_line("one", "om_1"), *[seed_line("two", "om_2", NOW + 1)] * 3)
    for reader in (store, make_store()):
        assert recent_contents(reader, KEY) == ["one", "two"]
        assert contents(reader.read(KEY).entries) == ["one", "two"]
        assert contents(reader.scan(KEY)) == ["one", "two"]
        assert len(reader.search("two")) == 1
        assert reader.append(KEY, "user", "two", "on_ada", "om_2") is False
    assert store.verify(KEY).duplicates == 3


def test_a_half_line_of_a_program_without_locks_is_healed(make_store: MakeStore, base_dir: Path) -> None:
    """Q22: what it left unfinished does not swallow the next entry."""
    store = make_store()
    store.append(KEY, "user", "one", "on_ada", "om_1", NOW)
    with active_file(base_dir).open("ab") as file:
        file.write(b'{"role":"user","content":"half')
    assert store.append(KEY, "user", "two", "on_ada", "om_2", NOW + 1) is True
    assert recent_contents(make_store(), KEY) == ["one", "two"]
    report = store.verify(KEY)
    assert (report.entries, report.torn_lines + report.foreign_lines) == (2, 1)
