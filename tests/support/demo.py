"""The demo as a person starts it: the real command in a process of its own, with an empty home folder."""

import contextlib
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

__all__ = ["Demo"]

DEADLINE = 170.0
_COMMAND = [sys.executable, "-m", "nanobot_transcript.cli", "demo"]
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]")


class Demo:
    """One run below ``folder``. ``seen`` is what it has printed so far (standard error too), without colours."""

    def __init__(self, folder: Path, *options: str, terminal: bool = False, **variables: str) -> None:
        self.home, self.temporary = folder / "home", folder / "tmp"
        for made in (self.home, self.temporary):
            made.mkdir()
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
        self._env = {**kept, "HOME": str(self.home), "TMPDIR": str(self.temporary), "TERM": "xterm", **variables}
        self._raw = b""
        self._keys: int | None = None
        self._output: int
        self.process = self._on_terminal(options) if terminal else self._with_pipe(options)

    @property
    def seen(self) -> str:
        """Everything printed, as text."""
        return _ESCAPES.sub("", self._raw.decode("utf-8", "replace")).replace("\r", "")

    @property
    def document(self) -> Any:
        """The JSON document at the end of the output."""
        return json.loads(self.seen.splitlines()[-1])

    @property
    def gateways(self) -> set[int]:
        """Process ids that run with a home below this demo's temporary folder."""
        found = set()
        for place in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):  # ended, or not ours
                if f"HOME={self.temporary}/".encode() in place.read_bytes():
                    found.add(int(place.parent.name))
        return found

    def until(self, text: str, *, after: int = 0) -> int:
        """Wait until ``text`` is printed beyond the first ``after`` characters; returns where it ends."""
        deadline = time.monotonic() + DEADLINE
        while (at := self.seen.find(text, after)) < 0:
            assert time.monotonic() < deadline, f"never saw {text!r} in:\n{self.seen}"
            assert self._read(0.2) or self.process.poll() is None, f"ended without {text!r}:\n{self.seen}"
        return at + len(text)

    def type(self, line: str) -> None:
        """Write a line on the keyboard."""
        assert self._keys is not None
        os.write(self._keys, f"{line}\r".encode())

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the command."""
        self.process.send_signal(number)

    def end(self) -> int:
        """Wait for the end; the exit code."""
        deadline = time.monotonic() + DEADLINE
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"did not end:\n{self.seen}"
            self._read(0.1)
        while self._read(0.05):
            pass
        return self.process.returncode

    def close(self) -> None:
        """End whatever still runs."""
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(DEADLINE)
        for pid in self.gateways:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        os.close(self._output)

    def _with_pipe(self, options: tuple[str, ...]) -> subprocess.Popen[bytes]:
        self._output, theirs = os.pipe()
        return self._start(options, subprocess.DEVNULL, theirs)

    def _on_terminal(self, options: tuple[str, ...]) -> subprocess.Popen[bytes]:
        self._output, theirs = pty.openpty()
        self._keys = self._output
        return self._start(options, theirs, theirs)

    def _start(self, options: tuple[str, ...], stdin: int, output: int) -> subprocess.Popen[bytes]:
        command = [*_COMMAND, *options]
        process = subprocess.Popen(command, stdin=stdin, stdout=output, stderr=output, env=self._env)
        os.close(output)
        return process

    def _read(self, wait: float) -> bool:
        if not select.select([self._output], [], [], wait)[0]:
            return False
        try:
            chunk = os.read(self._output, 1 << 16)
        except OSError:  # a terminal that nobody has open any more
            return False
        self._raw += chunk
        return bool(chunk)
