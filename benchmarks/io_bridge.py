"""The IO bridge: inputs for a hundred agents at once, from being sent to the ``i_tool`` that waits for them."""

from collections.abc import Generator
from pathlib import Path
from statistics import median, quantiles

from benchmarks.answering import bursts
from benchmarks.context import Context
from benchmarks.hubs import served
from benchmarks.table import Row

__all__ = ["io_bridge"]

_SESSIONS = 100


def io_bridge(context: Context) -> Generator[Row]:
    """One row, without a limit."""
    with context.folder() as folder, served(Path(folder)) as hub:

        def once() -> float:
            rounds = bursts("io", hub.port, context.scaled(20), _SESSIONS)
            return median(quantiles(times, n=20)[-1] for times in rounds)

        late = context.measured("io", once)
    yield Row(f"io input to agent p95, {_SESSIONS} sessions at once", "ms", median(late), "—", None, late)
