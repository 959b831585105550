"""What importing the package costs beyond a bare interpreter, in processor time.

Importing is done by one thread that waits for nothing, so on a machine with a processor to spare this is the time that
passes; on a busy one it leaves out the time that others took.
"""

import os
import sys
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
    pid = os.posix_spawn(sys.executable, [sys.executable, "-c", code], os.environ)
    _, status, usage = os.wait4(pid, 0)
    assert status == 0
    return (usage.ru_utime + usage.ru_stime) * 1000
