"""The real command in a process of its own, with pipes or with a terminal."""

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.procs import DEADLINE

Environment = dict[str, str]


class OnTerminal:
    """A command whose standard streams are a terminal of 80 columns."""

    def __init__(self, command: list[str], env: Environment) -> None:
        self._terminal, other = pty.openpty()
        self.process = subprocess.Popen(command, stdin=other, stdout=other, stderr=other, env=env, close_fds=True)
        os.close(other)
        self.seen = ""

    def until(self, text: str) -> str:
        """Everything printed so far, once ``text`` is in it."""
        deadline = time.monotonic() + DEADLINE
        while text not in self.seen:
            assert time.monotonic() < deadline, f"never saw {text!r} in {self.seen!r}"
            if not self._read(0.5):
                assert self.process.poll() is None or self._read(0.1), f"ended without {text!r}: {self.seen!r}"
        return self.seen

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._terminal, text.encode())

    def end(self) -> int:
        """Wait for the end and return the exit code."""
        deadline = time.monotonic() + DEADLINE
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"never ended: {self.seen!r}"
            self._read(0.1)
        while self._read(0.05):
            pass
        return self.process.returncode

    def close(self) -> None:
        """End the process if it still runs."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(DEADLINE)
        os.close(self._terminal)

    def _read(self, wait: float) -> bool:
        if not select.select([self._terminal], [], [], wait)[0]:
            return False
        try:
            piece = os.read(self._terminal, 65536)
        except OSError:  # the other side is closed
            return False
        self.seen += piece.decode("utf-8", "replace")
        return bool(piece)


@pytest.fixture
def env(tmp_path: Path) -> Environment:
    """A person with an empty home, an 80 column terminal and no settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NANOBOT_", "NO_COLOR"))}
    home = tmp_path / "home"
    home.mkdir()
    return kept | {"HOME": str(home), "COLUMNS": "80", "TERM": "xterm-256color", "PYTHONUTF8": "1"}


@pytest.fixture
def command(base_dir: Path) -> Callable[..., list[str]]:
    """``command("tail", "-f")``: the argument vector of a command on this test's store."""

    def build(*arguments: str) -> list[str]:
        return [sys.executable, "-m", "nanobot_transcript.cli", *arguments, "--store", str(base_dir)]

    return build


@pytest.fixture
def on_terminal(command: Callable[..., list[str]], env: Environment) -> Iterator[Callable[..., OnTerminal]]:
    """``on_terminal("tail", "-f", NO_COLOR="1")`` starts a command on a terminal."""
    started: list[OnTerminal] = []

    def start(*arguments: str, **variables: str) -> OnTerminal:
        started.append(OnTerminal(command(*arguments), env | variables))
        return started[-1]

    yield start
    for one in started:
        one.close()
