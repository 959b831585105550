"""Worker processes whose actions stand in another module than ``support.worker``."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from support.procs import Worker

__all__ = ["SpawnAction", "spawning"]

SpawnAction = Callable[..., Worker]


@contextmanager
def spawning(module: str) -> Iterator[SpawnAction]:
    """``spawn("acquire_all", base_dir=...)`` starts an action of ``module``; all processes end with the block."""
    workers: list[Worker] = []

    def start(action: str, **options: Any) -> Worker:
        workers.append(Worker(action, options, module))
        return workers[-1]

    try:
        yield start
    finally:
        for worker in workers:
            worker.end()
