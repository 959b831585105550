"""What importing the package costs beyond a bare interpreter, in processor time.

Importing is done by one thread that waits for nothing, so on a machine with a processor to spare this is the time that
passes; on a busy one it leaves out the time that others took.
"""

import os
import sys
from collections.abc import Generator
from statistics import median

from benchmarks.context import Context
from benchmarks.table import Bar, Row

__all__ = ["importing"]


def importing(context: Context) -> Generator[Row]:
    """Whole processes, in turns. The package fetches its names late; with a store, msgspec is most of the cost."""
    context.say("import")
    yield _row(context, "import nanobot_transcript", "pass", "bare interpreter", Bar("<=", 60, of="value"))
    store = "from nanobot_transcript import GroupTranscriptStore"
    yield _row(context, store, "import msgspec", "msgspec alone", None)


def _row(context: Context, code: str, baseline: str, name: str, bar: Bar | None) -> Row:
    rounds = 5 if context.quick else 15
    times = [(_process(code), _process(baseline), _process("pass")) for _ in range(rounds)]
    ours = median(package - bare for package, _, bare in times)
    theirs = median(other for _, other, _ in times)
    ratio = median(package / other for package, other, _ in times)
    what = code.removeprefix("from nanobot_transcript ")
    return Row(f"{what}, beyond bare", "ms", ours, name, theirs, [ratio], bar)


def _process(code: str) -> float:
    pid = os.posix_spawn(sys.executable, [sys.executable, "-c", code], os.environ)
    _, status, usage = os.wait4(pid, 0)
    assert status == 0
    return (usage.ru_utime + usage.ru_stime) * 1000
