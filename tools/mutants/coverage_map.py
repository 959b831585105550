"""One run of the tests under coverage: what they execute in all, and which test executes which line."""

import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from coverage import Coverage, CoverageData

from tools.mutants.sample import Product, room_of

__all__ = ["Figures", "TestMap", "combine", "figures", "measure"]

CONFIG = Path(__file__).with_name("coverage.ini")
STEPS = (" (setup)", " (call)", " (teardown)")
TIMEOUT = 180
"""Seconds for one test while it is measured: tracing makes it slower."""


@dataclass
class Figures:
    """What is executed of one room."""

    lines: int = 0
    executed_lines: int = 0
    branches: int = 0
    executed_branches: int = 0

    def __iadd__(self, other: "Figures") -> "Figures":
        self.lines += other.lines
        self.executed_lines += other.executed_lines
        self.branches += other.branches
        self.executed_branches += other.executed_branches
        return self


def measure(root: Path, folder: Path, arguments: Sequence[str]) -> int:
    """Run the tests under coverage and combine what all processes wrote; pytest's exit code."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in [*folder.glob("coverage*"), *folder.glob("outcomes-*")]:
        old.unlink()
    env = os.environ | _variables(root, folder) | {"PYTHONPATH": str(root)}
    command = [sys.executable, "-m", "pytest", "-p", "tools.mutants.recorder", "-m", "not soak and not conformance"]
    status = subprocess.run([*command, "-o", f"timeout={TIMEOUT}", *arguments], cwd=root, env=env, check=False)
    combine(root, folder)
    return status.returncode


def combine(root: Path, folder: Path) -> None:
    os.environ.update(_variables(root, folder))
    together = Coverage(config_file=str(CONFIG))
    together.combine([str(folder)])
    together.save()


def _variables(root: Path, folder: Path) -> dict[str, str]:
    data = str(folder / "coverage")
    return {"COVERAGE_PROCESS_START": str(CONFIG), "MUTANTS_ROOT": str(root), "MUTANTS_DATA": data}


def figures(root: Path, folder: Path) -> dict[str, Figures]:
    """By room, in the order of their names."""
    os.environ.update(_variables(root, folder))
    measured = Coverage(config_file=str(CONFIG))
    measured.load()
    report = folder / "report.json"
    measured.json_report(outfile=str(report))
    rooms: dict[str, Figures] = defaultdict(Figures)
    known = set(Product(root).files)
    for name, file in json.loads(report.read_text(encoding="utf-8"))["files"].items():
        path = str((root / name).relative_to(root))
        if path in known:
            found = file["summary"]
            rooms[room_of(path)] += Figures(
                found["num_statements"], found["covered_lines"], found["num_branches"], found["covered_branches"]
            )
    return dict(sorted(rooms.items()))


class TestMap:
    """Which tests execute which lines, fastest first."""

    __test__ = False

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root
        self._data = CoverageData(str(folder / "coverage"))
        self._data.read()
        self.seconds: Counter[str] = Counter()
        self.failed: set[str] = set()
        for path in folder.glob("outcomes-*.jsonl"):
            self._read(path)

    def _read(self, path: Path) -> None:
        for line in path.read_text(encoding="utf-8").splitlines():
            step = json.loads(line)
            self.seconds[step["test"]] += step["seconds"]
            if step["outcome"] != "passed":
                self.failed.add(step["test"])

    def tests_of(self, file: str, lines: range | None) -> list[str]:
        """Those that passed and execute one of ``lines`` (None: any line of the file, for what runs on import)."""
        found: set[str] = set()
        by_line = self._data.contexts_by_lineno(str(self._root / file))
        for number in by_line if lines is None else lines:
            found.update(map(test_of, by_line.get(number, ())))
        return sorted(found & (self.seconds.keys() - self.failed), key=lambda test: (self.seconds[test], test))


def test_of(context: str) -> str:
    """The test's id; a child process of it has written pytest's step behind it."""
    for step in STEPS:
        context = context.removesuffix(step)
    return context
