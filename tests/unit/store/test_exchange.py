"""Transcripts in and out: nothing is doubled by a second import, and nothing bad goes unreported."""

import io
import json
import os
import time
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from nanobot_transcript import GroupTranscriptStore, ImportFormatError
from nanobot_transcript.entry import Entry
from nanobot_transcript.store.exchange import ImportReport, export_chat, import_file, session_key_of

KEY = "feishu:oc_1"
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def to_file(text: str | bytes, name: str = "log.txt") -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return to_file


def counts(report: ImportReport) -> dict[str, int]:
    return {name: getattr(report, name) for name in ("written", "known", "skipped", "bad")}


def said(store: GroupTranscriptStore, key: str = KEY) -> list[tuple[str, str]]:
    return [(message["sender"], message["content"]) for message in store.get_recent(key, 100)]


def clock_times(store: GroupTranscriptStore, key: str = KEY) -> list[str]:
    stamps = [datetime.fromtimestamp(entry["ts"] / 1000).astimezone() for entry in store.scan(key)]
    return [f"{stamp:%Y-%m-%d %H:%M:%S}" for stamp in stamps]


def jsonl(*lines: dict[str, Any]) -> str:
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


# -- JSONL


def test_an_exported_chat_comes_back_as_it_was(store: GroupTranscriptStore, write: Write) -> None:
    store.append(KEY, "user", "你好", "on_ada", "om_1", 1_700_000_000_000, sender_name="Ada", reply_to="om_0")
    store.append(KEY, "assistant", "typo", "Alpha", "om_2", 1_700_000_001_000, agent="Alpha", hop=1)
    store.append(KEY, "user", "oops", "on_ada", "om_3", 1_700_000_002_000)
    store.edit(KEY, "om_2", "fixed", "Alpha")
    store.recall(KEY, "om_3")
    out = io.StringIO()
    assert export_chat(store, KEY, out) == 2
    report = import_file(store, write(out.getvalue(), "x.jsonl"), "feishu:oc_2")
    assert counts(report) == {"written": 2, "known": 0, "skipped": 0, "bad": 0}
    assert said(store, "feishu:oc_2") == [("on_ada", "你好"), ("Alpha", "fixed")]
    first, second = store.scan("feishu:oc_2")
    assert (first.get("sender_name"), first.get("reply_to"), first["ts"]) == ("Ada", "om_0", 1_700_000_000_000)
    assert (second.get("hop"), second.get("source"), second["message_id"]) == (1, "import", "om_2")


def test_importing_the_same_file_again_writes_nothing(store: GroupTranscriptStore, write: Write) -> None:
    path = write(
        jsonl(
            {"role": "user", "content": "a", "sender": "ou_1", "message_id": "om_1", "ts": 1_700_000_000_000},
            {"role": "assistant", "content": "ok", "sender": "alpha", "message_id": None, "ts": 1_700_000_000_500},
            {"role": "assistant", "content": "ok", "sender": "alpha", "message_id": None, "ts": 1_700_000_000_500},
        )
    )
    assert counts(import_file(store, path, KEY)) == {"written": 3, "known": 0, "skipped": 0, "bad": 0}
    assert counts(import_file(store, path, KEY)) == {"written": 0, "known": 3, "skipped": 0, "bad": 0}
    renamed = path.rename(path.with_name("other.txt"))
    assert import_file(store, renamed, KEY).written == 0


def test_unknown_keys_of_a_line_survive_the_import(store: GroupTranscriptStore, write: Write) -> None:
    import_file(store, write(jsonl({"role": "user", "content": "a", "sender": "x", "later": {"b": 1}})), KEY)
    (entry,) = store.scan(KEY)
    assert dict(entry)["later"] == {"b": 1}


def test_seconds_become_milliseconds(store: GroupTranscriptStore, write: Write) -> None:
    import_file(store, write(jsonl({"role": "user", "content": "a", "sender": "x", "ts": 1_700_000_000.25})), KEY)
    (entry,) = store.scan(KEY)
    assert entry["ts"] == 1_700_000_000_250


def test_a_transcript_with_edits_and_recalls_can_be_imported_twice(
    store: GroupTranscriptStore, write: Write, base_dir: Path
) -> None:
    line = {"role": "user", "sender": "x", "ts": 1_700_000_000_000}
    path = write(
        jsonl(
            line | {"content": "first", "message_id": "om_1"},
            line | {"content": "secret", "message_id": "om_2"},
            line | {"content": "second", "message_id": None, "op": "edit", "target": "om_1"},
            line | {"content": "third", "message_id": None, "op": "edit", "target": "om_1"},
            line | {"content": "", "message_id": None, "op": "recall", "target": "om_2"},
            line | {"content": "?", "message_id": None, "op": "cheer", "target": "om_1"},
        )
    )
    assert counts(import_file(store, path, KEY)) == {"written": 2, "known": 0, "skipped": 2, "bad": 0}
    assert said(store) == [("x", "third")]
    assert all(b"secret" not in file.read_bytes() for file in base_dir.rglob("*") if file.is_file())
    assert not store.append(KEY, "user", "secret", "x", "om_2")
    assert import_file(store, path, KEY).written == 0


def test_an_edit_of_an_earlier_message_is_applied_once(store: GroupTranscriptStore, write: Write) -> None:
    store.append(KEY, "user", "old", "x", "om_1")
    path = write(jsonl({"role": "user", "content": "new", "sender": "x", "op": "edit", "target": "om_1"}), "x.jsonl")
    with_message = path.read_text(encoding="utf-8") + jsonl({"role": "user", "content": "b", "sender": "x"})
    path.write_text(with_message, encoding="utf-8")
    assert import_file(store, path, KEY).written == 2
    assert ("x", "new") in said(store)
    assert import_file(store, path, KEY).written == 0


def test_bad_lines_are_reported_with_their_numbers(store: GroupTranscriptStore, write: Write) -> None:
    good = jsonl({"role": "user", "content": "a", "sender": "x", "message_id": "om_1"})
    path = write(good.encode() + b'\n{"role": "user", "con\n\xff\xfe\n[1]\n' + good.replace("om_1", "om_2").encode())
    report = import_file(store, path, KEY)
    assert counts(report) == {"written": 2, "known": 0, "skipped": 0, "bad": 3}
    assert [line.number for line in report.bad_lines] == [3, 4, 5]


def test_only_the_first_hundred_bad_lines_are_kept(store: GroupTranscriptStore, write: Write) -> None:
    good = jsonl({"role": "user", "content": "a", "sender": "x"})
    report = import_file(store, write(good + "x\n" * 150), KEY)
    assert report.bad == 150
    assert len(report.bad_lines) == 100


@pytest.mark.parametrize(
    ("stem", "key"),
    [("feishu_oc_x", "feishu:oc_x"), ("feishu_oc_a_b", "feishu:oc_a_b"), ("notes", None), ("feishu_ou_x", None)],
)
def test_older_lossy_names_tell_their_chat(stem: str, key: str | None) -> None:
    assert session_key_of(Path("somewhere") / f"{stem}.jsonl") == key


# -- IRC


IRC = """\
[23:58] <ada> hello <all>
[23:58]  * bo waves
=== bo [~bo@example.org] has left #chat []
[23:59] <@chen|away> ok
[00:01] <ada> ok: fine
[00:01] <ada>
[00:02] nonsense
"""


def test_an_irc_log_is_understood(store: GroupTranscriptStore, write: Write) -> None:
    report = import_file(store, write(IRC, "chat-2004-12-25.txt"), KEY)
    assert report.format == "irc"
    assert counts(report) == {"written": 5, "known": 0, "skipped": 1, "bad": 1}
    assert report.bad_lines[0].number == 7
    assert said(store) == [
        ("ada", "hello <all>"),
        ("bo", "* bo waves"),
        ("chen|away", "ok"),
        ("ada", "ok: fine"),
        ("ada", ""),
    ]
    assert clock_times(store)[0] == "2004-12-25 23:58:00"
    assert clock_times(store)[-1] == "2004-12-26 00:01:00"
    assert import_file(store, write(IRC, "chat-2004-12-25.txt"), KEY).written == 0


def test_a_day_can_be_given_and_a_log_may_turn_its_own(store: GroupTranscriptStore, write: Write) -> None:
    text = "10:00 < ada> a\n--- Day changed Sun Dec 26 2004\n09:00:07 <+ada> b\n"
    import_file(store, write(text), KEY, day=date(2004, 12, 24))
    assert clock_times(store) == ["2004-12-24 10:00:00", "2004-12-26 09:00:07"]


def test_every_month_of_a_log_is_known(store: GroupTranscriptStore, write: Write) -> None:
    months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    days = [f"--- Day changed Sun {month} 07 2004\n10:00 <ada> {month}\n" for month in months]
    import_file(store, write("".join(days)), KEY, day=date(2003, 12, 24))
    assert clock_times(store) == [f"2004-{month:02}-07 10:00:00" for month in range(1, 13)]


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("12:00 <ada> a\n12:30 <ada> b\n", "2004-12-25"),
        ("12:00 <ada> a\n23:30 <ada> b\n", "2004-12-24"),
        ("23:00 <ada> a\n00:30 <ada> b\n", "2004-12-24"),
        ("10:00 <ada> a\n23:30 <ada> b\n01:00 <ada> c\n13:30 <ada> d\n", "2004-12-23"),
    ],
)
def test_without_a_day_nothing_in_a_log_is_later_than_its_file(
    store: GroupTranscriptStore, write: Write, text: str, begins: str
) -> None:
    path = write(text, "chat.log")
    written = datetime(2004, 12, 25, 13, 0).astimezone().timestamp()
    os.utime(path, (written, written))
    report = import_file(store, path, KEY)
    assert str(report.day_taken) == begins
    assert clock_times(store)[0].startswith(begins)
    assert max(entry["ts"] for entry in store.scan(KEY)) <= written * 1000


def test_a_file_from_the_future_gives_no_times_to_come(store: GroupTranscriptStore, write: Write) -> None:
    path = write("23:59:59 <ada> a\n00:00 <ada> b\n", "chat.log")
    tomorrow = time.time() + 86_400
    os.utime(path, (tomorrow, tomorrow))
    import_file(store, path, KEY)
    assert max(entry["ts"] for entry in store.scan(KEY)) <= time.time() * 1000


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("12:00 <ada> a\n", "2004-12-25.log"),
        ("2004-12-25 12:00 <ada> a\n12:30 <ada> b\n", "chat.log"),
        ("ada: without a time\n", "chat.log"),
    ],
)
def test_where_the_day_is_known_none_is_taken(store: GroupTranscriptStore, write: Write, text: str, name: str) -> None:
    assert import_file(store, write(text, name), KEY).day_taken is None


def test_the_same_words_on_another_day_are_another_message(store: GroupTranscriptStore, write: Write) -> None:
    for day in ("2004-12-25", "2004-12-26"):
        assert import_file(store, write("[12:00] <ada> ok\n", f"{day}.log"), KEY).written == 1


def test_a_repeated_line_is_another_message(store: GroupTranscriptStore, write: Write) -> None:
    path = write("[12:00] <ada> ok\n[12:00] <ada> ok\n", "2004-12-25.log")
    assert import_file(store, path, KEY).written == 2
    assert import_file(store, path, KEY).written == 0


# -- plain text


def test_names_and_texts_are_enough(store: GroupTranscriptStore, write: Write) -> None:
    path = write("Ada: hello\n小明：你好\n  and more\nhttp://example.org/x\nBeta: hi\nAda: hello\n")
    report = import_file(store, path, KEY, bots=["Beta"])
    assert report.format == "text"
    assert counts(report) == {"written": 4, "known": 0, "skipped": 0, "bad": 1}
    assert said(store) == [("Ada", "hello"), ("小明", "你好\nand more"), ("Beta", "hi"), ("Ada", "hello")]
    assert [message["role"] for message in store.get_recent(KEY)] == ["user", "user", "assistant", "user"]
    assert [entry.get("sender_kind") for entry in store.scan(KEY)] == ["human", "human", "bot", "human"]
    assert import_file(store, path, KEY).written == 0


@pytest.mark.parametrize(
    "line",
    [
        "2024-05-01 12:00:05 Ada: hello",
        "[2024-05-01 12:00:05] Ada: hello",
        "2024/05/01, 12:00:05 - Ada: hello",
        "[2024.5.1 12:00:05.123]  Ada: hello",
        "2024-05-01T12:00:05 Ada: hello",
    ],
)
def test_times_before_the_name_are_understood(store: GroupTranscriptStore, write: Write, line: str) -> None:
    import_file(store, write(line), KEY)
    assert said(store) == [("Ada", "hello")]
    assert clock_times(store) == ["2024-05-01 12:00:05"]


def test_a_zone_is_respected(store: GroupTranscriptStore, write: Write) -> None:
    import_file(store, write("2024-05-01T12:00:00Z Ada: a\n2024-05-01T20:00:00+08:00 Ada: b\n"), KEY)
    assert [entry["ts"] for entry in store.scan(KEY)] == [1_714_564_800_000, 1_714_564_800_000]


def test_in_a_log_with_times_a_line_without_one_goes_on_the_message(store: GroupTranscriptStore, write: Write) -> None:
    import_file(store, write("12:00 Ada: first\nsecond line\n12:01 Bo: third\n", "2024-05-01.txt"), KEY)
    assert said(store) == [("Ada", "first\nsecond line"), ("Bo", "third")]


def test_other_encodings_can_be_named(store: GroupTranscriptStore, write: Write) -> None:
    import_file(store, write("小明: 你好\n".encode("gb18030")), KEY, encoding="gb18030")
    assert said(store) == [("小明", "你好")]


@pytest.mark.parametrize(
    "body",
    [
        "小明: 你好\n".encode("gb18030"),
        b"Ada: hello\n" * 20 + "小明: 你好\n".encode("gb18030") + b"Bo: hi\n" * 1000,
        b"Ada: hello\n" * 60 + "小明: 你好，大家都在\n".encode("gb18030") * 20,
        "12:00 小明：你好\n没有时间\n".encode("gb18030"),
    ],
)
def test_a_log_in_another_encoding_is_refused_before_anything_is_written(
    store: GroupTranscriptStore, write: Write, body: bytes
) -> None:
    path = write(body)
    with pytest.raises(ImportFormatError, match="not UTF-8") as caught:
        import_file(store, path, KEY)
    assert "--encoding gb18030" in caught.value.hint
    assert store.chats() == []
    assert import_file(store, path, KEY, encoding="gb18030").written > 0


def test_a_rare_bad_byte_further_down_is_replaced(store: GroupTranscriptStore, write: Write) -> None:
    import_file(store, write(b"Ada: hello\n" * 60 + b"Ada: a\xffb\nBo: \xef\xbf\xbd\n"), KEY)
    assert said(store)[-2:] == [("Ada", "a\ufffdb"), ("Bo", "\ufffd")]


# -- messages without a time


def test_a_line_without_a_time_takes_that_of_the_one_before_it(store: GroupTranscriptStore, write: Write) -> None:
    line = {"role": "user", "sender": "x"}
    times = [None, 0, 1_700_000_000, None, 1_700_000_060_000, 0]
    path = write(jsonl(*(line | {"content": str(n), "message_id": f"om_{n}", "ts": ts} for n, ts in enumerate(times))))
    import_file(store, path, KEY)
    first, second = 1_700_000_000_000, 1_700_000_060_000
    assert [entry["ts"] for entry in store.scan(KEY)] == [first, first, first, first, second, second]
    assert [content for _, content in said(store)] == ["0", "1", "2", "3", "4", "5"]


def test_a_log_whose_first_lines_have_no_time_begins_at_its_first_time(
    store: GroupTranscriptStore, write: Write
) -> None:
    import_file(store, write("Ada: a\nBo: b\n2024-05-01 12:00 Ada: c\n"), KEY)
    assert clock_times(store) == ["2024-05-01 12:00:00"] * 3
    assert [content for _, content in said(store)] == ["a", "b", "c"]


# -- what is refused


@pytest.mark.parametrize(
    ("body", "kind", "hint"),
    [
        (b"Dear all\nthis is a letter\n", "auto", "[12:18] <nick> text"),
        (b"Ada: hello\n", "irc", "[12:18] <nick> text"),
        (b"[12:18] <ada> hello\n", "jsonl", '"role"'),
        (b'{"name": "config", "items": []}\n', "jsonl", '"role"'),
        (b"PK\x03\x04\0\0\0\0", "auto", "JSONL"),
    ],
)
def test_a_file_that_is_plainly_something_else_is_refused_with_a_hint(
    store: GroupTranscriptStore, write: Write, body: bytes, kind: Any, hint: str
) -> None:
    path = write(body, "some.file")
    with pytest.raises(ImportFormatError) as caught:
        import_file(store, path, KEY, kind=kind)
    assert "some.file" in str(caught.value)
    assert hint in caught.value.hint
    assert store.chats() == []


def test_a_missing_file_and_an_unknown_encoding_are_refused(store: GroupTranscriptStore, tmp_path: Path) -> None:
    with pytest.raises(ImportFormatError, match="nowhere"):
        import_file(store, tmp_path / "nowhere", KEY)
    with pytest.raises(ImportFormatError, match="no encoding klingon"):
        import_file(store, tmp_path / "nowhere", KEY, encoding="klingon")


def test_an_empty_file_is_no_mistake(store: GroupTranscriptStore, write: Write) -> None:
    assert counts(import_file(store, write(""), KEY)) == {"written": 0, "known": 0, "skipped": 0, "bad": 0}


# -- progress and Markdown


def test_progress_ends_at_the_whole_file(store: GroupTranscriptStore, write: Write) -> None:
    path = write("".join(f"Ada: {number}\n" for number in range(1200)))
    calls: list[tuple[int, int | None]] = []
    import_file(store, path, KEY, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (path.stat().st_size, path.stat().st_size)
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    calls.clear()
    export_chat(store, KEY, io.StringIO(), progress=lambda done, total: calls.append((done, total)))
    assert calls == [(500, None), (1000, None), (1200, 1200)]


def test_markdown_quotes_what_was_said_and_shows_names(store: GroupTranscriptStore) -> None:
    store.members.remember_person("on_ada", "Ada *L*")
    stamp = int(datetime(2024, 5, 1, 12, 0).astimezone().timestamp() * 1000)
    store.append(KEY, "user", "# not a heading\n\x1b[31mred", "on_ada", "om_1", stamp)
    store.append(KEY, "assistant", "yes", "Beta", "om_2", stamp + 86_400_000)
    store.edit(KEY, "om_2", "no", "Beta")
    out = io.StringIO()
    assert export_chat(store, KEY, out, "markdown") == 2
    assert out.getvalue() == (
        "# feishu:oc\\_1\n\n## 2024-05-01\n\n**Ada \\*L\\*** 12:00\n\n> # not a heading\n> \ufffd[31mred\n"
        "\n## 2024-05-02\n\n**Beta** 12:00 (edited)\n\n> no\n"
    )


def test_an_export_can_be_narrowed(store: GroupTranscriptStore) -> None:
    def from_ada(entry: Entry) -> bool:
        return entry["sender"] == "ada"

    for sender in ("ada", "bo", "ada"):
        store.append(KEY, "user", "x", sender)
    out = io.StringIO()
    assert export_chat(store, KEY, out, wanted=from_ada) == 2
    assert len(out.getvalue().splitlines()) == 2
