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

PLACES = {"communicate": 1, "join": 0, "result": 0, "timeout": 0, "until": 1}
"""Which argument is the end of the wait."""

WAITS = re.compile(r"wait(_(?!for_timeout)\w+)?|drain")
"""Calls of which any argument in numbers may be the end: the product's own waits end with nothing."""

NAMED = {
    *("Barrier", "check_call", "check_output", "communicate", "get", "map", "receive", "receive_bytes", "run"),
    *("settled", "urlopen"),
}
"""Calls that wait until their ``timeout``."""

SUSPECT = re.compile(
    r"\bsleep\(|select\(\[\]|wait_for_timeout|\b(?:timeout|until|wait\w*|drain|join|result|communicate)\b.*[^\w.][1-9.]"
)
"""A line that is worth reading closely: reading all of them takes seconds."""

NO_PAUSE = (0, 100)
"""Seconds of a sleep that gives way to others, and of one that is there to be ended."""

FREE = {
    "contract/record/test_outbox_contract.py": "the product's own waits, which end with nothing",
    "contract/record/test_signals_contract.py": "the product's own waits, which end with nothing",
    "integration/postgres/test_living.py": "the product's own waits, which end with nothing",
    "integration/io_bridge/test_kills.py": "writers pause between two messages",
    "integration/mail/test_archiver.py": "the product's own waits, which end with nothing",
    "support/loop_clock.py": "the clock is put forward in between",
    "support/mail_worker.py": "a writer pauses between two messages",
    "unit/assistant/test_service.py": "the product's own waits, which end with nothing",
    "unit/feishu/test_webhook.py": "one that has to go on waiting is given a moment to be wrong",
    "unit/filebox/test_wait.py": "the product's own waits, which end with nothing",
    "unit/mcp_hub_web/test_events.py": "it is written again until it is heard",
    "unit/mcp_transcript/test_waits.py": "the product's own waits, which end with nothing",
    "unit/simulator/test_faults.py": "it has to end in vain",
}
"""Files in which a short wait is no end of patience, and why."""

SLEEPERS = {
    "contract/hosts/test_sequences.py": "a step of nanobot that takes its time",
    "contract/record/test_signals_contract.py": "who waits is cancelled at any moment",
    "support/remote_record.py": "each call takes as long as over a network",
    "browser/test_drafts.py": "what is counted are frames in a span of time",
    "conformance/fixture.py": "tools that take their time",
    "contract/test_store_cursors.py": "who waits is cancelled at any moment",
    "integration/assistant/test_delivery.py": "callers leave at any moment",
    "integration/assistant/test_kills.py": "soak: what a hub at rest costs in a span of time",
    "integration/filebox/test_processes.py": "processes are killed at any moment",
    "integration/io_bridge/test_kills.py": "processes are killed at any moment",
    "integration/io_bridge/test_agent_notes.py": "processes are killed at any moment",
    "integration/mail/test_archiver.py": "processes are killed at any moment; soak: what one at rest costs",
    "integration/postgres/test_kills.py": "processes are killed at any moment",
    "integration/postgres/test_living.py": "processes are killed at any moment",
    "integration/store/test_crash.py": "processes are killed at any moment",
    "integration/store/test_stuck_lock.py": "processes are stopped at any moment",
    "scenario/test_kills.py": "processes are killed at any moment",
    "support/engine_worker.py": "paces what a writer does, and looks for what others write",
    "support/filebox_worker.py": "looks for what other processes write, and waits to be killed",
    "support/hubs.py": "a tool that takes its time",
    "support/lark_worker.py": "looks at a client that tells nobody",
    "support/patroni.py": "looks for what other machines tell nobody, now and then",
    "support/outbox_worker.py": "looks for what other processes write, and waits to be killed",
    "support/procs.py": "looks for what nobody tells",
    "support/turn_worker.py": "waits to be killed",
    "support/worker.py": "paces what a writer or maintainer does",
    "unit/assistant/test_groups.py": "a store that takes its time",
    "unit/assistant/test_notes.py": "who waits is cancelled at any moment",
    "unit/io_bridge/test_bridge.py": "who waits is cancelled at any moment",
}
"""Files that let time pass, and why; none of them waits for something by it."""


class Call(NamedTuple):
    """A call with its file, its place there, and its name: what stands before the last word, and that.

    ``again`` where it stands in a ``while``: who looks again and again may pause in between.
    """

    file: str
    place: str
    before: str
    name: str
    node: ast.Call
    again: bool


@cache
def calls() -> list[Call]:
    """The calls of all files that have a suspect line."""
    found: list[Call] = []
    for path in sorted(TESTS.rglob("*.py")):
        file, text = path.relative_to(TESTS).as_posix(), path.read_text(encoding="utf-8")
        if SUSPECT.search(text):
            found += calls_in(ast.parse(text), file)
    return found


def calls_in(node: ast.AST, file: str, *, again: bool = False) -> Iterator[Call]:
    """Those inside of a piece of a file."""
    match node:
        case ast.Call(func=ast.Name(name)):
            yield Call(file, f"{file}:{node.lineno}", "", name, node, again)
        case ast.Call(func=ast.Attribute(ast.Name(before), name)):
            yield Call(file, f"{file}:{node.lineno}", before, name, node, again)
        case ast.Call(func=ast.Attribute(ast.Call(func=ast.Attribute(_, before) | ast.Name(before)), name)):
            yield Call(file, f"{file}:{node.lineno}", f"{before}()", name, node, again)
        case ast.Call(func=ast.Attribute(_, name)):
            yield Call(file, f"{file}:{node.lineno}", "…", name, node, again)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
            again = False
        case ast.While():
            again = True
        case _:
            pass
    for child in ast.iter_child_nodes(node):
        yield from calls_in(child, file, again=again)


def ends_of(call: Call) -> Iterator[float]:
    """For how many seconds the call waits, where it says so in numbers."""
    if WAITS.fullmatch(call.name):
        given = (each.value for each in call.node.keywords if each.arg == "timeout")
        yield from map(number, (*call.node.args, *given))
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


def sleeps(call: Call) -> bool:
    """True when all that the call does is to let time pass."""
    match call:
        case Call(before="time", name="sleep") | Call(name="wait_for_timeout", again=False):
            return True
        case Call(before="asyncio", name="sleep", again=False):
            return not (isinstance(call.node.args[0], ast.Constant) and number(call.node.args[0]) in NO_PAUSE)
        case Call(before="select", name="select"):
            return all(isinstance(each, ast.List) and not each.elts for each in call.node.args[:3])
        case Call(before="Event()", name="wait"):
            return call.file not in FREE and bool(call.node.args or call.node.keywords)
        case _:
            return False


def test_nothing_is_waited_for_by_sleeping() -> None:
    sleeping = [call for call in calls() if sleeps(call)]
    assert [call.place for call in sleeping if call.file not in SLEEPERS] == [], "wait for what happens: until(...)"
    assert sorted(set(SLEEPERS) - {call.file for call in sleeping}) == [], "these sleep no more"
