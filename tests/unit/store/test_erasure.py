"""What is erased is nowhere below the store's directory, and everything else stays where and as it was."""

import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.transcripts import active_file, contents, data_files, occurs_on_disk, recent_contents

from nanobot_transcript import GroupTranscriptStore, Retention

KEY = "feishu:oc_a"
OTHER = "feishu:oc_b"
NOW = int(time.time() * 1000)
SMALL = 1500

MakeStore = Callable[..., GroupTranscriptStore]


def fill(store: GroupTranscriptStore, key: str = KEY, count: int = 60) -> None:
    for number in range(count):
        who = "on_ada" if number % 4 == 0 else "on_bo"
        text = f"SECRET-{number} 密语" if who == "on_ada" else f"plain-{number}"
        store.append(key, "user", text, who, f"om_{number}", NOW + number, sender_name=who.title())


@pytest.mark.parametrize("how", ["recall", "redact"])
def test_hidden_text_is_erased_in_every_segment(make_store: MakeStore, base_dir: Path, how: str) -> None:
    store = make_store(segment_bytes=SMALL)
    fill(store)
    assert len(data_files(base_dir)) > 4
    for number in range(0, 60, 4):
        getattr(store, how)(KEY, f"om_{number}")
    if how == "recall":
        store.maintain()
    assert occurs_on_disk(base_dir, "SECRET") == []
    assert occurs_on_disk(base_dir, "密语") == []
    assert contents(make_store().scan(KEY)) == [f"plain-{number}" for number in range(60) if number % 4]


def test_maintenance_leaves_no_file_open(make_store: MakeStore) -> None:
    store = make_store()
    open_files: list[int] = []
    for number in range(3):
        store.append(KEY, "user", "text", "on_ada", f"om_{number}")
        store.recall(KEY, f"om_{number}")
        store.maintain()
        open_files.append(sum(1 for _ in Path("/proc/self/fd").iterdir()))
    assert open_files[2] == open_files[1]


def test_a_message_that_arrives_after_its_recall_is_not_kept(make_store: MakeStore, base_dir: Path) -> None:
    store = make_store()
    store.recall(KEY, "om_1")
    store.append(KEY, "user", "SECRET", "on_ada", "om_1")
    store.maintain()
    assert occurs_on_disk(base_dir, "SECRET") == []


def test_what_the_sender_wrote_over_an_overheard_text_is_erased_too(make_store: MakeStore, base_dir: Path) -> None:
    store = make_store()
    store.append(KEY, "assistant", "SECRET card", "cli_a", "om_1", source="peer_event")
    store.append(KEY, "assistant", "SECRET text", "Alpha", "om_1", source="send", agent="Alpha")
    store.redact(KEY, "om_1")
    assert occurs_on_disk(base_dir, "SECRET") == []


def test_an_edit_that_comes_after_a_recall_is_erased_at_the_next_compaction(
    make_store: MakeStore, base_dir: Path
) -> None:
    store = make_store()
    store.append(KEY, "user", "SECRET one", "on_ada", "om_1")
    store.recall(KEY, "om_1")
    store.maintain()
    store.edit(KEY, "om_1", "SECRET two")
    store.maintain()
    assert occurs_on_disk(base_dir, "SECRET") == []


@pytest.mark.parametrize("how", ["recall", "redact"])
def test_every_copy_of_a_hidden_message_is_erased(make_store: MakeStore, base_dir: Path, how: str) -> None:
    store = make_store()
    store.append(KEY, "user", "SECRET", "on_ada", "om_1")
    with active_file(base_dir).open("ab") as file:
        file.write(active_file(base_dir).read_bytes() * 3)
    getattr(store, how)(KEY, "om_1")
    store.maintain()
    assert occurs_on_disk(base_dir, "SECRET") == []


def test_a_foreign_line_with_spaces_and_escapes_is_erased_too(make_store: MakeStore, base_dir: Path) -> None:
    store = make_store()
    store.append(KEY, "user", "first", "on_bo", "om_0")
    line = {
        "message_id": "om_1",
        "ts": NOW,
        "content": "SECRET \u5bc6",
        "extra": {"raw": "SECRET"},
        "sender": "on_ada",
        "role": "user",
    }
    with active_file(base_dir).open("ab") as file:
        file.write(json.dumps(line, indent=None).encode() + b"\n")
    store.redact(KEY, "om_1")
    assert occurs_on_disk(base_dir, "SECRET") == []
    assert occurs_on_disk(base_dir, "\\u5bc6") == []
    assert recent_contents(make_store(), KEY) == ["first"]


def test_the_purge_of_a_chat_leaves_nothing_of_it(make_store: MakeStore, base_dir: Path) -> None:
    store = make_store(segment_bytes=SMALL)
    fill(store)
    fill(store, OTHER, 4)
    store.edit(KEY, "om_1", "SECRET edit")
    store.recall(KEY, "om_2")
    store.purge(KEY)
    assert occurs_on_disk(base_dir, "plain-5") == []
    assert occurs_on_disk(base_dir, "SECRET edit") == []
    assert occurs_on_disk(base_dir, "SECRET-4") == []
    assert [chat.session_key for chat in make_store().chats()] in ([OTHER], sorted([KEY, OTHER]))
    assert len(list(make_store().scan(OTHER))) == 4


def test_the_purge_of_a_person_leaves_neither_text_nor_name(make_store: MakeStore, base_dir: Path) -> None:
    store = make_store(segment_bytes=SMALL)
    fill(store)
    store.members.remember_person("on_ada", "On_Ada")
    store.edit(KEY, "om_4", "SECRET edit", "on_ada")
    store.recall(KEY, "om_8", "on_ada")
    store.purge(sender="on_ada")
    for text in ("SECRET", "密语", "On_Ada"):
        assert occurs_on_disk(base_dir, text) == []
    assert contents(make_store().scan(KEY)) == [f"plain-{number}" for number in range(60) if number % 4]


def test_the_purge_of_a_person_leaves_no_id_of_theirs(make_store: MakeStore, base_dir: Path) -> None:
    """Not in the members file, nor as the sender of an edit or a recall that has to stay."""
    store = make_store(segment_bytes=SMALL)
    fill(store)
    store.members.remember_person("on_ada", "On_Ada", {"union_id": "on_ada", "open_id": "ou_ada"}, "cli_a")
    store.append(KEY, "user", "x", "on_ada", "om_ids", ids={"union_id": "on_ada", "open_id": "ou_ada"})
    store.edit(KEY, "om_4", "SECRET edit", "on_ada")
    store.recall(KEY, "om_8", "on_ada")
    store.purge(sender="on_ada")
    assert occurs_on_disk(base_dir, "on_ada") == []
    assert occurs_on_disk(base_dir, "ou_ada") == []


def test_the_purge_of_what_is_old_leaves_nothing_of_it(make_store: MakeStore, base_dir: Path) -> None:
    store = make_store(segment_bytes=SMALL)
    fill(store)
    store.edit(KEY, "om_4", "SECRET edit", "on_ada", NOW + 30)
    store.purge(KEY, before_ms=NOW + 59)
    assert occurs_on_disk(base_dir, "SECRET") == []
    assert contents(make_store().scan(KEY)) == ["plain-59"]


def test_a_recall_of_long_ago_is_remembered_after_the_text_is_erased(make_store: MakeStore) -> None:
    store = make_store(segment_bytes=SMALL)
    fill(store)
    store.recall(KEY, "om_0")
    for _ in range(2):
        store.maintain()
        assert make_store(segment_bytes=SMALL).append(KEY, "user", "SECRET-0", "on_ada", "om_0") is False
    assert "SECRET-0" not in contents(store.scan(KEY))


def test_erasing_twice_changes_nothing(make_store: MakeStore, base_dir: Path) -> None:
    store = make_store(segment_bytes=SMALL)
    fill(store)
    for number in range(0, 60, 8):
        store.recall(KEY, f"om_{number}")
    store.maintain()
    before = {path.name: path.read_bytes() for path in data_files(base_dir)}
    assert sum(report.erased_entries for report in store.maintain()) == 0
    assert {path.name: path.read_bytes() for path in data_files(base_dir)} == before


def test_every_line_is_blank_or_json_after_an_erasure(make_store: MakeStore, base_dir: Path) -> None:
    store = make_store(segment_bytes=SMALL)
    fill(store)
    store.recall(KEY, "om_4")
    store.maintain()
    store.purge(sender="on_ada")
    for path in data_files(base_dir):
        for line in filter(bytes.strip, path.read_bytes().splitlines()):
            assert isinstance(json.loads(line), dict)
    assert make_store().verify(KEY).ok


def test_a_reader_with_a_warm_cache_does_not_show_erased_text(make_store: MakeStore) -> None:
    """Erasing must not look like an unchanged file to a process that has read it before."""
    reader, writer = make_store(), make_store()
    fill(writer, count=12)
    cursor = reader.read(KEY, None, 1).cursor
    assert "SECRET-4 密语" in recent_contents(reader, KEY)
    reader.search("SECRET")
    writer.purge(KEY, sender="on_ada")
    assert all("SECRET" not in text for text in recent_contents(reader, KEY))
    assert all("SECRET" not in text for text in contents(reader.recent(KEY).entries))
    assert all("SECRET" not in text for text in contents(reader.read(KEY, cursor).entries))
    assert reader.search("SECRET") == []
    assert reader.get(KEY, "om_4") is None


def test_a_warm_writer_goes_on_after_another_process_erased(make_store: MakeStore) -> None:
    one, two = make_store(segment_bytes=SMALL), make_store(segment_bytes=SMALL)
    fill(one)
    two.purge(sender="on_ada")
    two.maintain()
    assert one.append(KEY, "user", "again", "on_bo", "om_1") is False
    assert one.append(KEY, "user", "new", "on_bo", "om_new") is True
    two.purge(KEY)
    assert one.append(KEY, "user", "newer", "on_bo", "om_newer") is True
    assert contents(two.scan(KEY)) == ["newer"]


def _make_older(path: Path, days: int) -> None:
    """As if the segment had been written days ago: its times of arrival, and what the file system says."""
    shift = days * 24 * 3600 * 1000

    def earlier(found: re.Match[bytes]) -> bytes:
        return b'"%s":%d' % (found[1], int(found[2]) - shift)

    text = path.read_bytes()
    with path.open("r+b") as file:
        file.write(re.sub(rb'"(r?ts)":(\d{13})', earlier, text))
    moment = time.time() - days * 24 * 3600
    os.utime(path, (moment, moment))


def test_the_age_of_a_segment_decides_about_retention_by_age(make_store: MakeStore, base_dir: Path) -> None:
    store = make_store(segment_bytes=SMALL)
    for number in range(60):
        store.append(KEY, "user", f"text-{number} " + "x" * 50, "on_ada", f"om_{number}")
    store.close()
    for path in data_files(base_dir):
        if b"text-40 " in path.read_bytes():
            break
        _make_older(path, days=10)
    closed_before = len(data_files(base_dir))
    store.maintain([KEY], Retention(max_age_days=30))
    assert len(data_files(base_dir)) == closed_before
    store.maintain([KEY], Retention(max_age_days=5))
    left = [entry["message_id"] for entry in make_store().scan(KEY)]
    assert left[-1] == "om_59"
    assert "om_0" not in left
    assert {f"om_{number}" for number in range(40, 60)} <= set(left)


def test_dropped_segments_take_their_indexes_with_them(make_store: MakeStore, base_dir: Path) -> None:
    store = make_store(segment_bytes=SMALL)
    fill(store)
    before = len([path for path in (base_dir / ".state").rglob("*") if path.is_file()])
    store.maintain([KEY], Retention(max_entries=5))
    after = len([path for path in (base_dir / ".state").rglob("*") if path.is_file()])
    assert after < before
