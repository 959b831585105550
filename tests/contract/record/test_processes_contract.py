"""Who lives: known to all for as long as it does, and not a moment longer."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from contract.conftest import MakeRecord
from support.procs import until

TESTS = Path(__file__).resolve().parents[2]
LIVES = """
import sys
from support.places import open_record
record = open_record(sys.argv[1])
print(record.processes.join(), flush=True)
sys.stdin.read()
"""


def test_who_has_joined_lives_until_it_leaves(make_record: MakeRecord) -> None:
    first, second = make_record().processes, make_record().processes
    name = first.join()
    assert first.join() == name
    assert (first.alive(name), second.alive(name)) == (True, True)
    other = second.join()
    assert other != name
    first.leave()
    assert (second.alive(name), first.alive(other)) == (False, True)
    assert first.join() not in (name, other)


def test_nobody_lives_who_never_was(make_record: MakeRecord) -> None:
    processes = make_record().processes
    assert not processes.alive("0123456789abcdef0123456789abcdef")
    processes.leave()


@pytest.mark.parametrize(
    "name", ["", "..", "../x", "/etc/passwd", "a\0b", "x" * 5000, "0123456789abcdef0123456789abcdeF"]
)
def test_what_no_join_gave_is_nobody(make_record: MakeRecord, name: str) -> None:
    processes = make_record().processes
    processes.join()
    assert not processes.alive(name)


def test_a_killed_process_does_not_live(make_record: MakeRecord, place: str) -> None:
    processes = make_record().processes
    command = [sys.executable, "-c", LIVES, place]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=TESTS) as process:
        assert process.stdout is not None
        name = process.stdout.readline().strip()
        assert processes.alive(name)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    until(lambda: not processes.alive(name), "it is seen to have ended")


def test_a_record_that_is_closed_has_left(make_record: MakeRecord) -> None:
    record, other = make_record(), make_record()
    name = record.processes.join()
    record.close()
    until(lambda: not other.processes.alive(name), "it is seen to have ended")
