"""Starting, feeding and ending the worker processes of ``support.worker``."""

import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.forking import Forked
from support.waiting import PATIENCE

__all__ = ["Worker", "holds_lock", "processor_time", "until"]


class Worker:
    """One process running an action; it talks JSON lines on stdout and starts its work when told to."""

    def __init__(self, action: str, options: dict[str, Any], module: str = "support.worker") -> None:
        pipe = subprocess.PIPE
        self.process = Forked(module, action, json.dumps(options, default=str), stdin=pipe, stdout=pipe)
        self._buffer = b""
        self._last: Any = None

    @property
    def pid(self) -> int:
        """The process id."""
        return self.process.pid

    def go(self) -> None:
        """Let the worker begin; it has said that it is ready."""
        assert self.line()["ready"] is True
        self.tell("go")

    def tell(self, word: str) -> None:
        """Send one line."""
        assert self.process.stdin is not None
        self.process.stdin.write(word.encode() + b"\n")
        self.process.stdin.flush()

    def line(self, timeout: float = PATIENCE) -> Any:
        """The next JSON line; fails when the process ends or stays silent."""
        line = self._read_line(time.monotonic() + timeout)
        assert line is not None, f"worker ended with {self.process.wait(PATIENCE)}"
        return line

    def result(self, timeout: float = PATIENCE) -> Any:
        """Wait for the orderly end; the last line said."""
        deadline = time.monotonic() + timeout
        while (line := self._read_line(deadline)) is not None:
            self._last = line
        assert self.process.wait(max(1.0, deadline - time.monotonic())) == 0
        return self._last

    def stop(self) -> Any:
        """Ask an endless worker to finish and return its result."""
        self.tell("stop")
        return self.result()

    def kill(self) -> None:
        """SIGKILL, and wait for the end."""
        self.process.kill()
        self.process.wait(PATIENCE)

    def pause(self) -> None:
        """SIGSTOP, and wait until the process really stands still."""
        os.kill(self.pid, signal.SIGSTOP)
        until(lambda: _state(self.pid) == "T", "the process stopped")

    def resume(self) -> None:
        """SIGCONT."""
        os.kill(self.pid, signal.SIGCONT)

    def end(self) -> None:
        """Clean up, whatever state the process is in."""
        if self.process.poll() is None:
            self.kill()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:
                    continue

    def _read_line(self, deadline: float) -> Any:
        assert self.process.stdout is not None
        descriptor = self.process.stdout.fileno()
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0:
                self.process.send_signal(signal.SIGABRT)  # it says on stderr where it stands
                self.process.wait()
            assert left > 0, f"the worker said nothing in time; before: {self._last}"
            if not select.select([descriptor], [], [], left)[0]:
                continue
            chunk = os.read(descriptor, 1 << 16)
            if not chunk:
                return None
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return json.loads(line)


def until(condition: Callable[[], object], what: str, timeout: float = PATIENCE) -> None:
    """Poll until ``condition()`` holds; fail after the deadline."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, f"not within {timeout} s: {what}"
        time.sleep(0.002)


def holds_lock(pid: int) -> bool:
    """True when the kernel lists a file lock that this process holds (not one it waits for)."""
    lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    return any(fields[1] != "->" and fields[4] == str(pid) for fields in map(str.split, lines))


def processor_time(pid: int, *, thread: int | None = None) -> float:
    """Seconds of work a process has had, or one thread of it; what it waits for others on a busy machine is none."""
    place = Path(f"/proc/{pid}/stat") if thread is None else Path(f"/proc/{pid}/task/{thread}/stat")
    fields = place.read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _state(pid: int) -> str:
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    return stat.rpartition(")")[2].split()[0]
