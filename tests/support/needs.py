"""What some tests need and a machine may lack; and what is said at the end of a run of those that were skipped.

A reason that names a command in backticks says how to change it. With ``CI`` in the environment a skip fails the run,
unless the command is one of make's that another step of CI runs, or nothing is lost.
"""

import os
import re
import sys
from collections import Counter
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest

__all__ = ["lacks", "missing_groups", "needs"]

_MADE: Final = {"nanobot": "make test", "lark_oapi": "make test", "playwright": "make test"}
_HERE: Final = "make test" if Path(sys.prefix).name == ".venv" else ""
"""The command whose environment this is; the others have environments that lack something on purpose."""
_NOTHING_LOST: Final = frozenset({"root may read everything"})
_COMMAND: Final = re.compile(r"`(?P<command>[^`]+)`$")


def lacks(what: str, command: str) -> str:
    """A reason to skip: what is not there, and the command that brings it."""
    return f"{what}; `{command}`"


def needs(package: str) -> pytest.MarkDecorator:
    """Skips where a package is not installed. It is looked for, not imported: some take seconds."""
    reason = lacks(f"no {package}", _MADE[package])
    return pytest.mark.skipif(find_spec(package) is None, reason=reason)


def missing_groups(skipped: Iterable[tuple[str, str]]) -> list[tuple[str, bool]]:
    """One line for each group of (test's path, reason): and whether a run in CI has to fail for it."""
    counted = Counter((_group(path), reason.removeprefix("Skipped: ")) for path, reason in skipped)
    return [
        (f"{group}, {number} test{'s' * (number > 1)}: {reason}", _must_run(reason))
        for (group, reason), number in sorted(counted.items())
    ]


def _group(path: str) -> str:
    """``browser`` for ``tests/browser/test_x.py::test_y``, ``unit/mail`` for one two folders deep."""
    return "/".join(path.partition("::")[0].split("/")[1:-1]) or path


def _must_run(reason: str) -> bool:
    command = _COMMAND.search(reason)
    if command is None:
        return reason not in _NOTHING_LOST
    return command["command"] == _HERE or not command["command"].startswith("make ")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name each group of tests that was skipped."""
    groups = _groups(terminalreporter)
    if not groups:
        return
    terminalreporter.section("skipped")
    for line, must_run in groups:
        terminalreporter.write_line(line, red=must_run and _in_ci())


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A run in CI fails when a command could have brought what was missing."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and _in_ci() and any(must_run for _, must_run in _groups(reporter)):
        session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED


def _groups(reporter: pytest.TerminalReporter) -> list[tuple[str, bool]]:
    return missing_groups(
        (report.nodeid, str(report.longrepr[2]))
        for report in reporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple)
    )


def _in_ci() -> bool:
    return bool(os.environ.get("CI"))
