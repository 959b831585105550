"""The decision log: one line for each decision, bounded, readable by others, without anybody's words."""

import fcntl
import json
import os
import stat
from itertools import count, islice
from pathlib import Path
from typing import Any

import pytest

from nanobot_transcript.relevance import RelevanceGate, decision_log_file
from nanobot_transcript.relevance.decision import STOPS, Reason, later
from nanobot_transcript.relevance.decision_log_file import FileDecisionLog

KEY = "feishu:oc_team"


async def test_each_resolved_decision_is_one_line_without_text(group: Any, tmp_path: Path) -> None:
    log = FileDecisionLog(tmp_path)
    gate = RelevanceGate(log=log)
    message = group.says("ada", "Alpha, a secret")
    decision = gate.decide(message, [], group.alpha, group.members, session_key=KEY)
    assert log.read(KEY) == []
    await gate.resolve(decision)
    (record,) = log.read(KEY, message["message_id"])
    assert (record["agent"], record["respond"], record["reason"], record["stage"]) == (
        "Alpha",
        True,
        "named",
        "certain",
    )
    assert "secret" not in log.path_of(KEY).read_text(encoding="utf-8")
    assert log.read("feishu:oc_other") == []


def test_what_a_claim_or_the_loop_guard_decided_is_open_to_nobody_else(group: Any, tmp_path: Path) -> None:
    log = FileDecisionLog(tmp_path)
    for reason in (Reason.CLAIMED, *STOPS):
        log.write(KEY, later(reason, KEY, group.says("ada", "hi"), "Alpha"))
    assert {(record["open"], record["stage"]) for record in log.read(KEY)} == {(False, "claim"), (False, "guard")}


def test_the_files_are_private(group: Any, tmp_path: Path) -> None:
    log = FileDecisionLog(tmp_path)
    assert log.write(KEY, group.decide(group.says("ada", "hi")))
    assert stat.S_IMODE(log.path_of(KEY).stat().st_mode) == 0o600
    assert stat.S_IMODE(log.folder.stat().st_mode) == 0o700
    assert not list(tmp_path.glob("**/*.jsonl"))


def test_old_decisions_make_room_for_new_ones(group: Any, tmp_path: Path) -> None:
    log = FileDecisionLog(tmp_path, max_bytes=2000, kept=2)
    for _ in range(200):
        assert log.write(KEY, group.decide(group.says("ada", "hi")))
    files = [path for path in log.folder.iterdir() if path.name.startswith("feishu")]
    assert len(files) == 3
    assert all(path.stat().st_size <= 2000 for path in files)
    kept = [record["message_id"] for record in log.read(KEY)]
    assert kept == [f"om_{at}" for at in range(200 - len(kept) + 1, 201)]


def test_what_is_moved_on_while_it_is_read_is_neither_missed_nor_given_twice(
    group: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = FileDecisionLog(tmp_path, max_bytes=2000, kept=20)
    decisions = (group.decide(group.says("ada", f"@Alpha {number}")) for number in count())
    written: list[str] = []

    def write(amount: int) -> None:
        for decision in islice(decisions, amount):
            log.write(KEY, decision)
            written.append(decision.message_id)

    write(20)
    at_first = list(written)
    records = decision_log_file._records

    def read_and_moved_on(path: Path) -> tuple[int, list[dict[str, Any]]]:
        found = records(path)
        write(10)  # more than a file holds
        return found

    monkeypatch.setattr(decision_log_file, "_records", read_and_moved_on)
    found = [record["message_id"] for record in log.read(KEY)]
    assert [each for each in found if each in at_first] == at_first
    assert found == [each for each in written if each in found]


def test_nobody_waits_while_another_process_makes_room(group: Any, tmp_path: Path) -> None:
    log = FileDecisionLog(tmp_path, max_bytes=1000)
    log.folder.mkdir(parents=True)
    held = os.open(log.folder / "rotate.lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(held, fcntl.LOCK_EX)  # like another process: locks belong to what was opened
    noted = 0
    while log.write(KEY, group.decide(group.says("ada", "hi"))) and noted < 100:
        noted += 1
    assert 2000 < log.path_of(KEY).stat().st_size < 2500
    assert len(log.read(KEY)) == noted
    os.close(held)
    assert log.write(KEY, group.decide(group.says("ada", "hi")))
    assert len(log.read(KEY)) == noted + 1
    assert log.path_of(KEY).stat().st_size < 1000


def test_a_file_of_a_newer_version_is_left_alone(group: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    log = FileDecisionLog(tmp_path)
    log.folder.mkdir(parents=True)
    log.path_of(KEY).write_text('{"v": 99}\n', encoding="utf-8")
    assert not log.write(KEY, group.decide(group.says("ada", "hi")))
    assert not log.write(KEY, group.decide(group.says("ada", "hi")))
    assert log.path_of(KEY).read_text(encoding="utf-8") == '{"v": 99}\n'
    assert len(caplog.records) == 1


def test_a_link_in_its_place_is_not_followed(group: Any, tmp_path: Path) -> None:
    log, victim = FileDecisionLog(tmp_path), tmp_path / "victim"
    victim.write_text("", encoding="utf-8")
    log.folder.mkdir(parents=True)
    log.path_of(KEY).symlink_to(victim)
    assert not log.write(KEY, group.decide(group.says("ada", "hi")))
    assert victim.read_text(encoding="utf-8") == ""


def test_torn_and_foreign_lines_are_left_out(group: Any, tmp_path: Path) -> None:
    log = FileDecisionLog(tmp_path)
    log.write(KEY, group.decide(group.says("ada", "hi")))
    with log.path_of(KEY).open("ab") as file:
        file.write(b'{"v":1,"chat":"feishu:o\n\xff\xfe\n[]\n')
    log.write(KEY, group.decide(group.says("ada", "hi")))
    assert [record["message_id"] for record in log.read(KEY)] == ["om_1", "om_2"]


def test_a_folder_that_cannot_be_made_costs_no_decision(group: Any, tmp_path: Path) -> None:
    (tmp_path / ".state").write_text("in the way", encoding="utf-8")
    assert not FileDecisionLog(tmp_path).write(KEY, group.decide(group.says("ada", "hi")))


def test_a_line_is_json_with_a_version(group: Any, tmp_path: Path) -> None:
    log = FileDecisionLog(tmp_path)
    log.write(KEY, group.decide(group.says("ada", "hi")), now_ms=5)
    line = json.loads(log.path_of(KEY).read_text(encoding="utf-8"))
    assert (line["v"], line["ts"], line["chat"]) == (1, 5, KEY)
