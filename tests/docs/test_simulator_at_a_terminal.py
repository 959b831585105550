"""The simulator's chapter starts gateways in the background of a terminal, and there they run."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import IO

import pytest
from support.chapters import blocks_of_section
from support.ports import free_port
from support.waiting import until
from support.watched import Watched

pytest.importorskip("nanobot")
pytestmark = pytest.mark.host

SECTION = "alpha/config.json"
JOB = re.compile(r"^\[\d\] (\d+)", re.MULTILINE)
COMMANDS = Path(sys.executable).parent


class Printed:
    """What the page says, with ports that are free."""

    def __init__(self) -> None:
        self._free = {port: str(free_port()) for port in ("9400", "9401", "18791", "18792")}
        blocks = [self._with_free_ports(text) for _, text in blocks_of_section("en", SECTION)]
        self.platform, self.config, self.gateways, self.say, self.look = blocks
        self.health = [int(self._free[port]) for port in ("18791", "18792")]

    def _with_free_ports(self, text: str) -> str:
        for port, free in self._free.items():
            text = text.replace(port, free)
        return text


def lines(block: str) -> list[str]:
    return [line.removeprefix("$ ") for line in block.replace("\\\n", "").splitlines()]


@contextmanager
def terminal(home: Path) -> Iterator[Watched]:
    """An interactive shell with job control; its jobs end with it, also those that are stopped."""
    kept = {name: os.environ[name] for name in ("LANG", "LC_ALL") if name in os.environ}
    path = f"{COMMANDS}{os.pathsep}{os.environ['PATH']}"
    env = {**kept, "HOME": str(home), "PATH": path, "PS1": "$ ", "TERM": "dumb", "NO_PROXY": "*"}
    shell = Watched(["setsid", "--ctty", "bash", "--norc", "--noprofile", "-i"], env, terminal=True)
    try:
        shell.type(f"cd {home}")
        yield shell
    finally:
        for job in jobs(shell):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(job, signal.SIGKILL)
        shell.process.kill()  # at a terminal bash does not mind SIGTERM
        shell.process.wait()
        shell.close()


def jobs(shell: Watched) -> list[int]:
    return [int(pid) for pid in JOB.findall(shell.seen)]


def is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "T"


def answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


@asynccontextmanager
async def gateways(printed: Printed, home: Path) -> AsyncIterator[Watched]:
    """The page's second terminal, once both gateways answer at their ports or stand still."""
    for bot in ("alpha", "beta"):
        (home / "simulated" / bot).mkdir(parents=True)
    (home / "simulated" / "alpha" / "config.json").write_text(printed.config, encoding="utf-8")
    with terminal(home) as shell:
        for line in lines(printed.gateways):
            shell.type(line)
        shell.type("echo all are start''ed")
        shell.until("all are started")
        pids = jobs(shell)
        assert len(pids) == len(printed.health), shell.seen
        await until(lambda: any(map(is_stopped, pids)) or all(map(answers, printed.health)))
        yield shell


def test_both_languages_print_the_same() -> None:
    for holding in (SECTION, "simulated.yaml"):
        assert blocks_of_section("en", holding) == blocks_of_section("zh", holding)


async def test_the_gateways_run_in_the_background_of_a_terminal(tmp_path: Path) -> None:
    async with gateways(Printed(), tmp_path) as shell:
        shell.type("jobs")
        shell.type("echo all are list''ed")
        shell.until("all are listed")
        assert len(re.findall(r"^\[\d\][+-]? +Running", shell.seen, re.MULTILINE)) == 2, shell.seen
        assert "Stopped" not in shell.seen


@contextmanager
def simulator(printed: Printed, home: Path) -> Iterator[subprocess.Popen[str]]:
    """The page's first terminal."""
    _, command = lines(printed.platform)
    words = command.replace("python ", f"{sys.executable} ", 1)
    pipe = subprocess.PIPE
    process = subprocess.Popen(["bash", "-c", f"exec {words}"], stdin=pipe, stdout=pipe, encoding="utf-8", cwd=home)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.soak  # it costs seconds of a processor for each gateway; what is cheap of it is looked at above
async def test_the_gateways_answer_and_record_as_the_page_says(tmp_path: Path) -> None:
    printed = Printed()
    with simulator(printed, tmp_path) as platform:
        assert platform.stdin is not None
        assert platform.stdout is not None
        async with gateways(printed, tmp_path) as shell:
            for _ in printed.health:
                skip_to_connected(platform.stdout)
            platform.stdin.write(printed.say)
            platform.stdin.flush()
            record = tmp_path / "simulated" / "record"
            await until(lambda: sum(len(file.read_bytes().splitlines()) for file in record.glob("*.jsonl")) == 3)
            look, end = lines(printed.look)
            shell.type(look)
            shell.until("You said: are you there?")
            shell.type(end)
            shell.type("wait; jobs; echo all have end''ed")
            shell.until("all have ended")
            assert "Stopped" not in shell.seen


def skip_to_connected(events: IO[str]) -> None:
    assert any(json.loads(line)["event"] == "connected" for line in events), "the simulator ended"
