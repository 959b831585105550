"""A command whose output a test reads while it runs, as a person at a terminal does."""

import os
import pty
import select
import subprocess
import time
from collections.abc import Mapping, Sequence

from support.waiting import PATIENCE

__all__ = ["Watched"]


class Watched:
    """A process with standard output and standard error in one: a pipe, or a terminal on which one can type."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], *, terminal: bool) -> None:
        self._raw: bytes = b""
        self._output, theirs = pty.openpty() if terminal else os.pipe()
        stdin = theirs if terminal else subprocess.DEVNULL
        self.process: subprocess.Popen[bytes] = subprocess.Popen(
            command, stdin=stdin, stdout=theirs, stderr=theirs, env=dict(env)
        )
        os.close(theirs)

    @property
    def seen(self) -> str:
        """Everything printed so far."""
        return self._raw.decode("utf-8", "replace")

    def until(self, text: str, *, after: int = 0) -> int:
        """Wait until ``text`` is printed beyond the first ``after`` characters; returns where it ends."""
        deadline = time.monotonic() + PATIENCE
        while (at := self.seen.find(text, after)) < 0:
            assert time.monotonic() < deadline, f"never saw {text!r} in:\n{self.seen}"
            assert self._read(0.2) or self.process.poll() is None or self._read(0), f"no {text!r} in:\n{self.seen}"
        return at + len(text)

    def type(self, line: str, *, end: str = "\r") -> None:
        """Write a line on the keyboard; with another ``end`` only a part of one."""
        os.write(self._output, f"{line}{end}".encode())

    def end(self) -> int:
        """Wait for the end; the exit code."""
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"did not end:\n{self.seen}"
            self._read(0.1)
        while self._read(0.05):
            pass
        return self.process.returncode

    def close(self) -> None:
        """End it if it still runs."""
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(PATIENCE)
        os.close(self._output)

    def _read(self, wait: float) -> bool:
        if not select.select([self._output], [], [], wait)[0]:
            return False
        try:
            chunk = os.read(self._output, 1 << 16)
        except OSError:  # a terminal that nobody has open any more
            return False
        self._raw += chunk
        return bool(chunk)
