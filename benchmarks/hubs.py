"""The hub as it is started by people, in a process and a folder of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.children import child

__all__ = ["ROOT", "Served", "resident", "served"]

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Served:
    """Where it listens on this machine, and its process."""

    port: int
    pid: int


@contextmanager
def served(home: Path, **settings: str) -> Iterator[Served]:
    """A hub that is ready. ``settings`` by their keys: ``mail__archive__enabled="false"``."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("NANOBOT_")}
    env |= {f"NANOBOT_TRANSCRIPT_{name.upper()}": value for name, value in settings.items()}
    env |= {"HOME": str(home), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "nanobot_transcript", "serve", "--port", "0", "--jsonl"]
    with child(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        try:
            yield Served(int(ready["url"].rpartition(":")[2]), process.pid)
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)


def resident(pid: int) -> float:
    """Megabytes that a process has in use."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise ProcessLookupError(pid)
