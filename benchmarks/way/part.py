"""The table: through how many functions and files of each room one message runs, and how often each room is entered.

``counting`` says what that means. There is no baseline: numbers of code are the same on every machine, but for a few
functions that run beside the message and end before or after its answer is recorded. The limits are for the rooms that
a message is to run through quickly: conversation, host and platform; and for those of the MCP servers on the ways of a
letter and of a question. Where a room has floors, as mail has, the limit of files is one for each of them.
"""

import json
import os
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from benchmarks.children import child
from benchmarks.context import Context
from benchmarks.hubs import ROOT
from benchmarks.table import Bar, Row, columns

__all__ = ["RoomRow", "counted", "room_row", "shown", "way"]

_FILES: Final = Bar("<=", 10, of="value")
_ENTERED: Final = Bar("<=", 2, of="value")
_HOSTS: Final = {"run": "runner", "nanobot": "nanobot_host"}
"""The room of each host."""
_LIMITED: Final = ("conversation", "feishu", "mail", "assistant", "hub", "door", "sdk")
"""The rooms with limits, besides the host's."""
_PLACES: Final = ("hub", "adapter")
"""The processes through which a letter and a question go."""
_PATIENCE: Final = 120


@dataclass
class RoomRow(Row):
    """A room on the way; ``measured`` is the number of its ``files``, or of those on its largest floor. ``entered``:
    from where, and how often.
    """

    host: str = ""
    room: str = ""
    functions: int = 0
    files: list[str] = field(default_factory=list)
    entered: dict[str, int] = field(default_factory=dict)

    @property
    def entries(self) -> int:
        """How often it is entered from anywhere."""
        return sum(self.entered.values())

    @property
    def verdict(self) -> str:
        """pass or FAIL, or nothing for a room without limits."""
        if self.bar is None:
            return ""
        holds = self.bar.met(self.measured, self.bar.floor) and _ENTERED.met(self.entries, _ENTERED.floor)
        return "pass" if holds else "FAIL"


def way(context: Context) -> Generator[RoomRow]:
    """A row for each room and host, and for each room and trip; counted once, however many runs there are."""
    for host in _HOSTS:
        context.say(f"way of a message, {host}")
        with context.folder() as folder:
            yield from _rows(host, counted(Path(folder), "hosts", host))
    context.say("ways of a letter and a question")
    for place in _PLACES:
        with context.folder() as folder:
            trips = counted(Path(folder), "trips", place)
        for trip, told in trips.items():
            yield from _rows(trip, told)


def _rows(way: str, told_of: dict[str, dict[str, Any]]) -> Iterator[RoomRow]:
    return (room_row(way, room, told) for room, told in sorted(told_of.items(), key=lambda one: -len(one[1]["files"])))


def room_row(host: str, room: str, told: dict[str, Any]) -> RoomRow:
    """``told``: the number of functions, the files, and from where it was entered how often."""
    count = float(max(Counter(path.rpartition("/")[0] for path in told["files"]).values()))
    bar = _FILES if room in (*_LIMITED, _HOSTS.get(host)) else None
    return RoomRow(f"way {host}, {room}", "files", count, "—", None, [count], bar, "", host, room, **told)


def counted(folder: Path, program: str, *arguments: str) -> dict[str, Any]:
    """What a process of its own has counted. Raises CalledProcessError, and TimeoutExpired for one that hangs."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("NANOBOT_")}
    env |= {"HOME": str(folder), "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
    command = [sys.executable, "-m", f"benchmarks.way.{program}", *arguments, str(folder)]
    log = folder / "log"
    with (
        log.open("wb") as errors,
        child(command, env=env, cwd=folder, stdout=subprocess.PIPE, stderr=errors) as process,
    ):
        answer, _ = process.communicate(timeout=_PATIENCE)
    if process.returncode:
        print(log.read_text(encoding="utf-8", errors="replace"), file=sys.stderr)
        raise subprocess.CalledProcessError(process.returncode, command)
    told: dict[str, Any] = json.loads(answer)
    return told


def shown(rows: Sequence[RoomRow]) -> str:
    """A table for each host, the files of rooms that have too many, and whether the limits hold."""
    hosts = dict.fromkeys(row.host for row in rows)
    return "\n\n".join(_of_host(host, [row for row in rows if row.host == host]) for host in hosts)


def _of_host(host: str, rows: Sequence[RoomRow]) -> str:
    table = columns([("room", "functions", "files", "entered", "from", ""), *map(_cells, rows), _sum(rows)])
    return "\n".join([f"{host}:", table, *_lists(rows), _judged(rows)])


def _cells(row: RoomRow) -> tuple[str, ...]:
    sources = ", ".join(f"{source} {count}" for source, count in row.entered.items())
    return row.room, str(row.functions), str(len(row.files)), str(row.entries), sources, row.verdict


def _sum(rows: Sequence[RoomRow]) -> tuple[str, ...]:
    counts = (
        sum(counts) for counts in zip(*((row.functions, len(row.files), row.entries) for row in rows), strict=True)
    )
    return "all", *map(str, counts), "", ""


def _lists(rows: Sequence[RoomRow]) -> list[str]:
    return [
        textwrap.fill(f"{row.room}: {', '.join(_within(row))}", 120, subsequent_indent="  ", break_on_hyphens=False)
        for row in rows
        if row.measured > _FILES.floor
    ]


def _within(row: RoomRow) -> list[str]:
    return [path.removeprefix(f"{row.room}/") for path in row.files]


def _judged(rows: Sequence[RoomRow]) -> str:
    limits = f"At most {_FILES.floor:g} files of a floor and {_ENTERED.floor:g} entries in rooms with limits"
    failed = [row.room for row in rows if row.verdict == "FAIL"]
    return f"{limits}: {'not so in ' + ', '.join(failed) if failed else 'holds'}."
