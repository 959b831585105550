"""``stats``, ``export``, ``import``, ``verify`` and ``purge``."""

import json
import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from support.readonly import read_only
from support.transcripts import active_file, occurs_on_disk

from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.errors import UnknownPostError
from nanobot_transcript.outbox import Outbox

Run = Callable[..., Any]
TEAM = "feishu:oc_team"


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Of each file below: what is in it, and when it was changed."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


# -- stats


def test_stats_count_each_chat(run: Run, store: GroupTranscriptStore) -> None:
    rows = [line.split() for line in run("stats").out.splitlines()]
    assert rows[0][:5] == ["chat", "messages", "people", "bots", "size"]
    assert rows[1][:4] == ["feishu:oc_other", "1", "1", "0"]
    assert rows[2][:4] == [TEAM, "3", "1", "2"]


def test_stats_of_a_chat_count_each_member_by_name(run: Run, store: GroupTranscriptStore) -> None:
    ended = run("stats", "oc_team")
    assert ended.code == 0
    rows = {line.split()[0]: line.split()[1:4] for line in ended.out.splitlines()[2:]}
    assert rows == {
        "Ada": ["human", "1", "33%"],
        "Alpha": ["bot", "1", "33%"],
        "Beta": ["bot", "1", "33%"],
    }
    (chat,) = run("stats", "oc_team", "--json").document["chats"]
    assert chat["messages"] == 3
    assert {speaker["sender"] for speaker in chat["speakers"]} == {"on_ada", "Alpha", "Beta"}
    assert chat["sources"] == {"event": 1, "stream": 2}


# -- export and import


def test_an_exported_chat_can_be_imported_elsewhere(run: Run, store: GroupTranscriptStore, tmp_path: Path) -> None:
    file, elsewhere = tmp_path / "team.jsonl", tmp_path / "elsewhere"
    ended = run("export", "oc_team", "-o", str(file))
    assert (ended.code, ended.out) == (0, "")
    assert "3 messages" in ended.err
    assert file.stat().st_mode & 0o777 == 0o600
    assert run("import", str(file), "--chat", TEAM, store=elsewhere).code == 0
    with GroupTranscriptStore(elsewhere) as copy:
        assert copy.get_recent(TEAM) == store.get_recent(TEAM)


def test_export_writes_to_stdout_unless_told_otherwise(run: Run, store: GroupTranscriptStore) -> None:
    ended = run("export", "oc_team", "--member", "Alpha")
    (line,) = ended.out.splitlines()
    assert json.loads(line)["content"] == "On Friday."
    assert ended.err == ""
    assert "**Alpha**" in run("export", "oc_team", "--format", "markdown").out


def test_export_overwrites_nothing_unless_told_to(run: Run, store: GroupTranscriptStore, tmp_path: Path) -> None:
    file = tmp_path / "team.jsonl"
    file.write_text("precious", encoding="utf-8")
    assert run("export", "oc_team", "-o", str(file)).code == 2
    assert file.read_text(encoding="utf-8") == "precious"
    assert run("export", "oc_team", "-o", str(file), "--force").code == 0
    assert "precious" not in file.read_text(encoding="utf-8")
    assert run("export", "oc_team", "-o", "/dev/null").code == 0


def test_export_under_json_needs_a_file(run: Run, store: GroupTranscriptStore, tmp_path: Path) -> None:
    assert run("export", "oc_team", "--json").code == 2
    document = run("export", "oc_team", "--json", "-o", str(tmp_path / "x")).document
    assert (document["messages"], document["format"]) == (3, "jsonl")
    assert run("export", "oc_team", "-o", str(tmp_path)).code == 2


def test_import_reports_bad_lines_and_ends_with_one(run: Run, base_dir: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text("Ada: hello\n-- page 2 --\nBeta: hi\n", encoding="utf-8")
    ended = run("import", str(log), "--chat", TEAM, "--bot", "Beta")
    assert ended.code == 1
    assert "2 new, 0 known, 1 not understood" in ended.err
    assert "line 2" in ended.err
    (report,) = run("import", str(log), "--chat", TEAM, "--json").document["imports"]
    assert (report["written"], report["known"], report["bad"]) == (0, 2, 1)
    assert report["bad_lines"][0]["number"] == 2
    with GroupTranscriptStore(base_dir) as opened:
        assert [message["role"] for message in opened.get_recent(TEAM)] == ["user", "assistant"]


def test_a_bare_chat_id_is_a_feishu_chat(run: Run, base_dir: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text("Ada: hello\n", encoding="utf-8")
    assert run("import", str(log), "--chat", "oc_team").code == 0
    with GroupTranscriptStore(base_dir) as opened:
        assert [chat.session_key for chat in opened.chats()] == [TEAM]


def test_names_of_known_bots_are_bots_in_a_log(run: Run, store: GroupTranscriptStore, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text("Alpha: hi\n", encoding="utf-8")
    assert run("import", str(log), "--chat", "feishu:oc_new").code == 0
    assert [message["role"] for message in store.get_recent("feishu:oc_new")] == ["assistant"]


def test_an_older_file_tells_its_chat_and_is_not_written(run: Run, base_dir: Path, tmp_path: Path) -> None:
    line = '{"role": "user", "content": "old", "sender": "ou_1", "message_id": "om_1", "ts": 1700000000000}\n'
    older = tmp_path / "feishu_oc_old.jsonl"
    older.write_text(line, encoding="utf-8")
    assert run("import", str(older)).code == 0
    assert older.read_text(encoding="utf-8") == line
    with GroupTranscriptStore(base_dir) as opened:
        assert [chat.session_key for chat in opened.chats()] == ["feishu:oc_old"]


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["log.txt"], "--chat"),
        (["nowhere.txt", "--chat", TEAM], "nowhere.txt"),
        (["log.txt", "--chat", TEAM, "--date", "tomorrow"], "2025-11-20"),
        (["letter.txt", "--chat", TEAM], "neither a transcript nor a chat log"),
        (["log.txt", "--chat", TEAM, "--format", "irc"], "not an IRC log"),
    ],
)
def test_an_import_that_cannot_work_says_why(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], part: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.txt").write_text("Ada: hello\n", encoding="utf-8")
    (tmp_path / "letter.txt").write_text("Dear all,\n", encoding="utf-8")
    ended = run("import", *arguments)
    assert ended.code == 2
    assert part in ended.err


# -- verify


def test_verify_of_a_sound_store_ends_with_zero(run: Run, store: GroupTranscriptStore) -> None:
    ended = run("verify")
    assert ended.code == 0
    assert ended.out.count("✓") == 2
    document = run("verify", "oc_team", "--json").document
    assert document["ok"] is True
    assert document["chats"][0]["ops"] == 2


def test_verify_of_a_damaged_chat_ends_with_one(run: Run, base_dir: Path) -> None:
    with GroupTranscriptStore(base_dir) as opened:
        opened.append(TEAM, "user", "a", "x", "om_1")
    with active_file(base_dir).open("ab") as file:
        file.write(b"not one of ours\n")
    ended = run("verify")
    assert ended.code == 1
    assert f"✗ {TEAM}\n    1 foreign line" in ended.out
    assert run("verify", "--json").document["chats"][0]["foreign_lines"] == 1


def test_a_half_line_is_closed_and_said(run: Run, base_dir: Path) -> None:
    with GroupTranscriptStore(base_dir) as opened:
        opened.append(TEAM, "user", "a", "x", "om_1")
    with active_file(base_dir).open("ab") as file:
        file.write(b'{"role": "user", "con')
    ended = run("verify")
    assert ended.code == 0
    assert "repaired: the last line was cut off" in ended.out
    assert "1 half line, left by a process that was killed" in run("verify").out
    assert run("verify", "--json").document["ok"] is True


def test_where_nothing_may_be_changed_verify_reads_and_says_so(run: Run, base_dir: Path) -> None:
    with GroupTranscriptStore(base_dir) as opened:
        opened.append(TEAM, "user", "a", "x", "om_1")
    with read_only(base_dir):
        ended = run("verify")
        assert ended.code == 0
        assert f"✓  {TEAM}" in ended.out
        assert "is read-only: what could be repaired was left as it is" in ended.err
    active_file(base_dir).chmod(0o644)
    with read_only(base_dir):
        ended = run("verify")
        assert ended.code == 1
        assert "not repaired: segment 1 can be read by others (mode 0644)" in ended.out
        document = run("verify", "--json").document
        assert (document["ok"], document["chats"][0]["read_only"]) == (False, True)
    assert "is read-only" not in run("verify").err


# -- purge


def test_purge_needs_to_know_what(run: Run, store: GroupTranscriptStore) -> None:
    assert run("purge", "--yes").code == 2


def test_nothing_is_erased_without_a_yes(run: Run, store: GroupTranscriptStore) -> None:
    ended = run("purge", "oc_team")
    assert ended.code == 2
    assert "3 messages in feishu:oc_team will be erased" in ended.err
    assert len(store.get_recent(TEAM)) == 3


def test_a_chat_is_erased(run: Run, store: GroupTranscriptStore, base_dir: Path) -> None:
    ended = run("purge", "oc_team", "--yes", "--json")
    assert ended.code == 0
    assert ended.document["erased"] == {TEAM: 3}
    assert ended.document["chats"][0]["erased_entries"] == 3
    assert occurs_on_disk(base_dir, "I agree") == []
    assert [chat.session_key for chat in store.chats()] == ["feishu:oc_other"]


def test_what_waits_to_go_into_an_erased_chat_goes_too(run: Run, store: GroupTranscriptStore, base_dir: Path) -> None:
    with Outbox(base_dir) as outbox:
        post = outbox.post(TEAM, "the secret plan", idempotency_key="k")
    assert run("purge", "oc_team", "--yes").code == 0
    assert occurs_on_disk(base_dir, "the secret plan") == []
    with Outbox(base_dir) as outbox, pytest.raises(UnknownPostError):
        outbox.status(post)


DRY_RUNS = [
    (["oc_team"], {TEAM: 3}),
    (["--member", "Ada"], {TEAM: 1}),
    (["--before", "now"], {TEAM: 3, "feishu:oc_other": 1}),
    (["oc_team", "--member", "Ada", "--before", "now", "--yes"], {TEAM: 1}),
]


@pytest.mark.parametrize(("what", "erased"), DRY_RUNS)
def test_a_dry_run_says_what_would_be_erased_and_changes_nothing(
    run: Run, store: GroupTranscriptStore, base_dir: Path, what: list[str], erased: dict[str, int]
) -> None:
    with Outbox(base_dir) as outbox:
        outbox.post(TEAM, "the secret plan")
    before = contents(base_dir)
    ended = run("purge", *what, "--dry-run")
    assert (ended.code, ended.err) == (0, "")
    told = "message" if sum(erased.values()) == 1 else "messages"
    assert ended.out.startswith(f"{sum(erased.values())} {told}")
    assert "would be erased from the disk for good." in ended.out
    assert ("the outbox has" in ended.out) == ("--before" not in what)
    assert all(key in ended.out for key in erased)
    assert run("purge", *what, "--dry-run", "--json").document == {"would_erase": erased}
    assert contents(base_dir) == before
    assert run("purge", *what, "--yes", "--json").document["erased"] == erased


def test_a_dry_run_of_nothing_is_a_negative_result(run: Run, store: GroupTranscriptStore) -> None:
    ended = run("purge", "--before", "2020-01-01", "--dry-run")
    assert ended == (1, "", "Nothing found, nothing to erase.\n")
    assert run("purge", "--before", "2020-01-01", "--dry-run", "--json").document == {"would_erase": {}}
    assert run("purge", "--dry-run").code == 2


def test_the_name_of_a_group_that_is_about_to_be_erased_is_told(run: Run, store: GroupTranscriptStore) -> None:
    store.members.remember_chat(TEAM, "Release 2.0")
    assert '3 messages in feishu:oc_team ("Release 2.0") will be erased' in run("purge", "oc_team").err
    assert "Release 2.0" in run("purge", "--before", "now", "--dry-run").out


def test_a_member_is_erased_everywhere_by_name(run: Run, store: GroupTranscriptStore, base_dir: Path) -> None:
    assert run("purge", "--member", "Ada", "--yes", "--json").document["erased"] == {TEAM: 1}
    assert occurs_on_disk(base_dir, "发布") == []
    assert occurs_on_disk(base_dir, "Ada") == []
    assert [message["sender"] for message in store.get_recent(TEAM)] == ["Alpha", "Beta"]


def test_a_member_who_said_nothing_is_forgotten_all_the_same(
    run: Run, store: GroupTranscriptStore, base_dir: Path
) -> None:
    store.members.remember_person("on_chen", "Chen")
    assert run("purge", "--member", "chen", "--yes").code == 0
    assert occurs_on_disk(base_dir, "Chen") == []


def test_a_name_that_two_members_have_is_not_guessed(run: Run, store: GroupTranscriptStore) -> None:
    store.append(TEAM, "user", "me too", "on_ada2", "om_9", sender_name="Ada")
    ended = run("purge", "--member", "Ada", "--yes")
    assert ended.code == 2
    assert "on_ada2" in ended.err
    ended = run("purge", "--member", "on_ada2", "--yes")
    assert ended.code == 0
    assert "Erased 1 message" in ended.err
    assert "messages" not in ended.err
    assert any("发布" in message["content"] for message in store.get_recent(TEAM))


def test_nobody_of_that_name_is_an_error(run: Run, store: GroupTranscriptStore) -> None:
    assert run("purge", "--member", "Zoe", "--yes").code == 2


def test_what_is_old_is_erased(run: Run, store: GroupTranscriptStore) -> None:
    store.append(TEAM, "user", "new", "on_ada", "om_new")
    ended = run("purge", "oc_team", "--before", "1d", "--yes")
    assert ended.code == 0
    assert "Erased 3 messages" in ended.err
    assert [message["content"] for message in store.get_recent(TEAM)] == ["new"]


def test_an_import_that_had_to_take_a_day_says_which(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "chat.log"
    log.write_text("12:00 <ada> hello\n")
    written = datetime(2004, 12, 25, 13, 0).astimezone().timestamp()
    os.utime(log, (written, written))
    told = run("import", str(log), "--chat", "feishu:oc_log")
    assert "no date given, assumed 2004-12-25 for the first line; use --date" in told.err
    assert "no date given" not in run("import", str(log), "--chat", "feishu:oc_log", "--date", "2004-12-20").err
    assert (
        run("import", str(log), "--chat", "feishu:oc_log", "--json").document["imports"][0]["day_taken"] == "2004-12-25"
    )
