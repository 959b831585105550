"""How many answers of each bot failed lately: by the log of decisions, and only by the newest of it."""

import os
from pathlib import Path
from typing import Any

from nanobot_transcript.relevance.decision import Decision, Reason, Stage, later
from nanobot_transcript.relevance.decision_log_file import FileDecisionLog
from nanobot_transcript.relevance.tally import NotedVerdict, Tally, tallies_since, verdicts_since

KEY, OTHER = "feishu:oc_team", "feishu:oc_other"
HOUR = 3_600_000


def end(
    log: FileDecisionLog,
    ts: float,
    reason: str,
    message_id: str = "om_1",
    agent: str = "Alpha",
    key: str = KEY,
    **of: Any,
) -> None:
    message: Any = {"message_id": message_id}
    assert log.write(key, later(reason, key, message, agent, **of), ts)


def test_by_bot_the_newest_failure_of_all_chats_is_told_with_its_place(tmp_path: Path) -> None:
    log = FileDecisionLog(tmp_path)
    end(log, 1 * HOUR, "failed", "om_old", why="long ago")
    end(log, 3 * HOUR, "failed", "om_1", why="no key", key=OTHER)
    end(log, 4 * HOUR, "failed", "om_2", why="no model")
    end(log, 5 * HOUR, "answered", "om_3")
    end(log, 5 * HOUR, "answered", agent="Beta")
    end(log, 5 * HOUR, "withdrawn", "om_4")
    end(log, 5 * HOUR, "claimed", "om_5")
    assert tallies_since(log, 2 * HOUR) == [
        Tally("Alpha", 3, 2, "no model", 4 * HOUR, KEY, "om_2"),
        Tally("Beta", 1),
    ]


def test_of_two_outcomes_of_one_answer_the_later_counts(tmp_path: Path) -> None:
    log = FileDecisionLog(tmp_path)
    end(log, 1, "failed", why="not sent")
    end(log, 2, "answered")
    assert tallies_since(log, 0) == [Tally("Alpha", 1)]


def test_what_is_odd_in_the_log_is_nobodys_failure(tmp_path: Path) -> None:
    log = FileDecisionLog(tmp_path)
    end(log, 1, "answered")
    with log.path_of(KEY).open("a", encoding="utf-8") as file:
        file.write(
            '{"v": 1, "stage":"answer", "ts": "soon", "reason": ["failed"]}\n"answer"\n{"v": 2, "stage":"answer"}\n'
        )
    assert tallies_since(log, 1) == [Tally("Alpha", 1)]


def test_a_failure_is_found_however_many_chats_are_busy(tmp_path: Path) -> None:
    log = FileDecisionLog(tmp_path)
    end(log, 1 * HOUR, "failed", why="no key", key="feishu:oc_quiet")
    os.utime(log.path_of("feishu:oc_quiet"), (3600, 3600))
    for number in range(60):
        end(log, 2 * HOUR, "answered", agent="Beta", key=f"feishu:oc_{number}")
    alpha, beta = tallies_since(log, 1 * HOUR)
    assert (alpha.failed, alpha.why, beta.ended) == (1, "no key", 60)


def test_a_long_log_is_read_back_to_the_time_that_is_asked_for(tmp_path: Path) -> None:
    log = FileDecisionLog(tmp_path, max_bytes=600_000)
    for number in range(5000):  # more than one block, and more than one file
        end(log, number * 1000, "claimed", f"om_{number}")
        if number % 100 == 0:
            end(log, number * 1000, "failed", f"om_{number}", why=f"{number}")
    with log.path_of(KEY).open("ab") as file:
        file.write(b"no line of ours\n" * 20_000)
    for since in (0, 1_000_000, 3_333_000, 4_900_000, 5_000_000):
        expected = [str(number) for number in range(0, 5000, 100) if number * 1000 >= since]
        assert [one["why"] for one in FileDecisionLog(tmp_path).outcomes(since)] == expected
        assert [one["why"] for one in log.outcomes(since)] == expected
    assert [one["why"] for one in log.outcomes(4_800_000)] == ["4800", "4900"]  # further back than just now


def test_what_is_noted_after_a_look_is_found_by_the_next_one_also_in_a_file_that_was_moved_on(tmp_path: Path) -> None:
    log, reader = FileDecisionLog(tmp_path, max_bytes=1000), FileDecisionLog(tmp_path)
    for number in range(12):
        end(log, number, "failed", f"om_{number}")
        found = [one["message_id"] for one in reader.outcomes(0)]
        assert found == [f"om_{seen}" for seen in range(number + 1)][-len(found) :]
        assert len(found) >= min(number + 1, 8)
        assert found == [one["message_id"] for one in reader.outcomes(0)]


def test_files_that_were_not_written_to_since_are_not_read(tmp_path: Path) -> None:
    log = FileDecisionLog(tmp_path)
    end(log, 200_000, "failed")
    os.utime(log.path_of(KEY), (100, 100))
    assert log.outcomes(180_000) == []
    assert len(log.outcomes(120_000)) == 1


def test_no_log_is_no_answer(tmp_path: Path) -> None:
    assert tallies_since(FileDecisionLog(tmp_path), 0) == []


def test_only_what_became_of_answers_carries_the_last_stage(tmp_path: Path) -> None:
    log = FileDecisionLog(tmp_path)
    end(log, 1, Reason.CLAIMED)
    end(log, 2, Reason.FAILED, why="x")
    ((record,), (_, noted)) = log.outcomes(0), log.read(KEY)
    assert record == noted
    assert (record["stage"], record["respond"], record["why"]) == ("answer", False, "x")


def decide(
    log: FileDecisionLog, ts: float, respond: bool | None, reason: Reason, message_id: str = "om_1", key: str = KEY
) -> None:
    stage = Stage.NEVER if reason in (Reason.OWN, Reason.DUPLICATE) else Stage.SCORE
    assert log.write(key, Decision(respond, reason, 0.5, stage, "Alpha", message_id), ts)


def test_what_a_bot_did_about_a_message_is_what_was_noted_last_with_why_it_felt_meant(tmp_path: Path) -> None:
    log = FileDecisionLog(tmp_path)
    decide(log, 1, True, Reason.MENTIONED)
    end(log, 2, "answered")
    decide(log, 3, False, Reason.DUPLICATE)  # heard once more
    decide(log, 4, False, Reason.OPEN_QUESTION, "om_2")
    end(log, 5, "claimed", "om_2")
    end(log, 6, "failed", "om_2", why="no key")
    decide(log, 7, False, Reason.SCORE_LOW, "om_3")
    end(log, 8, "missed", "om_3")  # people said so; it was silent nevertheless
    decide(log, 9, False, Reason.OPEN_QUESTION, "om_4")
    end(log, 10, "claim_seen", "om_4")
    decide(log, 11, True, Reason.NAMED, "om_5")
    decide(log, 12, False, Reason.OWN, "om_6")
    end(log, 13, "said_nothing", "om_7", key=OTHER)
    assert verdicts_since(log, 1, [KEY, OTHER]) == [
        NotedVerdict("Alpha", KEY, "om_1", "answered", "mentioned", "", 2),
        NotedVerdict("Alpha", KEY, "om_2", "failed", "open_question", "no key", 6),
        NotedVerdict("Alpha", KEY, "om_3", "silent", "score_low", "", 7),
        NotedVerdict("Alpha", KEY, "om_4", "silent", "claim_seen", "", 10),
        NotedVerdict("Alpha", KEY, "om_5", "begun", "named", "", 11),
        NotedVerdict("Alpha", OTHER, "om_7", "silent", "said_nothing", "", 13),
    ]
    assert verdicts_since(log, 6, [KEY])[0].reason == "failed"  # why it felt meant was noted before


def test_what_is_counted_by_reason_is_what_the_tally_counts(tmp_path: Path) -> None:
    log = FileDecisionLog(tmp_path)
    for number, reason in enumerate(["answered", "failed", "answered", "withdrawn", "said_nothing", "failed"]):
        decide(log, number, True, Reason.MENTIONED, f"om_{number}")
        end(log, number, reason, f"om_{number}")
    end(log, 9, "answered", "om_1")
    (tally,) = tallies_since(log, 0, [KEY])
    done = [each.done for each in verdicts_since(log, 0, [KEY])]
    assert (done.count("answered"), done.count("failed")) == (tally.ended - tally.failed, tally.failed) == (3, 1)


def test_odd_lines_of_the_log_are_counted_as_silence_at_most(tmp_path: Path) -> None:
    log = FileDecisionLog(tmp_path)
    end(log, 1, "answered")
    with log.path_of(KEY).open("a", encoding="utf-8") as file:
        file.write(f'{{"v": 1, "chat": "{KEY}", "stage": ["a"], "ts": 5, "reason": {{}}, "message_id": 7}}\n')
        file.write(f'{{"v": 1, "chat": "{KEY}", "stage": "score", "ts": "soon"}}\n')
    assert [(each.done, each.ts) for each in verdicts_since(log, 1, [KEY])] == [("answered", 1), ("silent", 5)]
