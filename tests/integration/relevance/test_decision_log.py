"""The decision log under several processes at once."""

import subprocess
import sys
from pathlib import Path

from support.waiting import PATIENCE

from nanobot_transcript.relevance.decision_log_file import FileDecisionLog

KEY = "feishu:oc_team"
WRITER = """
import sys
from nanobot_transcript.relevance import Decision, Reason, Stage
from nanobot_transcript.relevance.decision_log_file import FileDecisionLog
log = FileDecisionLog(sys.argv[1], max_bytes=int(sys.argv[3]))
for at in range(300):
    decision = Decision(True, Reason.NAMED, 1.0, Stage.CERTAIN, agent=sys.argv[2], message_id=f"om_{at}")
    assert log.write("feishu:oc_team", decision)
"""


def write_from_processes(base: Path, max_bytes: int) -> None:
    arguments = [sys.executable, "-c", WRITER, str(base)]
    running = [subprocess.Popen([*arguments, name, str(max_bytes)]) for name in ("A", "B", "C")]
    assert [process.wait(timeout=PATIENCE) for process in running] == [0, 0, 0]


def test_no_line_of_three_processes_is_lost_or_torn(tmp_path: Path) -> None:
    write_from_processes(tmp_path, 10_000_000)
    records = FileDecisionLog(tmp_path).read(KEY)
    for name in ("A", "B", "C"):
        mine = [record["message_id"] for record in records if record["agent"] == name]
        assert mine == [f"om_{at}" for at in range(300)]


def test_rotation_by_three_processes_at_once_keeps_whole_lines_and_few_files(tmp_path: Path) -> None:
    write_from_processes(tmp_path, 8_000)
    log = FileDecisionLog(tmp_path, max_bytes=8_000)
    files = [path for path in log.folder.iterdir() if path.name.startswith("feishu")]
    assert len(files) == 4
    assert all(path.stat().st_size <= 10_000 for path in files)
    lines = sum(path.read_bytes().count(b"\n") for path in files)
    assert len(log.read(KEY)) == lines > 100
