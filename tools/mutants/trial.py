"""One mutant against the tests that execute its line, in a copy of the tree.

The copy has an environment of its own, made of hard links, whose editable install points into the copy: whatever
starts Python there, with whatever variables, runs the mutant. The checkout itself is never touched.
"""

import contextlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.mutants.sample import Place, Product

__all__ = ["Copy", "Outcome", "enough", "outcome_of"]

KILLED = re.compile(r"^(?:FAILED|ERROR) (\S+(?:\[.*?\])?)(?: - (.*))?$", re.MULTILINE)
HANGS = 20
"""Seconds after which one test counts as hanging."""


@dataclass(frozen=True)
class Outcome:
    """``verdict``: killed, survived or timed out. ``by`` is the test that failed; empty: nothing could be imported."""

    verdict: str
    by: str = ""
    why: str = ""


class Copy:
    """A working copy of the files of ``root`` in ``folder``."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.folder = folder
        self._root = root
        self._tick = 0
        self._server: subprocess.Popen[str] | None = None

    def refresh(self) -> None:
        """Make the copy equal to the checkout as it is now."""
        shutil.rmtree(self.folder, ignore_errors=True)
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=self._root,
            capture_output=True,
            check=True,
        )
        for name in listed.stdout.decode().split("\0"):
            if name and (source := self._root / name).is_file():
                target = self.folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target, follow_symlinks=False)
        self._link_environment()

    def _link_environment(self) -> None:
        theirs, ours = self._root / ".venv", self.folder / ".venv"
        shutil.copytree(theirs, ours, symlinks=True, copy_function=os.link)
        for path in [*ours.glob("lib/*/site-packages/*.pth"), *ours.glob("bin/*")]:
            if path.is_symlink() or not path.is_file():
                continue
            content = path.read_bytes()
            if str(self._root).encode() in content:
                mode = path.stat().st_mode
                path.unlink()  # a link: writing into it would change the checkout's
                path.write_bytes(content.replace(str(self._root).encode(), str(self.folder).encode()))
                path.chmod(mode)

    def trial(self, place: Place, after: str, tests: Sequence[str], limit: float) -> Outcome:
        """Put the mutant in, run ``tests`` until one fails, take it out."""
        path = self.folder / place.file
        source, times = path.read_text(encoding="utf-8"), path.stat()
        self._tick += 1
        try:
            path.write_text(place.broken(source, after), encoding="utf-8")
            # A time of its own: Python knows its compiled files by the source's time in seconds and its size.
            os.utime(path, (times.st_atime, times.st_mtime + self._tick))
            return self.run(tests, limit)
        finally:
            path.write_text(source, encoding="utf-8")
            os.utime(path, (times.st_atime, times.st_mtime))

    def failing(self, tests: Sequence[str], limit: float) -> set[str]:
        """Which of ``tests`` fail as things are."""
        if not tests:
            return set()  # pytest would take none for all
        _, said = self._pytest(tests, limit, "--maxfail=1000")
        return {found[1] for found in KILLED.finditer(said)}

    def run(self, tests: Sequence[str], limit: float) -> Outcome:
        """``tests``, one after the other, until one fails; ``limit`` in seconds for all of them."""
        exit_code, said = self._pytest(tests, limit, "-x")
        return outcome_of(exit_code, said)

    def _pytest(self, tests: Sequence[str], limit: float, *options: str) -> tuple[int | None, str]:
        with tempfile.TemporaryDirectory(prefix="mutants-") as temporary:
            listed = Path(temporary, "tests")
            listed.write_text("\n".join(tests), encoding="utf-8")
            output = Path(temporary, "output")
            arguments = [*options, "-q", "--tb=line", "--no-header", "-p", "no:cacheprovider"]
            arguments += ["-W", "ignore::pytest.PytestAssertRewriteWarning", "-o", f"timeout={HANGS}"]
            exit_code = self._run([*arguments, f"--basetemp={temporary}/t", f"@{listed}"], output, limit)
            return exit_code, output.read_text(encoding="utf-8", errors="replace")

    def _run(self, arguments: list[str], output: Path, limit: float) -> int | None:
        """The exit code of pytest; None after ``limit`` seconds."""
        server = self._start()
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps({"arguments": arguments, "output": str(output)}).encode() + b"\n")
        run = int(server.stdout.readline())
        in_time = bool(select.select([server.stdout], [], [], limit)[0])
        if not in_time:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(run, signal.SIGKILL)
        code = int(server.stdout.readline())
        self._end_left_over()
        return code if in_time else None

    def _start(self) -> "subprocess.Popen[bytes]":
        if self._server is None:
            env = {name: value for name, value in os.environ.items() if not name.startswith(("COVERAGE_", "MUTANTS_"))}
            command = [str(self.folder / ".venv/bin/python"), str(self.folder / "tools/mutants/warm_pytest.py")]
            self._server = subprocess.Popen(
                [*command, *Product(self.folder).modules], cwd=self.folder, env=env,
                bufsize=0,  # what Python has read already, `select` does not see
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
            assert self._server.stdout is not None
            self._server.stdout.readline()
        return self._server

    def close(self) -> None:
        """End everything that runs in the copy."""
        if self._server is not None:
            self._server.kill()
            self._server.communicate()
            self._server = None
            self._end_left_over()

    def _end_left_over(self) -> None:
        """What a test that was cut short left running: everything that runs this copy's Python."""
        keep = self._server.pid if self._server else 0
        mine = str(self.folder / ".venv/bin").encode()
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if int(entry.name) != keep and mine in (entry / "cmdline").read_bytes():
                    os.kill(int(entry.name), signal.SIGKILL)


def outcome_of(exit_code: int | None, said: str) -> Outcome:
    """What pytest's end means; without an exit code it was cut short."""
    if exit_code is None:
        return Outcome("timed out", why=said[-300:])
    if exit_code == 0:
        return Outcome("survived")
    if found := KILLED.search(said):
        return Outcome("killed", found[1] if "::" in found[1] else "", (found[2] or "")[:300])
    if "not found" in said or "no tests ran" in said:
        raise RuntimeError(f"the tests of the map are not those of the tree:\n{said[-2000:]}")
    return Outcome("killed", why=said[-300:])


def enough(tests: Sequence[str], seconds: dict[str, float], budget: float, most: int) -> list[str]:
    """The fastest tests that together take about ``budget``; those of a file one after the other: they share much."""
    taken: list[str] = []
    left = budget
    for test in tests[:most]:
        left -= seconds[test]
        if left < 0 and taken:
            break
        taken.append(test)
    files = list(dict.fromkeys(test.partition("::")[0] for test in taken))
    return sorted(taken, key=lambda test: files.index(test.partition("::")[0]))
