"""What importing the package costs beyond a bare interpreter."""

import subprocess
import sys
import time
from collections.abc import Iterator
from statistics import median

from benchmarks.context import Context
from benchmarks.table import Bar, Row

__all__ = ["importing"]


def importing(context: Context) -> Iterator[Row]:
    """Whole processes, in turns."""
    context.say("import")
    rounds = 5 if context.quick else 15
    times = [(_process("import nanobot_transcript"), _process("pass")) for _ in range(rounds)]
    costs = [package - bare for package, bare in times]
    bare = median(bare for _, bare in times)
    ratios = [median(package for package, _ in times) / bare]
    name = "import nanobot_transcript, beyond bare"
    yield Row(name, "ms", median(costs), "bare interpreter", bare, ratios, Bar("<=", 60, of="value"))


def _process(code: str) -> float:
    began = time.perf_counter_ns()
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    return (time.perf_counter_ns() - began) / 1e6
