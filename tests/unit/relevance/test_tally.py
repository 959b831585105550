"""How many answers of each bot failed lately: by the log of decisions, and only by the newest of it."""

import os
from pathlib import Path
from typing import Any

from nanobot_transcript.relevance.decision import Reason, later
from nanobot_transcript.relevance.log_file import FileDecisionLog
from nanobot_transcript.relevance.tally import Tally, tallies_since

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
