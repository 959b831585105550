"""Measures what was asked for and prints each table as soon as it is measured; progress goes to stderr.

Every row is a ratio of two things measured in turns within the same run, because a machine is never as fast as it was a
minute ago. Floors and goals are those the product has promised; a row below its floor makes the exit code 1. Whoever
stops it gets what was measured until then, and 128 plus the number of the signal as its exit code.
"""

import argparse
import json
import os
import platform
import signal
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from types import FrameType

from benchmarks.context import Context, Stopped
from benchmarks.parts import Part, UnknownNameError, chosen, listed
from benchmarks.table import Row, as_json

__all__ = ["main", "measure", "stop_on_signals"]

_EXAMPLES = """examples:
  make bench                          everything; within ten minutes on two free cores
  make bench ARGS=mail                one room
  make bench ARGS="append search"     two parts of a room
  make bench ARGS="store --quick"     a tenth of the work: to see that it runs, not for figures
  make bench ARGS="--json rows.json"  the rows in a file, too

rooms and their parts:
"""


def main(argv: list[str] | None = None) -> int:
    """0 when every row is above its floor, else 1; 130 after Ctrl-C."""
    parser = _parser()
    options = parser.parse_args(argv)
    if options.list:
        print(listed())
        return 0
    try:
        parts = chosen(options.names)
    except UnknownNameError as error:
        parser.error(str(error))
    stop_on_signals()
    runs = options.runs or (2 if options.quick else 3)
    return measure(parts, Context(options.quick, runs, options.dir), options.json)


def measure(parts: Sequence[Part], context: Context, into: Path | None = None) -> int:
    """Print the table of each part when it is measured, and keep the rows in a file. The exit code."""
    rows: list[Row] = []
    print(f"{_machine()}; median of {context.runs} runs unless a row shows more or fewer", flush=True)
    try:
        for number, part in enumerate(parts, start=1):
            context.tell(f"[{number}/{len(parts)}] {part.name}: {part.what}")
            _one(part, context, rows, into)
            if context.stopped is not None:
                raise context.stopped
    except Stopped as stopped:
        context.tell(f"Stopped. {len(rows)} rows were measured.")
        return 128 + stopped.number
    return int(any(row.verdict == "FAIL" for row in rows))


def _one(part: Part, context: Context, rows: list[Row], into: Path | None) -> None:
    """Whatever ends it, what it has measured is shown."""
    began, before = time.monotonic(), len(rows)
    try:
        with closing(part.measure(context)) as measured:
            for row in measured:
                rows.append(row)
                if into is not None:
                    _write(into, rows, context)
    finally:
        context.say("")
        if len(rows) > before:
            print(f"\n{part.name}: {part.what} ({time.monotonic() - began:.0f} s)\n")
            print(part.shown(rows[before:]), flush=True)


def _write(path: Path, rows: Sequence[Row], context: Context) -> None:
    """At no moment is there half a file."""
    document = {"machine": _machine(), "runs": context.runs, "rows": as_json(rows)}
    new = path.with_name(f"{path.name}.new")
    new.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    new.replace(path)


def stop_on_signals() -> None:
    """Ctrl-C and the like raise Stopped from now on."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)


def _stop(number: int, _frame: FrameType | None) -> None:
    raise Stopped(number)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="make bench",
        usage="make bench ARGS='[NAME ...] [OPTION ...]'",
        description="Speed against named baselines, measured in the same run.",
        epilog=_EXAMPLES + listed(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="a room, or a part of one; all when there is none")
    parser.add_argument("--list", action="store_true", help="list rooms and parts")
    parser.add_argument("--quick", action="store_true", help="a tenth of the work, without the large files")
    parser.add_argument("--runs", type=int, help="how often each comparison is made (default 3, quick 2)")
    parser.add_argument("--dir", help="where the files go; the longest need 2 GB (default: the temporary directory)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="a file for the rows, too; kept up row by row")
    return parser


def _machine() -> str:
    python = f"Python {platform.python_version()}"
    return f"{python}, {platform.system()} {platform.release()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}"
