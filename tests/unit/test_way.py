"""What a message runs through is counted rightly: here on little functions whose way is known."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.way.counting import Counting, Way
from benchmarks.way.part import RoomRow, room_row, shown
from benchmarks.way.rooms import room_of

ROOT = Path(__file__).resolve().parents[2]

CODE = {
    "host/intake.py": """
def take(times=1):
    for _ in range(times):
        store.append(words.text())
    store.append(words.text())

async def answer():
    await asyncio.sleep(0)
    await store.load()
    await asyncio.sleep(0)
    return store.append("x")

def begin():
    return asyncio.ensure_future(store.load())

def begin_and_look():
    async def work():
        await store.later()
    def ended(task):
        helper()
    task = asyncio.ensure_future(work())
    task.add_done_callback(ended)
    return task

async def hand_over():
    return await asyncio.to_thread(store.append, "x")

async def hand_over_own():
    return await asyncio.to_thread(helper)

def helper():
    return [each for each in map(lambda one: one, range(3))]

def asked(question):
    return question()

def reads():
    return store.Value().size

def asks_back():
    return store.each(helper)
""",
    "store/front.py": """
def append(text):
    return written(text)

def written(text):
    return checked(text)

async def load():
    await asyncio.sleep(0)
    await asyncio.sleep(0)

def later():
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    loop.call_soon(arrived, future)
    return future

def arrived(future):
    future.set_result(None)

def each(function):
    return function()

class Value:
    @property
    def size(self):
        return 1
""",
    "store/lines.py": "def checked(text):\n    return text",
    "words/entry.py": "def text():\n    return 'hello'",
    "elsewhere.py": "def call(function):\n    return function()",
}


@pytest.fixture(scope="module")
def rooms() -> SimpleNamespace:
    """The functions of each room; each sees the other rooms."""
    spaces = {path.partition("/")[0]: SimpleNamespace() for path in CODE}
    for path, code in CODE.items():
        space = vars(spaces[path.partition("/")[0]])
        space |= {"asyncio": asyncio, **spaces}
        exec(compile(code, f"/ours/{path}", "exec"), space)
    return SimpleNamespace(**spaces, elsewhere=spaces["elsewhere.py"])


@pytest.fixture
def counting() -> Iterator[Counting]:
    made = Counting(lambda path: path.split("/")[2] if path.startswith("/ours/") and path.count("/") > 2 else None)
    made.begin()
    yield made
    made.end()


def named(way: Way) -> dict[str, list[str]]:
    return {room: sorted(code.co_name for code in functions) for room, functions in way.functions.items()}


def entered(way: Way) -> dict[str, dict[str, int]]:
    return {room: way.entered(room) for room in way.functions}


def test_functions_and_files_count_once_for_their_room(counting: Counting, rooms: Any) -> None:
    with counting.under_way() as way:
        rooms.host.take(5)
    assert named(way) == {"host": ["take"], "store": ["append", "checked", "written"], "words": ["text"]}
    assert way.files("store") == ["/ours/store/front.py", "/ours/store/lines.py"]


def test_a_function_that_calls_into_a_room_many_times_enters_it_once(counting: Counting, rooms: Any) -> None:
    with counting.under_way() as way:
        rooms.host.take(5)
    assert entered(way) == {"host": {"outside": 1}, "store": {"host": 1}, "words": {"host": 1}}


def test_a_call_back_into_a_room_that_is_still_on_the_stack_is_no_entry(counting: Counting, rooms: Any) -> None:
    with counting.under_way() as way:
        rooms.host.asks_back()
    assert entered(way) == {"host": {"outside": 1}, "store": {"host": 1}}


def test_reading_a_property_of_a_value_is_no_entry(counting: Counting, rooms: Any) -> None:
    with counting.under_way() as way:
        rooms.host.reads()
    assert named(way)["store"] == ["size"]
    assert entered(way) == {"host": {"outside": 1}, "store": {}}


async def test_a_coroutine_that_goes_on_enters_nothing_again(counting: Counting, rooms: Any) -> None:
    with counting.under_way() as way:
        await rooms.host.answer()
    assert named(way)["store"] == ["append", "checked", "load", "written"]
    assert entered(way) == {"host": {"outside": 1}, "store": {"host": 1}}


async def test_a_task_is_called_by_who_made_it(counting: Counting, rooms: Any) -> None:
    with counting.under_way() as way:
        await rooms.host.begin()
    assert entered(way) == {"host": {"outside": 1}, "store": {"host": 1}}


async def test_what_a_task_calls_at_its_end_is_called_by_its_room(counting: Counting, rooms: Any) -> None:
    with counting.under_way() as way:
        await rooms.host.begin_and_look()
        await asyncio.sleep(0)
    assert named(way)["host"] == ["begin_and_look", "ended", "helper", "work"]
    assert entered(way) == {"host": {"outside": 1}, "store": {"host": 1}}


async def test_what_runs_in_a_thread_is_called_by_who_handed_it_over(counting: Counting, rooms: Any) -> None:
    with counting.under_way() as way:
        await rooms.host.hand_over()
        await rooms.host.hand_over_own()
    assert named(way)["host"] == ["hand_over", "hand_over_own", "helper"]
    assert entered(way)["store"] == {"host": 1}
    assert "host" not in entered(way)["host"]


def test_what_code_of_others_calls_comes_from_outside(counting: Counting, rooms: Any) -> None:
    with counting.under_way() as way:
        rooms.host.asked(lambda: rooms.elsewhere.call(rooms.words.text))
    assert entered(way) == {"host": {"outside": 1}, "words": {"outside": 1}}


def test_what_also_runs_while_nothing_is_under_way_does_not_count(counting: Counting, rooms: Any) -> None:
    with counting.idle():
        rooms.store.append("a heartbeat")
    with counting.under_way() as way:
        rooms.store.append("a heartbeat")
        rooms.host.take()
    assert entered(way) == {"host": {"outside": 1}, "store": {"host": 1}, "words": {"host": 1}}


def test_nothing_counts_any_more_once_it_has_arrived(counting: Counting, rooms: Any) -> None:
    said: list[str] = []
    with counting.under_way(lambda: bool(said)) as way:
        rooms.words.text()
        said.append("done")
        rooms.store.append("afterwards")
    rooms.host.take()
    assert named(way) == {"words": ["text"]}


def test_each_source_file_has_its_room() -> None:
    assert room_of(f"{ROOT}/nanobot_transcript/store/jsonl/backend.py") == "store"
    assert room_of(f"{ROOT}/nanobot_transcript/entry.py") == "words"
    assert room_of(f"{ROOT}/channels/transcript_channels/feishu/events.py") == "feishu"
    assert room_of(f"{ROOT}/channels/transcript_channels/simulator/world.py") is None
    assert room_of(asyncio.__file__) is None


def row(host: str, room: str, files: int, entered: dict[str, int]) -> RoomRow:
    paths = [f"{room}/f{number}.py" for number in range(files)]
    return room_row(host, room, {"functions": 20, "files": paths, "entered": entered})


def test_more_than_ten_files_or_two_entries_are_too_many_for_a_room_with_limits() -> None:
    assert row("run", "runner", 10, {"feishu": 1, "outside": 1}).verdict == "pass"
    assert row("run", "runner", 11, {"feishu": 1}).verdict == "FAIL"
    assert row("run", "feishu", 1, {"runner": 2, "outside": 1}).verdict == "FAIL"
    assert row("run", "store", 30, {"runner": 30}).verdict == ""
    assert row("nanobot", "runner", 30, {"nanobot_host": 30}).verdict == ""  # not its host


def test_the_table_says_which_limits_do_not_hold_and_lists_the_files_of_long_rooms() -> None:
    rows = [row("run", "runner", 11, {"feishu": 1}), row("run", "feishu", 2, {"outside": 1, "runner": 1})]
    text = shown([*rows, row("nanobot", "nanobot_host", 3, {"outside": 1})])
    run, nanobot = text.split("nanobot:\n")
    assert "runner: f0.py, f1.py" in run
    assert "feishu: f0.py" not in run
    assert run.rstrip().endswith("not so in runner.")
    assert nanobot.endswith("holds.")


def test_a_measurement_that_was_stopped_shows_the_host_it_has() -> None:
    assert "nanobot:" not in shown([row("run", "runner", 3, {"feishu": 1})])
