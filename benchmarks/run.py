"""Runs the benchmarks and prints one table on stdout; progress goes to stderr.

Every row is a ratio of two things measured in turns within the same run, because a machine is never as fast as it was a
minute ago. Floors and goals are those the product has promised; a row below its floor makes the exit code 1.
"""

import argparse
import json
import os
import platform
import re
import sys
from collections.abc import Callable, Iterator

from benchmarks.appending import appending, synchronous
from benchmarks.assistant import assistant
from benchmarks.context import Context
from benchmarks.filebox import filebox
from benchmarks.following import following
from benchmarks.importing import importing
from benchmarks.io_bridge import io_bridge
from benchmarks.mail import mail
from benchmarks.mcp_calls import mcp_calls
from benchmarks.reading import long_transcript, recent
from benchmarks.searching import searching
from benchmarks.table import Row, as_json, render

__all__ = ["GROUPS", "main"]

GROUPS: dict[str, Callable[[Context], Iterator[Row]]] = {
    "append": appending,
    "fsync": synchronous,
    "recent": recent,
    "long": long_transcript,
    "follow": following,
    "search": searching,
    "import": importing,
    "mcp": mcp_calls,
    "filebox": filebox,
    "mail": mail,
    "io": io_bridge,
    "assistant": assistant,
}


def main(argv: list[str] | None = None) -> int:
    """0 when every row is above its floor, else 1."""
    options = _options(argv)
    context = Context(quick=options.quick, runs=options.runs or (2 if options.quick else 5), place=options.dir)
    rows: list[Row] = []
    for name, group in GROUPS.items():
        if not options.only or re.search(options.only, name):
            rows += group(context)
    print("\r\033[K", end="", file=sys.stderr)
    if options.json:
        print(json.dumps({"machine": _machine(), "runs": context.runs, "rows": as_json(rows)}, ensure_ascii=False))
    else:
        print(f"{_machine()}; median of {context.runs} runs\n\n{render(rows)}")
    return int(any(row.verdict == "FAIL" for row in rows))


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Speed of the transcript store.")
    parser.add_argument("--quick", action="store_true", help="a tenth of the work, without the large files")
    parser.add_argument("--only", metavar="PATTERN", help=f"only groups that match: {', '.join(GROUPS)}")
    parser.add_argument("--runs", type=int, help="how often each comparison is made (default 5, quick 2)")
    parser.add_argument("--dir", help="where the files go; the longest need 2 GB (default: the temporary directory)")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of the table")
    return parser.parse_args(argv)


def _machine() -> str:
    python = f"Python {platform.python_version()}"
    return f"{python}, {platform.system()} {platform.release()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}"
