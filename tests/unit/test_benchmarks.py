"""What is measured is shown at once and never lost, whoever stops it; and whatever was started ends with it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from support.waiting import PATIENCE, until

from benchmarks.context import Context, Stopped
from benchmarks.parts import PARTS, Part, UnknownNameError, chosen
from benchmarks.run import main, measure
from benchmarks.table import Bar, Row

ROOT = Path(__file__).resolve().parents[2]
FLOOR = Bar(">=", 2)
STARTS_OTHERS = """
import subprocess, sys
from pathlib import Path
from benchmarks.children import child
from benchmarks.context import Context
from benchmarks.parts import Part
from benchmarks.run import measure, stop_on_signals
from benchmarks.table import Row

def rows(context):
    with child(["sh", "-c", "sleep 600 & echo $! && wait"], stdout=subprocess.PIPE, text=True) as process:
        yield Row("finished", "ms", 1.0, "naive", 1.0, [1.0])
        print(process.pid, process.stdout.readline(), flush=True)
        process.wait()

stop_on_signals()
sys.exit(measure([Part("room", "part", "what", rows)], Context(False, 1, None), Path(sys.argv[1])))
"""


def row(name: str, ratio: float = 3.0, bar: Bar | None = None) -> Row:
    return Row(name, "ms", 1.0, "naive", 1.0, [ratio], bar)


def part(name: str, *rows: Row) -> Part:
    def made(_context: Context) -> Generator[Row]:
        yield from rows

    return Part("room", name, "what it is about", made)


def context() -> Context:
    return Context(quick=False, runs=5, place=None)


def test_a_room_or_a_part_is_chosen_by_its_name() -> None:
    assert chosen([]) == [each for each in PARTS if not each.named]
    assert [each.name for each in chosen(["scale"])] == ["scale"]
    assert [each.name for each in chosen(["mail", "search"])] == ["search", "mail"]
    assert {each.room for each in chosen(["store"])} == {"store"}
    assert len(chosen(["store"])) > 3


def test_a_wrong_name_is_answered_with_all_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UnknownNameError, match="'mial'"):
        chosen(["mial"])
    with pytest.raises(SystemExit) as ended:
        main(["mial"])
    told = capsys.readouterr().err
    assert ended.value.code == 2
    assert [each.name for each in PARTS if f" {each.name} " not in told] == []


def test_the_list_and_the_help_name_every_part(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    listed = capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--help"])
    assert listed in capsys.readouterr().out
    assert [each.what for each in PARTS if each.what not in listed] == []


def test_a_table_is_printed_before_the_next_part_begins(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[str] = []

    def second(_context: Context) -> Generator[Row]:
        seen.append(capsys.readouterr().out)
        yield row("the second row")

    assert measure([part("first", row("the first row")), Part("room", "second", "", second)], context()) == 0
    assert "the first row" in seen[0]
    assert "the second row" in capsys.readouterr().out


def test_a_row_below_its_floor_makes_the_exit_code_1() -> None:
    assert measure([part("a", row("good", 2.0, FLOOR))], context()) == 0
    assert measure([part("a", row("bad", 1.9, FLOOR)), part("b", row("good", 2.0, FLOOR))], context()) == 1


def test_what_was_measured_before_a_failure_is_shown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    def failing(_context: Context) -> Generator[Row]:
        yield row("measured")
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        measure([Part("room", "part", "", failing)], context(), tmp_path / "rows.json")
    assert "measured" in capsys.readouterr().out
    assert [each["name"] for each in json.loads((tmp_path / "rows.json").read_text())["rows"]] == ["measured"]


def test_the_runs_that_were_finished_count_when_somebody_stops_it(capsys: pytest.CaptureFixture[str]) -> None:
    taken = iter([1.0, 2.0])

    def once() -> float:
        for value in taken:
            return value
        raise Stopped(signal.SIGINT)

    def stopped(context: Context) -> Generator[Row]:
        yield Row("two runs", "ms", 1.0, "naive", 1.0, context.measured("runs", once))
        yield Row("never", "ms", 1.0, "naive", 1.0, context.measured("more", lambda: 1.0))

    assert measure([Part("room", "part", "", stopped), part("next", row("not begun"))], context()) == 130
    told = capsys.readouterr().out
    assert "two runs" in told
    assert "(1–2)" in told
    assert "never" not in told
    assert "not begun" not in told


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
async def test_whatever_a_benchmark_started_ends_with_it(number: signal.Signals, tmp_path: Path) -> None:
    code, told, child, grandchild = ended_by(number, tmp_path / "rows.json")
    await until(lambda: not alive(child))
    assert [each["name"] for each in json.loads((tmp_path / "rows.json").read_text())["rows"]] == ["finished"]
    if number == signal.SIGKILL:  # then the kernel ends the child, and nobody what that has started
        os.kill(grandchild, signal.SIGKILL)
    else:
        await until(lambda: not alive(grandchild))
        assert code == 128 + number
        assert "finished" in told


def ended_by(number: signal.Signals, kept: Path) -> tuple[int, str, int, int]:
    """A benchmark that was in the middle of a row: its exit code, what it printed, and two processes below it."""
    command = [sys.executable, "-c", STARTS_OTHERS, str(kept)]
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=nowhere, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        child, grandchild = map(int, process.stdout.readline().split())
        process.send_signal(number)
        told, _ = process.communicate(timeout=PATIENCE)
    return process.returncode, told, child, grandchild


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
