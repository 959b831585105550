"""How tests wait: for something that happens, until only what hangs would take longer, and never for time to pass."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from support.waiting import PATIENCE

TESTS = Path(__file__).parents[1]

LEAST = 30
"""Seconds; an end before that comes by itself on a busy machine."""

PLACES = {"communicate": 1, "join": 0, "result": 0, "timeout": 0, "until": 1, "wait": 0, "wait_for": 1}
"""Which argument is the end of the wait."""

NAMED = {
    *("Barrier", "check_call", "check_output", "communicate", "get", "map", "receive", "receive_bytes", "run"),
    *("settled", "urlopen", "wait", "wait_connected", "wait_for", "wait_for_message"),
}
"""Calls that wait until their ``timeout``."""

SUSPECT = re.compile(r"time\.sleep\(|\b(?:timeout|until|wait|wait_for|join|result|communicate)\b.*[^\w.][1-9.]")
"""A line that is worth reading closely: reading all of them takes seconds."""

FREE = {
    "integration/io_bridge/test_kills.py": "writers pause between two messages",
    "support/mail_worker.py": "a writer pauses between two messages",
    "unit/feishu/test_webhook.py": "one that has to go on waiting is given a moment to be wrong",
    "unit/mcp_hub_web/test_events.py": "it is written again until it is heard",
    "unit/mcp_transcript/test_waiting.py": "the product's own waits, which end with nothing",
    "unit/simulator/test_faults.py": "it has to end in vain",
}
"""Files in which a short wait is no end of patience, and why."""

SLEEPERS = {
    "integration/filebox/test_processes.py": "processes are killed at any moment",
    "integration/io_bridge/test_kills.py": "processes are killed at any moment",
    "integration/store/test_crash.py": "processes are killed at any moment",
    "integration/store/test_stuck_lock.py": "processes are stopped at any moment",
    "support/filebox_worker.py": "looks for what other processes write, and waits to be killed",
    "support/lark_worker.py": "looks at a client that tells nobody",
    "support/outbox_worker.py": "looks for what other processes write, and waits to be killed",
    "support/procs.py": "looks for what nobody tells",
    "support/turn_worker.py": "waits to be killed",
    "support/worker.py": "paces what a writer or maintainer does",
    "unit/assistant/test_groups.py": "a store that takes its time",
}
"""Files that let time pass, and why; none of them waits for something by it."""


class Call(NamedTuple):
    """A call with its file, its place there, and its name: what stands before the last word, and that."""

    file: str
    place: str
    before: str
    name: str
    node: ast.Call


@cache
def calls() -> list[Call]:
    """The calls of all files that have a suspect line."""
    found: list[Call] = []
    for path in sorted(TESTS.rglob("*.py")):
        file, text = path.relative_to(TESTS).as_posix(), path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if SUSPECT.search(text) else ():
            match node:
                case ast.Call(func=ast.Name(name)):
                    found.append(Call(file, f"{file}:{node.lineno}", "", name, node))
                case ast.Call(func=ast.Attribute(ast.Name(before), name)):
                    found.append(Call(file, f"{file}:{node.lineno}", before, name, node))
                case ast.Call(func=ast.Attribute(_, name)):
                    found.append(Call(file, f"{file}:{node.lineno}", "…", name, node))
    return found


def ends_of(call: Call) -> Iterator[float]:
    """For how many seconds the call waits, where it says so in numbers."""
    place = PLACES.get(call.name)
    if place is not None and (call.name != "timeout" or call.before == "asyncio"):
        yield from map(number, call.node.args[place : place + 1])
    if call.name in NAMED:
        yield from (number(each.value) for each in call.node.keywords if each.arg == "timeout")


def number(value: ast.expr) -> float:
    """Nothing where it is none."""
    is_one = isinstance(value, ast.Constant) and isinstance(value.value, int | float)
    return value.value if is_one else 0


def test_no_wait_ends_before_only_what_hangs_takes_longer() -> None:
    assert PATIENCE >= LEAST
    waits = [(call.place, end) for call in calls() if call.file not in FREE for end in ends_of(call)]
    early = [f"{place}: {end} s" for place, end in waits if 0 < end < LEAST]
    assert early == [], "give it PATIENCE of support.waiting"


def test_nothing_is_waited_for_by_sleeping() -> None:
    sleeping = [call for call in calls() if (call.before, call.name) == ("time", "sleep")]
    assert [call.place for call in sleeping if call.file not in SLEEPERS] == [], "wait for what happens: until(...)"
    assert sorted(set(SLEEPERS) - {call.file for call in sleeping}) == [], "these sleep no more"
