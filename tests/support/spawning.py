"""Worker processes whose actions stand in another module than ``support.worker``."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.procs import Worker

__all__ = ["SpawnAction", "spawning"]

SpawnAction = Callable[..., Worker]

_TESTS = Path(__file__).resolve().parents[1]


class _ModuleWorker(Worker):
    def __init__(self, module: str, action: str, options: dict[str, Any]) -> None:
        command = [sys.executable, "-m", module, action, json.dumps(options, default=str)]
        env = {**os.environ, "PYTHONPATH": str(_TESTS)}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        self._buffer = b""
        self._last: Any = None


@contextmanager
def spawning(module: str) -> Iterator[SpawnAction]:
    """``spawn("acquire_all", base_dir=...)`` starts an action of ``module``; all processes end with the block."""
    workers: list[Worker] = []

    def start(action: str, **options: Any) -> Worker:
        workers.append(_ModuleWorker(module, action, options))
        return workers[-1]

    try:
        yield start
    finally:
        for worker in workers:
            worker.end()
