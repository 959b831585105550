"""The real command in a process of its own, with pipes or with a terminal."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.watched import Watched

Environment = dict[str, str]


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
def on_terminal(command: Callable[..., list[str]], env: Environment) -> Iterator[Callable[..., Watched]]:
    """``on_terminal("tail", "-f", NO_COLOR="1")`` starts a command on a terminal."""
    started: list[Watched] = []

    def start(*arguments: str, **variables: str) -> Watched:
        started.append(Watched(command(*arguments), env | variables, terminal=True))
        return started[-1]

    yield start
    for one in started:
        one.close()
