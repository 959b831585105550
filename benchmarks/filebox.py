"""Mailboxes over stdio, beside the original program (npm) on mailboxes of the same contents, call by call in turns.

The client is plain JSON over a pipe. Without npm the original is left out, and the ratios are the values themselves.
"""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
import uuid
from collections.abc import Callable, Generator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Self

from benchmarks.children import child
from benchmarks.context import Context
from benchmarks.table import Bar, Row

__all__ = ["filebox"]

_ROOT = Path(__file__).resolve().parents[1]
_PACKAGE = "@openkitchen/filebox-mcp@1.1.2"
_SIZES = (10, 1000, 10_000)
_LARGE = 1000
_BURST, _IN_FLIGHT, _BURSTS = 200, 16, 3
_BEGIN = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "bench", "version": "0"}}

_FAST = Bar("<=", 6, of="value")
_ALONE = {
    ("burst", 10_000): Bar(">=", 200, of="value"),
    ("start", 10_000): Bar("<=", 1000, of="value"),
    **{(what, size): _FAST for what in ("send", "resolve") for size in _SIZES},
}
_BESIDE = {
    **{(what, size): Bar("<=", 1.0) for what in ("send", "resolve") for size in _SIZES},
    **{("burst", size): Bar(">=", 1.0) for size in _SIZES},
    ("start", 10_000): Bar("<=", 1.2, 1.0),
}
"""Where it writes, and where it starts, it is no slower than the original."""

_BARS = {
    ("list", 10_000): Bar("<=", 30, of="value"),
    ("reply", 10_000): Bar("<=", 30, 10, of="value"),
    ("unknown id", 10_000): Bar("<=", 20, of="value"),
    ("memory", 10_000): Bar("<=", 90, of="value"),
    **{("read", size): _FAST for size in _SIZES},
}
_UNITS = {"burst": "/s", "memory": "MB"}

_Values = dict[str, float]
"""By the kind of server."""


def filebox(context: Context) -> Generator[Row]:
    """Lists, reads, sends, replies and moves in mailboxes of three sizes."""
    with context.folder() as folder:
        original = _fetched(Path(folder), context)
        for size in _SIZES[: 2 if context.quick else None]:
            place = Path(folder) / str(size)

            def once(size: int = size, place: Path = place) -> dict[str, _Values]:
                shutil.rmtree(place, ignore_errors=True)
                with ExitStack() as running:
                    return _measure(place, size, original, running)

            found = context.measured(f"filebox, {size:,} mails", once, min(context.runs, 3 if size <= _LARGE else 2))
            yield from (_row(what, size, [run[what] for run in found]) for what in found[0])


def _row(what: str, size: int, runs: list[_Values]) -> Row:
    ours = [run["ours"] for run in runs]
    theirs = [run["original"] for run in runs if "original" in run]
    ratios = [one / other for one, other in zip(ours, theirs, strict=True)] if theirs else ours
    name, unit = f"filebox {what}, {size:,} mails", _UNITS.get(what, "ms")
    baseline, measured = ("original", median(theirs)) if theirs else ("—", None)
    bars = _BARS | (_BESIDE if theirs else _ALONE)
    return Row(name, unit, median(ours), baseline, measured, ratios, bars.get((what, size)))


def _measure(place: Path, size: int, original: Path | None, running: ExitStack) -> dict[str, _Values]:
    desks = {kind: _Desk(place / kind, size) for kind in ("ours", *(["original"] if original else []))}
    servers: dict[str, _Server] = {}
    found: dict[str, _Values] = {"start": {}}
    for kind, desk in desks.items():
        began = time.perf_counter()
        servers[kind] = running.enter_context(_Server(desk, original if kind == "original" else None))
        servers[kind].call("filebox_list_messages", box_type="cancel")
        found["start"][kind] = (time.perf_counter() - began) * 1000
    mail = {"receiver_id": "qa_agent", "msg_type": "ACK", "title": "Re", "content": "Looking into it."}
    searches = {kind: 1 if kind == "original" and size > _LARGE else 8 for kind in desks}
    works: dict[str, tuple[int | dict[str, int], Callable[[_Desk], tuple[str, dict[str, str]]]]] = {
        "list": (15, lambda _: ("list", {"box_type": "inbox"})),
        "read": (60, lambda desk: ("read", {"box_type": "inbox", "filename": desk.name()})),
        "send": (60, lambda _: ("send", mail)),
        "reply": (searches, lambda desk: ("send", mail | {"original_message_id": desk.take()})),
        "unknown id": (searches, lambda _: ("send", mail | {"original_message_id": str(uuid.uuid4())})),
        "resolve": (30, lambda desk: ("resolve", {"filename": desk.fresh()})),
    }
    for what, (counts, work) in works.items():
        calls = {kind: (desks[kind], servers[kind]) for kind in desks}
        found[what] = _in_turns(counts, calls, work, fails=what == "unknown id")
    bursts = [{kind: server.burst(_tool("send"), mail) for kind, server in servers.items()} for _ in range(_BURSTS)]
    found["burst"] = {kind: median(_BURST / burst[kind] for burst in bursts) for kind in desks}
    return found | {"memory": {kind: server.memory() for kind, server in servers.items()}}


def _in_turns(
    counts: int | dict[str, int],
    calls: "dict[str, tuple[_Desk, _Server]]",
    work: "Callable[[_Desk], tuple[str, dict[str, str]]]",
    *,
    fails: bool,
) -> _Values:
    """Median milliseconds of so many calls, call by call in turns: the machine is the same for each."""
    times: dict[str, list[float]] = {kind: [] for kind in calls}
    limits = counts if isinstance(counts, dict) else dict.fromkeys(calls, counts)
    for number in range(max(limits.values())):
        for kind, (desk, server) in calls.items():
            if number < limits[kind]:
                verb, arguments = work(desk)
                began = time.perf_counter()
                server.call(_tool(verb), fails=fails, **arguments)
                times[kind].append(time.perf_counter() - began)
    return {kind: median(each) * 1000 for kind, each in times.items()}


def _tool(verb: str) -> str:
    return f"filebox_{verb}_message{'s' if verb == 'list' else ''}"


@dataclass
class _Desk:
    """Two agents' folders with ``size`` mails that ``qa_agent`` has sent to ``dev_agent``, and a home with the file."""

    place: Path
    size: int
    ids: list[str] = field(default_factory=list)
    _read: int = 0

    def __post_init__(self) -> None:
        agents = {name: str(self.place / name) for name in ("qa_agent", "dev_agent")}
        boxes = [self.place / "qa_agent/docs/mailbox/outbox", self.place / "dev_agent/docs/mailbox/inbox"]
        for box in boxes:
            box.mkdir(parents=True)
        (self.place / ".filebox").write_text(json.dumps({"agents": agents}))
        for number in range(self.size):
            self.ids.append(str(uuid.uuid4()))
            for box in boxes:
                (box / _name(self.ids[-1])).write_text(_text(number, self.ids[-1]))
        self._inbox = boxes[1]

    def fresh(self) -> str:
        """The name of a mail that has just come into the inbox."""
        message_id = str(uuid.uuid4())
        (self._inbox / _name(message_id)).write_text(_text(0, message_id))
        return _name(message_id)

    def name(self) -> str:
        """The name of the next mail."""
        self._read += 1
        return _name(self.ids[self._read % len(self.ids)])

    def take(self) -> str:
        """The id of a mail that lies in the inbox no longer after that."""
        return self.ids.pop()


def _name(message_id: str) -> str:
    return f"2025-06-30_0815-BR-api-performance-issue-{message_id[:8]}.md"


def _text(number: int, message_id: str) -> str:
    time_of_it = f"2025-06-30T08:{number // 60 % 60:02d}:{number % 60:02d}.{number % 1000:03d}Z"
    return (
        f"# BR: API performance issue\n\n**Format Version:** 1.0\n**Message ID:** {message_id}\n**Sender:** qa_agent\n"
        f"**Receiver:** dev_agent\n**Timestamp:** {time_of_it}\n**Original Sender:** qa_agent\n"
        "**Current Owner:** dev_agent\n\n===== MESSAGE THREAD =====\n\n"
        f"## {time_of_it} - qa_agent to dev_agent (BR)\n\nThe users endpoint takes four seconds. " + "x" * 400
    )


class _Server:
    """A server in the folder of ``dev_agent``: ours, or the original program."""

    def __init__(self, desk: _Desk, original: Path | None) -> None:
        ours = [sys.executable, "-m", "nanobot_transcript", "mcp", "filebox"]
        command = ["node", str(original)] if original else ours
        env = os.environ | {"HOME": str(desk.place), "PYTHONPATH": str(_ROOT)}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self._child = child(command, cwd=desk.place / "dev_agent", env=env, **pipes)
        self._number = 0

    def __enter__(self) -> Self:
        with ExitStack() as begun:
            self._process = begun.enter_context(self._child)
            self._wait_for(self._ask("initialize", _BEGIN))
            self._write({"method": "notifications/initialized"})
            self._begun = begun.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._begun.close()

    def call(self, tool: str, *, fails: bool = False, **arguments: Any) -> None:
        """Call a tool and wait for the answer."""
        answer = self._wait_for(self._ask("tools/call", {"name": tool, "arguments": arguments}))
        assert bool(answer["result"].get("isError")) is fails, answer

    def burst(self, tool: str, arguments: dict[str, Any]) -> float:
        """Seconds that many calls take, some of them in flight at any time."""
        began = time.perf_counter()
        for number in range(_BURST + _IN_FLIGHT):
            if number >= _IN_FLIGHT:
                assert not self._read()["result"].get("isError")
            if number < _BURST:
                self._ask("tools/call", {"name": tool, "arguments": arguments})
        return time.perf_counter() - began

    def memory(self) -> float:
        """Megabytes of memory that the process has in use."""
        for line in Path(f"/proc/{self._process.pid}/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        return 0.0

    def _ask(self, method: str, params: dict[str, Any]) -> int:
        self._number += 1
        self._write({"id": self._number, "method": method, "params": params})
        return self._number

    def _wait_for(self, number: int) -> dict[str, Any]:
        while (message := self._read()).get("id") != number:
            continue
        return message

    def _write(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the server has ended"
        return json.loads(line)


def _fetched(folder: Path, context: Context) -> Path | None:
    """The original program, None when it cannot be had."""
    context.say("filebox: fetching the original program")
    command = ["npm", "pack", _PACKAGE, "--pack-destination", str(folder), "--silent"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        context.tell("filebox: npm cannot fetch the original program; measured without it")
        return None
    with ExitStack() as opened:
        archive = opened.enter_context(tarfile.open(folder / done.stdout.split()[-1]))
        archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
        archive.extractall(folder)
    return folder / "package" / "build" / "index.js"
