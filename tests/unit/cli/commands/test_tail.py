"""``tail``, ``show`` and ``search``: names instead of ids, and nothing in a chat commands the terminal."""

import json
import os
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from nanobot_transcript import GroupTranscriptStore
from nanobot_transcript.cli import main
from nanobot_transcript.relevance.decision import later
from nanobot_transcript.relevance.decision_log_file import FileDecisionLog

Run = Callable[..., Any]


def texts(out: str) -> list[str]:
    """What is printed behind date and time."""
    return [line.split("  ", 1)[1] if line[:4].isdigit() else line for line in out.splitlines()]


def test_tail_shows_names_edits_answers_and_no_recalled_message(run: Run, store: GroupTranscriptStore) -> None:
    ended = run("tail", "oc_team")
    assert ended.code == 0
    assert texts(ended.out) == ["Ada: When is the 发布?", "Alpha: ↪ Ada: On Friday.", "Beta: ✎ I agree."]
    assert ended.err == ""


def test_tail_without_a_chat_shows_all_chats_by_time(run: Run, store: GroupTranscriptStore) -> None:
    assert texts(run("tail", "-n", "3").out) == [
        "feishu:oc_other  Xiao: hello Friday",
        "feishu:oc_team  Alpha: On Friday.",
        "feishu:oc_team  Beta: ✎ I agree.",
    ]


def test_the_name_of_a_group_is_shown_and_told_with_its_short_name(run: Run, store: GroupTranscriptStore) -> None:
    key = "feishu:oc_a0553eda9014c201e6969b478895c230"
    store.append(key, "user", "hello", "on_ada", "om_9", 1_763_600_300_000)
    store.members.remember_chat(key, "Release 2.0")
    assert texts(run("tail", "-n", "1").out) == [f"{key} Release 2.0  Ada: hello"]
    named = {"session_key": key, "title": "Release 2.0", "short_name": "oc_a0553eda"}
    assert named in run("tail", "--json").document["chats"]
    for short in ("oc_a0553eda", "8895c230"):
        shown = run("show", short, "--json").document
        assert {name: shown[name] for name in named} == named
        assert run("search", "hello", "--chat", short).code == run("stats", short).code == 0
    assert "feishu:oc_a0553eda9014c201e6969b478895c230 (" in run("show").err
    assert named["title"] == next(one for one in run("stats", "--json").document["chats"] if one["title"])["title"]
    assert "Release" in run("stats").out


def test_tail_of_no_lines_prints_nothing(run: Run, store: GroupTranscriptStore) -> None:
    assert run("tail", "-n", "0") == (0, "", "")


@pytest.mark.parametrize("name", ["feishu:oc_team", "oc_team", "oc_t", "feishu:oc_t"])
def test_a_chat_is_found_by_key_id_or_beginning(run: Run, store: GroupTranscriptStore, name: str) -> None:
    assert len(run("show", name).out.splitlines()) == 3


def test_a_whole_id_wins_over_a_longer_one_that_begins_so(run: Run, store: GroupTranscriptStore) -> None:
    store.append("feishu:oc_team_2", "user", "two", "x")
    shown = run("show", "oc_team")
    assert "Friday" in shown.out
    assert shown.code == 0


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("oc_nowhere", "There is no chat oc_nowhere."),
        ("oc_", "Several chats are called oc_."),
        (None, "There are several chats."),
    ],
)
def test_an_unclear_chat_is_an_error_that_lists_what_there_is(
    run: Run, store: GroupTranscriptStore, name: str | None, sentence: str
) -> None:
    ended = run("show", *([name] if name else []))
    assert ended.code == 2
    assert sentence in ended.err
    assert "feishu:oc_other, feishu:oc_team" in ended.err
    assert ended.out == ""


def test_an_empty_store_is_explained_and_not_created(run: Run, base_dir: Any) -> None:
    for command in (["tail"], ["show"], ["search", "x"], ["stats"], ["verify"], ["purge", "--before", "1d"]):
        ended = run(*command, "--json")
        assert ended.code == 3
        assert "doctor" in ended.err
        assert ended.document["error"]["code"] == "store_unavailable"
        assert not base_dir.exists()


def test_the_usual_place_may_be_empty_before_the_first_message(empty_home: Path, capsys: Any) -> None:
    for command in (["tail"], ["search", "x"], ["stats"]):
        assert main(command) == 2
        assert "There is no transcript" in capsys.readouterr().err
    assert list(empty_home.iterdir()) == []


def test_a_file_in_the_place_of_the_store_is_told(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    for store in (file, file / "below"):
        assert run("tail", "-f", store=store).code == 3


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_directory_that_may_not_be_read_is_told(run: Run, store: GroupTranscriptStore, base_dir: Path) -> None:
    base_dir.chmod(0)
    try:
        codes = [run(command, "--json").document["error"]["code"] for command in ("tail", "stats", "verify")]
        assert codes == ["store_unavailable"] * 3
        assert '"error"' in run("doctor", "--json").out
    finally:
        base_dir.chmod(0o700)


def test_show_can_be_narrowed_to_a_member_and_a_time(run: Run, store: GroupTranscriptStore) -> None:
    assert texts(run("show", "oc_team", "--member", "ada").out) == ["Ada: When is the 发布?"]
    assert texts(run("show", "oc_team", "--member", "on_ada").out) == ["Ada: When is the 发布?"]
    first = datetime.fromtimestamp(1_763_600_000).astimezone()
    since, until = (first + timedelta(seconds=30)).isoformat(), (first + timedelta(seconds=90)).isoformat()
    assert texts(run("show", "oc_team", "--since", since, "--until", until).out) == ["Alpha: On Friday."]


def test_show_of_nothing_is_a_negative_result(run: Run, store: GroupTranscriptStore) -> None:
    assert run("show", "oc_team", "--since", "1m") == (1, "", "Nothing found.\n")
    ended = run("show", "oc_team", "--since", "1m", "--json")
    known = {"session_key": "feishu:oc_team", "title": None, "short_name": "oc_team"}
    assert (ended.code, ended.document) == (1, {**known, "entries": []})


@pytest.mark.parametrize("command", ["show", "export"])
def test_a_member_whom_nobody_knows_is_an_error(run: Run, store: GroupTranscriptStore, command: str) -> None:
    ended = run(command, "oc_team", "--member", "Nobody")
    assert (ended.code, ended.out) == (2, "")
    assert "Nobody is called Nobody." in ended.err
    store.members.remember_person("on_chen", "Chen")
    assert run("show", "oc_team", "--member", "chen").code == 1


def test_a_wrong_time_is_refused(run: Run, store: GroupTranscriptStore) -> None:
    ended = run("show", "oc_team", "--since", "yesterday-ish")
    assert ended.code == 2
    assert "2025-11-20" in ended.err


def test_search_shows_hits_of_all_chats_the_newest_last(run: Run, store: GroupTranscriptStore) -> None:
    assert texts(run("search", "Friday").out) == [
        "feishu:oc_other  Xiao: hello Friday",
        "feishu:oc_team  Alpha: On Friday.",
    ]
    assert texts(run("search", "发布", "--chat", "oc_team").out) == ["Ada: When is the 发布?"]


LONG = "om_x100b5a7c2d13f0e4"


@pytest.mark.parametrize(
    "command", [["tail", "oc_team"], ["show", "oc_team"], ["search", "recall me", "--chat", "oc_team"]]
)
def test_the_short_ids_that_are_shown_name_a_message_for_gate_explain(
    run: Run, store: GroupTranscriptStore, command: list[str]
) -> None:
    store.append("feishu:oc_team", "user", "recall me", "on_ada", LONG, 1_763_600_300_000)
    shown = run(*command, "--ids").out.splitlines()[-1].split("  ")
    assert shown[1:] == ["2d13f0e4", "Ada: recall me"]
    ended = run("gate", "explain", "oc_team", shown[1], "--json")
    assert (ended.code, ended.document["message"]["message_id"]) == (0, LONG)


def test_ids_stand_in_a_column_behind_the_time(run: Run, store: GroupTranscriptStore) -> None:
    store.append("feishu:oc_team", "user", "none", "on_ada", None, 1_763_600_300_000)
    store.append("feishu:oc_team", "user", "odd", "on_ada", "om_\x1b\n5", 1_763_600_300_001)
    ids = [line[21:31] for line in run("tail", "oc_team", "--ids").out.splitlines()]
    assert ids == ["om_1      ", "om_2      ", "om_3      ", "-         ", "om_\ufffd 5    "]


def test_search_that_finds_nothing_ends_with_one(run: Run, store: GroupTranscriptStore) -> None:
    assert run("search", "a secret") == (1, "", "Nothing found.\n")
    assert run("search", "FRIDAY").code == 1
    ended = run("search", "nowhere", "--json")
    assert (ended.code, ended.document) == (1, {"query": "nowhere", "hits": []})


def test_terminal_escapes_in_a_message_are_not_obeyed(run: Run, store: GroupTranscriptStore) -> None:
    nasty = "\x1b]0;owned\x07\x1b[2Jgone\r\x9b31m\u202eright\nnext"
    store.append("feishu:oc_n", "user", nasty, "on_n", "om_n", sender_name="\x1b[1mNo\nbody")
    out = run("show", "oc_n").out
    assert not set("\x1b\x07\r\x9b\u202e") & set(out)
    assert "gone" in out
    assert out.splitlines()[1] == "    next"
    assert len(out.splitlines()) == 2


def test_json_is_one_document_with_the_whole_entries(run: Run, store: GroupTranscriptStore) -> None:
    document = run("tail", "oc_team", "--json").document
    assert [entry["message_id"] for entry in document["entries"]] == ["om_1", "om_2", "om_3"]
    assert document["entries"][0]["session_key"] == "feishu:oc_team"
    cursor = document["cursors"]["feishu:oc_team"]
    assert store.read("feishu:oc_team", cursor).entries == []
    shown = run("show", "oc_team", "--json").document
    assert {entry["session_key"] for entry in shown["entries"]} == {"feishu:oc_team"}
    assert [entry["content"] for entry in shown["entries"]] == ["When is the 发布?", "On Friday.", "I agree."]


def test_jsonl_is_one_object_per_line(run: Run, store: GroupTranscriptStore) -> None:
    for command in (("tail", "oc_team"), ("show", "oc_team"), ("search", "Friday")):
        lines = [json.loads(line) for line in run(*command, "--jsonl").out.splitlines()]
        assert lines
        assert all({"session_key", "role", "content", "sender", "message_id", "ts"} <= line.keys() for line in lines)


def test_a_stream_cannot_be_one_document(run: Run, store: GroupTranscriptStore) -> None:
    ended = run("tail", "-f", "--json")
    assert ended.code == 2
    assert "--jsonl" in ended.err


def test_one_form_of_output_is_enough(run: Run, store: GroupTranscriptStore) -> None:
    for command in (["tail"], ["show", "oc_team"], ["search", "x"]):
        ended = run(*command, "--json", "--jsonl")
        assert (ended.code, ended.document["error"]["code"]) == (2, "usage")


@pytest.mark.parametrize("arguments", [["tail", "--nonsense"], ["tail", "-n", "many"], ["search"], ["nonsense"]])
def test_what_the_parser_refuses_is_a_document_under_json_too(run: Run, arguments: list[str]) -> None:
    ended = run(*arguments, "--json")
    assert ended.code == 2
    assert "Usage" in ended.err
    error = ended.document["error"]
    assert error["code"] == "usage"
    assert "--help" in error["hint"]


def test_an_error_under_json_is_a_document_too(run: Run, store: GroupTranscriptStore) -> None:
    ended = run("show", "oc_nowhere", "--json")
    assert ended.code == 2
    assert ended.document["error"]["code"] == "usage"
    assert ended.document["error"]["hint"]


def test_lone_surrogates_can_be_printed(run: Run, store: GroupTranscriptStore) -> None:
    store.append("feishu:oc_s", "user", "a\ud800b", "on_s", "om_s")
    assert "a\ufffdb" in run("show", "oc_s").out
    assert run("show", "oc_s", "--json").document["entries"][0]["content"] == "a\ufffdb"


def test_an_absurd_time_does_not_stop_the_reading(run: Run, store: GroupTranscriptStore) -> None:
    store.append("feishu:oc_t1", "user", "late", "x", "om_1", 9e17)
    assert "late" in run("show", "oc_t1").out


def test_stats_tell_how_often_people_corrected_a_bot(run: Run, store: GroupTranscriptStore, base_dir: Path) -> None:
    log = FileDecisionLog(base_dir)
    for number, (agent, reason) in enumerate(
        [*[("Alpha", "answered")] * 7, ("Alpha", "intruded"), ("Alpha", "missed"), ("Beta", "answered")]
    ):
        message: Any = {"message_id": f"om_{number}"}
        assert log.write("feishu:oc_team", later(reason, "feishu:oc_team", message, agent))
    shown = [line.split() for line in run("stats", "oc_team").out.splitlines()]
    assert ["Alpha", "7", "1", "14.3", "1", "12.5"] in shown
    assert ["Beta", "1", "0", "0.0", "0", "0.0"] in shown
    assert run("stats", "oc_team", "--json").document["bots"][0] == {
        "agent": "Alpha",
        "answers": 7,
        "intruded": 1,
        "missed": 1,
        "intruded_per_100": 14.3,
        "missed_per_100": 12.5,
    }
    assert run("stats", "oc_other", "--json").document["bots"] == []
