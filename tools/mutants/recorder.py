"""The pytest plugin of the measuring run: which test executes which lines, and how long each test takes.

The lines of a test's child processes count as its own: a child starts coverage as the parent did, and takes the test's
name from ``PYTEST_CURRENT_TEST``, which pytest keeps in the environment. Many tests start their programs with an
environment of their own, so both variables are added to every environment that a test hands to ``subprocess``. What
would be forked from a process of the tests starts anew, or it would go on with that one's measurement.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import coverage
import pytest

HANDED_ON = ("COVERAGE_PROCESS_START", "MUTANTS_ROOT", "MUTANTS_DATA", "PYTEST_CURRENT_TEST")
SLOWER = 10
TESTS = Path(__file__).resolve().parents[2] / "tests"
OUTCOMES = "outcomes-{pid}.jsonl"

_start = subprocess.Popen.__init__


def _start_measured(self: Any, *args: Any, env: Any = None, **kwargs: Any) -> None:
    if env is not None:
        env = {**env, **{name: os.environ[name] for name in HANDED_ON if name in os.environ}}
    _start(self, *args, env=env, **kwargs)


class _Started(subprocess.Popen[Any]):
    """Stands for ``support.forking.Forked``."""

    def __init__(self, module: str, *arguments: str, env: Any = None, **options: Any) -> None:
        env = {**(os.environ if env is None else env), "PYTHONPATH": str(TESTS)}
        super().__init__([sys.executable, "-m", module, *arguments], env=env, **options)


def pytest_configure() -> None:
    """Called in every process that runs tests."""
    forking: Any = import_module("support.forking")  # not found before pytest has read its settings
    subprocess.Popen.__init__ = _start_measured  # type: ignore[method-assign]
    forking.Forked = _Started


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that set themselves a time get a multiple of it: tracing makes them slower."""
    for item in items:
        if (own := item.get_closest_marker("timeout")) and own.args:
            item.add_marker(pytest.mark.timeout(SLOWER * own.args[0]), append=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """What runs from now on belongs to this test, the set-up of its fixtures included."""
    _switch(item.nodeid)
    try:
        return (yield)
    finally:
        _switch("")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """One line for each step of each test: how it went and how long it took."""
    report = yield
    folder = Path(os.environ["MUTANTS_DATA"]).parent
    line = {"test": item.nodeid, "step": report.when, "outcome": report.outcome, "seconds": round(report.duration, 4)}
    with (folder / OUTCOMES.format(pid=os.getpid())).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")
    return report


def _switch(context: str) -> None:
    running = coverage.Coverage.current()
    if running is not None:
        running.switch_context(context)
