"""Processes with homes of their own, as on several machines: what all of them hear is recorded once."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.places import open_record
from support.waiting import PATIENCE

TESTS = Path(__file__).resolve().parents[2]
KEY = "feishu:oc_homes"
HEARS = """
import sys
from support.places import open_record
place, home, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
with open_record(place, spool_dir=home) as record:
    for number in range(count):
        ts = 1_700_000_000_000 + number
        record.store.append("feishu:oc_homes", "user", f"text {number}", "on_ada", f"om_{number}", ts)
    assert record.store.flush("feishu:oc_homes", 900)
"""
PROCESSES = 8
HOMES = 3


@pytest.mark.parametrize("count", [200, pytest.param(10_000, marks=pytest.mark.soak)])
def test_the_same_ids_from_three_homes_stand_once(
    postgres_place: str, tmp_path: Path, count: int, soak_row: Callable[..., None]
) -> None:
    running = [
        subprocess.Popen(
            [sys.executable, "-c", HEARS, postgres_place, str(tmp_path / f"home-{number % HOMES}"), str(count)],
            cwd=TESTS,
        )
        for number in range(PROCESSES)
    ]
    try:
        assert [process.wait(max(PATIENCE, count / 5)) for process in running] == [0] * PROCESSES
    finally:
        for process in running:
            process.kill()
            process.wait()
    with open_record(postgres_place) as record:
        ids = [entry["message_id"] for entry in record.store.scan(KEY)]
        report = record.store.verify(KEY)
    assert sorted(ids, key=lambda name: int(str(name)[3:])) == [f"om_{number}" for number in range(count)]
    assert (report.entries, report.duplicates, report.lines) == (count, 0, count)
    soak_row(processes=PROCESSES, homes=HOMES, ids=count, recorded=len(ids), doubled=report.duplicates)
